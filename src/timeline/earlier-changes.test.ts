import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { type EarlierChange, EarlierChanges } from "./earlier-changes.ts";
import type { WitnessedEndpoint } from "./witness.ts";

const endpoint: WitnessedEndpoint = {
  cluster: "east",
  service: "shop/web",
  address: "10.0.0.1",
  port: 8080,
  podUid: "a",
};

function left(record: string, changed: Partial<EarlierChange> = {}): EarlierChange {
  const since = -90_000 as MonotonicMs;
  return {
    record,
    endpoint,
    direction: "leave",
    since,
    podName: "web-0",
    cause: undefined,
    ...changed,
  };
}

function earlier(...changes: readonly EarlierChange[]): EarlierChanges {
  const all = new EarlierChanges();
  all.add(changes);
  return all;
}

test("a change is found by its endpoint and direction, once", () => {
  const all = earlier(left("r-1"), left("r-2", { direction: "join" }));
  expect(all.take(endpoint, "leave")?.record).toBe("r-1");
  expect(all.take(endpoint, "leave")).toBeUndefined();
  expect(all.take(endpoint, "join")?.record).toBe("r-2");
});

test("of several the latest is the one that is still in flight", () => {
  const since = (ms: number) => ({ since: ms as MonotonicMs });
  const all = earlier(left("r-1", since(-9)), left("r-3", since(-1)), left("r-2", since(-5)));
  expect(all.take(endpoint, "leave")?.record).toBe("r-3");
});

test.each([
  ["another pod at the address", { podUid: "b" }, undefined],
  ["another cluster", { cluster: "west" }, undefined],
  ["another port", { port: 8081 }, undefined],
  ["another service", { service: "shop/api" }, undefined],
  ["a proxy that knows only the address", { podUid: undefined, cluster: undefined }, "r-1"],
])("%s", (_, changed, found) => {
  expect(earlier(left("r-1")).take({ ...endpoint, ...changed }, "leave")?.record).toBe(found);
});
