import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import {
  type Beginning,
  clusterState,
  clusterStatus,
  type ObservedWatchStatus,
} from "./cluster-status.ts";

const now = 100_000 as MonotonicMs;
const startedAt = 1_000 as MonotonicMs;
const begun: Beginning = { startedAt, problem: undefined };
const standing = { state: { type: "watching" }, hasSlices: true } as const;

const fresh: ObservedWatchStatus = {
  resource: "pods",
  namespace: undefined,
  purposes: ["pod"],
  state: "fresh",
  detail: "",
  currentAtMs: 99_000 as MonotonicMs,
  aliveAtMs: now,
  listed: true,
  objects: 1,
  failure: undefined,
};
const unlisted = { state: "stale", detail: "nothing has been listed yet", listed: false } as const;
const unreported: ObservedWatchStatus = { ...fresh, ...unlisted, aliveAtMs: undefined };
const failing: ObservedWatchStatus = { ...unreported, failure: "no route" };
const refused: ObservedWatchStatus = { ...unreported, state: "refused", detail: "may not" };
const silent: ObservedWatchStatus = {
  ...fresh,
  state: "stale",
  detail: "too quiet",
  aliveAtMs: 80_000 as MonotonicMs,
};

const problem = (isRefused: boolean): Beginning => ({
  startedAt,
  problem: { refused: isRefused, detail: "it says no" },
});

test.each<[string, Beginning, readonly ObservedWatchStatus[], object]>([
  ["is being asked", begun, [], { type: "connecting" }],
  [
    "could not be asked",
    problem(false),
    [],
    { type: "unreachable", since: startedAt, detail: "it says no" },
  ],
  ["does not accept us", problem(true), [], { type: "refused", detail: "it says no" }],
  ["has been asked for lists", begun, [unreported, unreported], { type: "connecting" }],
  [
    "answers no list",
    begun,
    [unreported, failing],
    { type: "unreachable", since: startedAt, detail: "no route" },
  ],
  ["has listed one of two", begun, [fresh, unreported], { type: "listing", listed: 1, of: 2 }],
  ["has listed what it may", begun, [fresh, refused], { type: "watching" }],
  ["refuses everything", begun, [refused, refused], { type: "refused", detail: "may not" }],
  [
    "reported last a while ago",
    begun,
    [silent, refused],
    { type: "unreachable", since: 80_000, detail: "too quiet" },
  ],
  [
    "was cut off a moment ago",
    begun,
    [{ ...fresh, aliveAtMs: 98_000 as MonotonicMs, failure: "refused" }],
    { type: "watching" },
  ],
  [
    "is not back after a moment",
    begun,
    [{ ...fresh, aliveAtMs: 96_000 as MonotonicMs, failure: "refused" }, refused],
    { type: "unreachable", since: 96_000, detail: "refused" },
  ],
  ["has one watch that is silent", begun, [silent, fresh], { type: "watching" }],
])("the state of a cluster that %s", (_, beginning, watches, state) => {
  expect(clusterState(beginning, watches, now)).toEqual(state);
});

test("a stale watch casts doubt on what it measures, and one that was never listed on nothing", () => {
  const slices = {
    resource: "endpointslices",
    namespace: "shop",
    purposes: ["published", "synced"],
  } as const;
  const nodes = { resource: "nodes", purposes: ["cause"] } as const;
  const watches = [fresh, unreported, { ...silent, ...slices }, { ...silent, ...nodes }];
  expect(clusterStatus("east", standing, watches).doubts).toEqual([
    "the watch of endpointslices in east, namespace shop is stale, so published and " +
      "synced times may be late: too quiet",
    "the watch of nodes in east is stale, so causes may be late: too quiet",
  ]);
});

test("each refused watch costs what it is for, in a sentence", () => {
  const watches: readonly ObservedWatchStatus[] = [
    { ...refused, resource: "services", namespace: "shop" },
    { ...refused, resource: "pods" },
    { ...refused, resource: "endpointslices", purposes: ["published", "synced"] },
    { ...refused, resource: "nodes", purposes: ["cause"] },
  ];
  const { lost } = clusterStatus("east", standing, watches);
  expect(lost.map(({ hop, sentence }) => `${hop}: ${sentence}`)).toEqual([
    "pod: Missing permission: list/watch services in namespace shop of east. Effect: pod times " +
      "are unknown; timing starts at the EndpointSlice",
    "pod: Missing permission: list/watch pods in east. Effect: pod times are unknown; timing " +
      "starts at the EndpointSlice, after the endpoint controller",
    "published: Missing permission: list/watch endpointslices in east. Effect: published times " +
      "are unknown",
    "synced: Missing permission: list/watch endpointslices in east. Effect: synced times are " +
      "unknown",
    "undefined: Missing permission: list/watch nodes in east. Effect: lost nodes are not shown as " +
      "a cause",
  ]);
});
