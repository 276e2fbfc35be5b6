import { resolve } from "node:path";
import { expect, it } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { type LogChunksOptions, LogPlaceError, logChunks, readLogPlace } from "./log-place.ts";

it("reads a file, what is piped in, and a pod", () => {
  expect(readLogPlace("access.log")).toEqual({ type: "file", path: resolve("access.log") });
  expect(readLogPlace("-")).toEqual({ type: "stdin" });
  expect(readLogPlace("pod:edge/proxy-1")).toEqual({
    type: "pod",
    namespace: "edge",
    pod: "proxy-1",
    container: undefined,
    cluster: undefined,
  });
  expect(readLogPlace("pod:edge/proxy-1:controller@arn:aws:eks:x/y")).toEqual({
    type: "pod",
    namespace: "edge",
    pod: "proxy-1",
    container: "controller",
    cluster: "arn:aws:eks:x/y",
  });
});

it("says how a pod is named", () => {
  for (const text of ["pod:proxy-1", "pod:a/b/c", "pod:"]) {
    expect(() => readLogPlace(text)).toThrow(LogPlaceError);
  }
  expect(() => readLogPlace("pod:proxy-1")).toThrow(
    "pod:proxy-1 is not a pod: use pod:NAMESPACE/NAME[:CONTAINER][@CONTEXT]",
  );
  expect(() => readLogPlace("")).toThrow("an access log must be a file, - or pod:NAMESPACE/NAME");
});

it("ends a silent pipe when asked to, and knows which clusters exist", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const stop = new AbortController();
    const options: LogChunksOptions = {
      ...simulation.host("a"),
      stdin: async function* () {
        yield Buffer.from("one");
        await new Promise(() => undefined);
      },
      clients: new Map(),
      signal: stop.signal,
    };
    const read: string[] = [];
    for await (const chunk of logChunks({ type: "stdin" }, options)) {
      read.push(Buffer.from(chunk).toString("utf8"));
      stop.abort();
    }
    expect(read).toEqual(["one"]);
    const place = readLogPlace("pod:edge/proxy-1@west");
    expect(() => logChunks(place, options)).toThrow(
      "the cluster west of the pod is not observed. Observed clusters: ",
    );
  }));
