import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { podKind } from "../kinds/pod.ts";
import { type EventSource, EventTimeBounds } from "./event-time-bounds.ts";
import type { Freshness } from "./freshness.ts";

const nowMs = 100_000;
const clock = { monotonicMs: () => at(nowMs), wallMs: () => nowMs as WallMs };

function at(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}

/** A watch that is open since 50 s and proved current as of 90 s, unless said otherwise. */
function reflector(more: {
  readonly state?: EventSource["state"];
  readonly freshness?: Partial<Freshness>;
  readonly readBefore?: MonotonicMs;
}): EventSource {
  const freshness: Freshness = {
    fresh: true,
    reason: undefined,
    doubt: undefined,
    connectedSinceMs: at(50_000),
    aliveAtMs: at(nowMs),
    currentAtMs: at(90_000),
    resourceVersion: "7",
    server: "a",
    provedBy: "quorum",
    ...more.freshness,
  };
  return {
    synced: true,
    state: more.state ?? "watching",
    freshness: () => freshness,
    readBefore: () => more.readBefore,
  };
}

function boundsOf(by: EventSource): EventTimeBounds {
  return new EventTimeBounds({ reflector: by, clock });
}

const object = podKind.project({
  metadata: { namespace: "shop", name: "web", uid: "u", resourceVersion: "8" },
});

test("what a watch shows that keeps up happened just now", () => {
  const overtaken = reflector({ readBefore: at(99_500) });
  for (const bounds of [reflector({}), overtaken].map(boundsOf)) {
    const change = { learntBy: "watch", object } as const;
    expect([bounds.notBefore(change), bounds.isLate(change)]).toEqual([undefined, false]);
    expect([bounds.behindSince, bounds.provedAt]).toEqual([undefined, 90_000]);
  }
});

test.each([
  ["that is not fresh", reflector({ freshness: { fresh: false } })],
  [
    "that was opened a moment ago and has not caught up",
    reflector({ freshness: { connectedSinceMs: at(99_000) } }),
  ],
  ["behind what was read before", reflector({ readBefore: at(92_000) })],
])("a watch %s tells of what happened since it was last proved current", (_, by) => {
  const bounds = boundsOf(by);
  const change = { learntBy: "watch", object } as const;
  expect([bounds.notBefore(change), bounds.isLate(change)]).toEqual([90_000, true]);
  expect([bounds.behindSince, bounds.provedAt]).toEqual([90_000, 90_000]);
});

test("what a list shows happened since the watch was last proved current", () => {
  expect(boundsOf(reflector({})).notBefore({ learntBy: "list", object })).toBe(90_000);
});

test("a proof that arrives while a list is read does not count yet", () => {
  let by = reflector({});
  const bounds = boundsOf({
    get synced() {
      return by.synced;
    },
    get state() {
      return by.state;
    },
    freshness: () => by.freshness(),
    readBefore: (version) => by.readBefore(version),
  });
  bounds.note();
  by = reflector({ state: "listing", freshness: { currentAtMs: at(99_900) } });
  expect(bounds.notBefore({ learntBy: "list", object })).toBe(90_000);
  bounds.noteListed();
  expect(bounds.provedAt).toBe(90_000);
});

test("what the first list proved counts before any watch is open", () => {
  const bounds = boundsOf(reflector({ state: "listing" }));
  expect(bounds.provedAt).toBeUndefined();
  bounds.noteListed();
  expect(bounds.provedAt).toBe(90_000);
});
