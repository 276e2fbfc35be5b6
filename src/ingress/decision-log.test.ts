import { expect, test } from "vitest";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import { simulate } from "../simulation/simulation.ts";
import { DecisionLog, linesPerMinute } from "./decision-log.ts";

const service = "shop/web:80";

function endpoint(fields: Partial<TruthEndpoint>): TruthEndpoint {
  return {
    address: "10.0.0.1",
    port: 8080,
    cluster: "east",
    state: "active",
    reason: "its pod is ready",
    rule: "join at once",
    pod: "ready",
    published: "ready",
    ...fields,
  };
}

test("an override stands until the slices agree, and then shows how long they were behind", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("lockstep");
    const log = new DecisionLog(host);
    const note = (...endpoints: readonly TruthEndpoint[]) =>
      log.note({
        service,
        version: 1,
        before: undefined,
        after: { endpoints, problems: [], probeRequests: [] },
      });
    const early = endpoint({ published: "absent" });
    const agreed = endpoint({});
    const sinceWallMs = host.clock.wallMs();
    note(agreed);
    expect(log.entries()).toEqual([]);
    note(early);
    await simulation.sleep(2_500);
    note({ ...early, reason: "its pod is ready, as before" });
    expect(log.entries()).toEqual([{ service, endpoint: early, sinceWallMs, lastedMs: undefined }]);
    note(agreed);
    const over = { service, endpoint: early, sinceWallMs, lastedMs: 2_500 };
    expect(log.entries()).toEqual([over]);
    log.note({ service, version: 2, before: undefined, after: undefined });
    expect(log.entries()).toEqual([over]);
    const lines = simulation.logLines().map(({ message }) => message);
    expect(lines).toContain("EndpointSlice was stale");
  }));

test("an endpoint that did not answer is reported as silent, not as a stale slice", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const log = new DecisionLog(simulation.host("lockstep"));
    const silent = endpoint({ state: "suspect", rule: "believe traffic" });
    const change = (endpoints: readonly TruthEndpoint[]) =>
      log.note({
        service,
        version: 1,
        before: undefined,
        after: { endpoints, problems: [], probeRequests: [] },
      });
    change([silent]);
    await simulation.sleep(2_500);
    change([endpoint({})]);
    const lines = simulation.logLines().map(({ message }) => message);
    expect(lines.filter((one) => !one.startsWith("routing of"))).toEqual(["endpoint was silent"]);
  }));

test("slices that are behind about very many endpoints are some lines a minute, and a count", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const log = new DecisionLog(simulation.host("lockstep"));
    const note = (...endpoints: readonly TruthEndpoint[]) =>
      log.note({
        service,
        version: 1,
        before: undefined,
        after: { endpoints, problems: [], probeRequests: [] },
      });
    const early = Array.from({ length: linesPerMinute + 12 }, (_, index) =>
      endpoint({ published: "absent", port: index + 1 }),
    );
    for (const behind of [early, early.slice(0, 1)]) {
      note(...behind);
      await simulation.sleep(61_000);
      note();
    }
    const lines = simulation.logLines().filter(({ level }) => level === "info");
    expect(lines.map(({ message }) => message)).toEqual([
      ...early.slice(0, linesPerMinute).map(() => "EndpointSlice was stale"),
      "more endpoints were stale in EndpointSlices, see /state",
      "EndpointSlice was stale",
    ]);
    expect(lines[linesPerMinute]?.fields).toMatchObject({ endpoints: 12 });
  }));
