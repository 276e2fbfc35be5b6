import { describe, expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { forEachSeed, isThorough } from "../../../simulation/seeds.ts";
import { isWithinBounds } from "../figure.ts";
import type { IncidentResult } from "../incident.ts";
import { playInVirtualTime } from "../virtual-stage.ts";
import { type GhostLeaderOptions, ghostLeader, playGhostLeader } from "./play.ts";

/** Some messages of a network of milliseconds, for each of some Ingresses. */
const aMomentMs = 100;

function play(seed: number, options: GhostLeaderOptions): Promise<IncidentResult> {
  const played = {
    ...ghostLeader,
    play: (open: Parameters<typeof playGhostLeader>[0]) => playGhostLeader(open, options),
  };
  return playInVirtualTime(played, { seed, fix: options.fix, onOpened: withoutDistance });
}

function figure({ figures }: IncidentResult, id: string): number {
  return figures.find((one) => one.id === id)?.measured ?? Number.NaN;
}

function measure({ measures }: IncidentResult, id: string) {
  const found = measures.find((one) => one.id === id);
  return { stock: found?.stock ?? Number.NaN, lockstep: found?.lockstep ?? Number.NaN };
}

/** Properties that hold for all parameters. */
function expectGhost(result: IncidentResult, electionTtlMs: number): void {
  const shares = [
    "statuses-empty",
    "statuses-empty-after-restart",
    "believers",
    "requests-answered",
  ];
  expect(shares.map((id) => [id, figure(result, id)])).toEqual(shares.map((id) => [id, 1]));
  expect(figure(result, "pods-of-holder")).toBe(0);
  expect(figure(result, "lease-duration")).toBe(electionTtlMs);
  // One renewal a retry period, which is a quarter of the lease.
  expect(figure(result, "renew-gap")).toBeGreaterThanOrEqual(electionTtlMs / 4);
  expect(figure(result, "renew-gap")).toBeLessThan(electionTtlMs / 4 + aMomentMs);
}

/** A lock that is edited by hand, with a retry of a quarter and a deadline of half the lease. */
function expectRepair(result: IncidentResult, electionTtlMs: number, intervalMs: number): void {
  const retryMs = electionTtlMs / 4;
  // The named pod looks at the lock within a jittered retry period, and syncs at once.
  expect(figure(result, "filled-after-edit")).toBeLessThanOrEqual(2.2 * retryMs + aMomentMs);
  // The ghost may empty them while it still believes that it leads; the next sync fills them.
  expect(figure(result, "filled-for-good-after-edit")).toBeLessThanOrEqual(
    2.2 * retryMs + intervalMs + aMomentMs,
  );
  const ledOnMs = figure(result, "displaced-leads-on");
  expect(ledOnMs).toBeGreaterThanOrEqual(2 * retryMs - aMomentMs);
  expect(ledOnMs).toBeLessThanOrEqual(3 * retryMs + 2 * aMomentMs);
  // Once displaced it looks at the lock every 1–2.2 retry periods, here for three intervals.
  expect(figure(result, "ghost-tries")).toBeGreaterThanOrEqual(
    Math.floor((3 * intervalMs) / (2.2 * retryMs)),
  );
  expect(figure(result, "ghost-tries")).toBeLessThanOrEqual(
    Math.ceil((3 * intervalMs + 3 * retryMs) / retryMs) + 1,
  );
  // Ending cleanly the ghost empties them once more, until the leader's next sync.
  expect(figure(result, "wrong-after-clean-stop")).toBeGreaterThan(0);
  expect(figure(result, "wrong-after-clean-stop")).toBeLessThanOrEqual(intervalMs + aMomentMs);
}

/** A look every third of the lease, the first absence within one, and two renewals after it. */
function longestNamingMs(leaseDurationMs: number, renewEveryMs: number): number {
  const lookMs = leaseDurationMs / 3;
  return lookMs + 2 * Math.max(lookMs, renewEveryMs + lookMs) + aMomentMs;
}

/** Other parameters than the write-up's: another lease, sync, past and size. */
const small = {
  nodes: 4,
  replicas: 2,
  ingresses: 3,
  electionTtlMs: 16_000,
  statusUpdateIntervalMs: 20_000,
  formerTransitions: 3,
  untilReleaseMs: 40_000,
  heldMs: 30_000,
};

const taken = "a leader on a machine that was taken out of the cluster";

describe.runIf(isThorough(process.env))(taken, () => {
  forEachSeed(
    "keeps the lock and every status empty until the lock is edited",
    { seeds: 1 },
    async (seed) => {
      const result = await play(seed, { ...small, fix: true });
      expectExact(result.observer, { late: null });
      expectGhost(result, 16_000);
      expect(figure(result, "leader-transitions")).toBe(4);
      expectRepair(result, 16_000, 20_000);
      expect(measure(result, "stock-ghost-named").lockstep).toBeLessThanOrEqual(
        longestNamingMs(16_000, 4_000),
      );
      expect(measure(result, "ghost-named").lockstep).toBeLessThanOrEqual(
        longestNamingMs(15_000, 2_000),
      );
      expect(result.measures.filter(({ held }) => !held)).toEqual([]);
    },
  );
});

describe.runIf(isThorough(process.env))("with the write-up's parameters", () => {
  forEachSeed("every compared figure is within its bounds", { seeds: 0.3 }, async (seed) => {
    const result = await playInVirtualTime(ghostLeader, {
      seed,
      fix: true,
      onOpened: withoutDistance,
    });
    expectExact(result.observer, { late: null });
    expectGhost(result, 30_000);
    expectRepair(result, 30_000, 60_000);
    expect(result.figures.filter((one) => !isWithinBounds(one))).toEqual([]);
    expect(figure(result, "leader-transitions")).toBe(11);
    expect(result.measures.filter(({ held }) => !held)).toEqual([]);
  });

  test("without the fix no status is filled again, and Lockstep's are right", async () => {
    const result = await playInVirtualTime(ghostLeader, { seed: 7 });
    const { stock, lockstep } = measure(result, "status-wrong");
    // From the release on, but for the rest of a sync interval at its beginning.
    expect(stock).toBeGreaterThan(2 * 180_000 - 60_000);
    expect(lockstep).toBeLessThanOrEqual(30_000);
  });

  test("a ghost of Lockstep gives up the lock itself when deposing is off", async () => {
    const result = await play(3, { ...small, fix: false, deposeGhosts: false });
    expect(measure(result, "ghost-named").lockstep).toBeLessThanOrEqual(
      longestNamingMs(15_000, 2_000),
    );
    expect(measure(result, "ghost-deposed").lockstep).toBeLessThanOrEqual(3 * 15_000);
    expect(measure(result, "status-wrong").lockstep).toBeLessThanOrEqual(3 * 15_000);
  });

  test("the last release, with its lock in a Lease, can be led by a ghost as well", async () => {
    const result = await play(4, { ...small, fix: true, stockRelease: "1.15.1" });
    expectGhost(result, 16_000);
    expect(figure(result, "filled-after-edit")).toBeLessThanOrEqual(2.2 * 4_000 + aMomentMs);
  });

  test("the same seed gives the same trace", async () => {
    const [one, other] = [
      await play(5, { ...small, fix: true }),
      await play(5, { ...small, fix: true }),
    ];
    expect(one).toEqual(other);
  });
});
