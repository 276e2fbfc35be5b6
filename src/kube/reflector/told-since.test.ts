import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { podKind } from "../kinds/pod.ts";
import type { Freshness } from "./freshness.ts";
import { type ToldBy, ToldSince } from "./told-since.ts";

const nowMs = 100_000;
const clock = { monotonicMs: () => at(nowMs), wallMs: () => nowMs as WallMs };

function at(ms: number): MonotonicMs {
  return ms as MonotonicMs;
}

/** A watch that is open since 50 s and proved current as of 90 s, unless said otherwise. */
function reflector(more: {
  readonly state?: ToldBy["state"];
  readonly freshness?: Partial<Freshness>;
  readonly readBefore?: MonotonicMs;
}): ToldBy {
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

function toldBy(by: ToldBy): ToldSince {
  return new ToldSince({ reflector: by, clock });
}

const object = podKind.project({
  metadata: { namespace: "shop", name: "web", uid: "u", resourceVersion: "8" },
});

test("what a watch shows that keeps up happened just now", () => {
  const overtaken = reflector({ readBefore: at(99_500) });
  for (const told of [reflector({}), overtaken].map(toldBy)) {
    const change = { learntBy: "watch", object } as const;
    expect([told.notBefore(change), told.isLate(change)]).toEqual([undefined, false]);
    expect([told.behindSince, told.provedAt]).toEqual([undefined, 90_000]);
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
  const told = toldBy(by);
  const change = { learntBy: "watch", object } as const;
  expect([told.notBefore(change), told.isLate(change)]).toEqual([90_000, true]);
  expect([told.behindSince, told.provedAt]).toEqual([90_000, 90_000]);
});

test("what a list shows happened since the watch was last proved current", () => {
  expect(toldBy(reflector({})).notBefore({ learntBy: "list", object })).toBe(90_000);
});

test("what is proved while a list is read is not yet told", () => {
  let by = reflector({});
  const told = toldBy({
    get synced() {
      return by.synced;
    },
    get state() {
      return by.state;
    },
    freshness: () => by.freshness(),
    readBefore: (version) => by.readBefore(version),
  });
  told.note();
  by = reflector({ state: "listing", freshness: { currentAtMs: at(99_900) } });
  expect(told.notBefore({ learntBy: "list", object })).toBe(90_000);
  told.noteListed();
  expect(told.provedAt).toBe(90_000);
});

test("what the first list proved counts before any watch is open", () => {
  const told = toldBy(reflector({ state: "listing" }));
  expect(told.provedAt).toBeUndefined();
  told.noteListed();
  expect(told.provedAt).toBe(90_000);
});
