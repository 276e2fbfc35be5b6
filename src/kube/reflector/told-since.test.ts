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

const object = podKind.project({
  metadata: { namespace: "shop", name: "web", uid: "u", resourceVersion: "8" },
});

test("what a watch shows that keeps up happened just now", () => {
  const told = new ToldSince(clock);
  expect(told.notBefore(reflector({}), { learntBy: "watch", object })).toBeUndefined();
  const overtaken = reflector({ readBefore: at(99_500) });
  expect(told.notBefore(overtaken, { learntBy: "watch", object })).toBeUndefined();
});

test.each([
  ["a list", "list", reflector({})],
  ["a watch that is not fresh", "watch", reflector({ freshness: { fresh: false } })],
  [
    "one that was opened a moment ago and has not caught up",
    "watch",
    reflector({ freshness: { connectedSinceMs: at(99_000) } }),
  ],
  ["one behind what was read before", "watch", reflector({ readBefore: at(92_000) })],
] as const)("%s tells of what happened since it was last proved current", (_, learntBy, by) => {
  expect(new ToldSince(clock).notBefore(by, { learntBy, object })).toBe(90_000);
});

test("what is proved while a list is read is not yet told", () => {
  const told = new ToldSince(clock);
  told.note(reflector({}));
  const listing = reflector({ state: "listing", freshness: { currentAtMs: at(99_900) } });
  expect(told.notBefore(listing, { learntBy: "list", object })).toBe(90_000);
});
