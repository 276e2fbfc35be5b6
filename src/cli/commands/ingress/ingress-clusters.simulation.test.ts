import { expect, test } from "vitest";
import { fixedAccess } from "../../../kube/credentials/credentials.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { warnOfSameClusters } from "./run.ts";

test.each<[string, readonly string[], readonly string[]]>([
  [
    "two contexts of one server are warned of",
    ["https://east:6443", "https://west:6443", "https://east:6443"],
    [
      "contexts context-1 and context-3 are the same cluster, so each endpoint is counted " +
        "twice: give only one of them",
    ],
  ],
  ["contexts of different servers are not", ["https://east:6443", "https://west:6443"], []],
])("%s", async (_, urls, warnings) => {
  await simulate({ seed: 1 }, async (simulation) => {
    const clusters = urls.map((server, index) =>
      fixedAccess({ name: `context-${index + 1}`, server }),
    );
    const { signal } = new AbortController();
    await warnOfSameClusters(simulation.host("here"), { clusters }, signal);
    const lines = simulation.logLines().filter(({ level }) => level === "warn");
    expect(lines.map(({ message }) => message)).toEqual(warnings);
  });
});
