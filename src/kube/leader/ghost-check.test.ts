import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { type GhostVerdict, judgeHolder, type LockSighting } from "./ghost-check.ts";
import type { Presence } from "./ghost-holder.ts";

const lock = { kind: "ConfigMap", namespace: "ingress-nginx", name: "leader" } as const;
const wallStart = Date.UTC(2026, 0, 1);

/**
 * A look at a given second: the holder of the lock, its number of renewals, and whether it exists.
 */
function look(
  second: number,
  holder: string,
  renewal: number,
  kind: Presence["kind"],
): LockSighting {
  return {
    at: (second * 1000) as MonotonicMs,
    wallAt: (wallStart + second * 1000) as WallMs,
    record: {
      holder,
      leaseDurationMs: 30_000,
      acquireTime: "then",
      renewTime: `renewal ${renewal}`,
      transitions: 11,
    },
    presence: { kind, evidence: `${holder} is ${kind} at ${second}` },
  };
}

function judgeAll(sightings: readonly LockSighting[]): GhostVerdict[] {
  const verdicts: GhostVerdict[] = [];
  for (const sighting of sightings) verdicts.push(judgeHolder(lock, verdicts.at(-1), sighting));
  return verdicts;
}

test.each([
  {
    what: "absent throughout and renewing",
    looks: [look(0, "g", 0, "absent"), look(10, "g", 4, "absent"), look(20, "g", 8, "absent")],
    verdicts: ["suspected", "suspected", "ghost"],
  },
  {
    what: "absent and renewed once, as by a last renewal under way",
    looks: [look(0, "g", 0, "absent"), look(10, "g", 1, "absent"), look(20, "g", 1, "absent")],
    verdicts: ["suspected", "suspected", "suspected"],
  },
  {
    what: "absent and not renewing: it is dead",
    looks: [look(0, "g", 0, "absent"), look(10, "g", 0, "absent"), look(20, "g", 0, "absent")],
    verdicts: ["suspected", "suspected", "suspected"],
  },
  {
    what: "renewing in looks too close together",
    looks: [look(0, "g", 0, "absent"), look(1, "g", 1, "absent"), look(1.9, "g", 2, "absent")],
    verdicts: ["suspected", "suspected", "suspected"],
  },
  {
    what: "present after all",
    looks: [
      look(0, "g", 0, "absent"),
      look(10, "g", 4, "present"),
      look(20, "g", 8, "absent"),
      look(30, "g", 12, "absent"),
    ],
    verdicts: ["suspected", "live", "suspected", "suspected"],
  },
  {
    what: "not to be determined in between",
    looks: [
      look(0, "g", 0, "absent"),
      look(10, "g", 4, "unknown"),
      look(20, "g", 8, "absent"),
      look(30, "g", 12, "absent"),
    ],
    verdicts: ["suspected", "unknown", "suspected", "ghost"],
  },
  {
    what: "never to be determined",
    looks: [look(0, "g", 0, "unknown"), look(10, "g", 4, "unknown"), look(20, "g", 8, "unknown")],
    verdicts: ["unknown", "unknown", "unknown"],
  },
  {
    what: "replaced by another absent holder",
    looks: [
      look(0, "g", 0, "absent"),
      look(10, "g", 4, "absent"),
      look(20, "h", 5, "absent"),
      look(30, "h", 6, "absent"),
      look(40, "h", 7, "absent"),
    ],
    verdicts: ["suspected", "suspected", "suspected", "suspected", "ghost"],
  },
  {
    what: "gone",
    looks: [look(0, "g", 0, "absent"), look(10, "", 4, "unknown"), look(20, "g", 8, "absent")],
    verdicts: ["suspected", "free", "suspected"],
  },
])("a holder that is $what", ({ looks, verdicts }) => {
  expect(judgeAll(looks).map((verdict) => verdict.kind)).toEqual(verdicts);
});

test("a report says what was seen, in order, and since when", () => {
  const looks = [look(0, "g", 0, "absent"), look(10, "g", 4, "absent"), look(20, "g", 8, "absent")];
  const verdict = judgeAll(looks).at(-1);
  expect(verdict?.kind === "ghost" ? verdict.report : verdict).toEqual({
    lock,
    holder: "g",
    evidence: [
      "g is absent at 0",
      "its record was renewed afterwards, last at renewal 8",
      "still: g is absent at 20",
    ],
    since: wallStart,
  });
});

test("no lock at all is free", () => {
  const sighting = { ...look(0, "g", 0, "absent"), record: undefined };
  expect(judgeHolder(lock, undefined, sighting)).toEqual({ kind: "free" });
});
