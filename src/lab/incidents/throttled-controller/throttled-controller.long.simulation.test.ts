import { describe, expect, test } from "vitest";
import { expectExact, withoutDistance } from "../../../../tests/observer/exact-observer.ts";
import { forEachSeed, isThorough } from "../../../simulation/seeds.ts";
import { isWithinBounds } from "../figure.ts";
import type { IncidentResult } from "../incident.ts";
import { playInVirtualTime, VirtualStages } from "../virtual-stage.ts";
import {
  playRounds,
  playThrottledController,
  saturatingServices,
  type ThrottledControllerOptions,
  throttledController,
} from "./play.ts";
import type { ThrottledSettings } from "./settings.ts";

/** Lockstep receives a pod event, decides and pushes: some messages of a millisecond each. */
const aMomentMs = 20;

/** `--sync-rate-limit 0.3` and the workers' poll of the stock model, and messages. */
const stockIngressMs = 1_000 / 0.3 + 1_000 + aMomentMs;

/** Every service is enqueued this often. */
const enqueuePeriodMs = 30_000;

function limits(qps: number, burst: number) {
  return { "kube-api-qps": qps, "kube-api-burst": burst };
}

function play(
  seed: number,
  options: ThrottledControllerOptions = {},
  onStep: (step: string) => void = () => undefined,
): Promise<IncidentResult> {
  return playInVirtualTime(
    {
      ...throttledController,
      play: (open) => playThrottledController(open, { releaseOnly: true, ...options }),
    },
    { seed, onOpened: withoutDistance, onProgress: ({ step }) => onStep(step) },
  );
}

function figure({ figures }: IncidentResult, id: string): number {
  const found = figures.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no figure ${id}`);
  return found.measured ?? Number.NaN;
}

function measure({ measures }: IncidentResult, id: string) {
  const found = measures.find((one) => one.id === id);
  if (found === undefined) throw new Error(`no measure ${id}`);
  return { stock: found.stock ?? Number.NaN, lockstep: found.lockstep ?? Number.NaN };
}

/** A fourth of the write-up's limit, workers and services: other figures from the same mechanism. */
const small = { services: 240, workers: 10, limits: limits(5, 10) };

const tooMany = "with more services than a 1.7 controller can go over in 30 s";

describe.runIf(isThorough(process.env))(tooMany, () => {
  forEachSeed("stock is late by services ÷ qps and Lockstep not at all", { seeds: 1 }, expectLate);

  test("a limit that is large enough makes stock as fast as its own ingress controller", async () => {
    const result = await play(2, { ...small, limits: limits(75, 80), fix: true });
    // Mid-round the whole round may be ahead, less the burst; then a GET and a PUT behind others.
    const publishedMs = ((small.services - 80 + 2 * (small.workers + 1)) / 75) * 1_000;
    for (const direction of ["leave", "join"]) {
      const published = figure(result, `longest-${direction}-lag-at-published`);
      expect(published).toBeLessThan(publishedMs);
      const routed = measure(result, `longest-${direction}-lag-at-routed`);
      expect(routed.stock).toBeLessThan(published + stockIngressMs);
      expect(routed.lockstep).toBeLessThan(aMomentMs);
    }
    expect(measure(result, "requests-lost").lockstep).toBe(0);
    expect(figure(result, "empty-queue-share")).toBeGreaterThan(0.8);
  });
});

test.runIf(isThorough(process.env))(
  "with few services a release is published at once; the same seed repeats, another does not",
  async () => {
    const few = { services: 20, workers: 10, limits: limits(20, 30) };
    const steps = new Set<string>();
    const first = await play(1, few, (step) => steps.add(step));
    const other = await play(2, few);
    for (const result of [first, other]) {
      expect(figure(result, "longest-leave-lag-at-published")).toBeLessThan(aMomentMs);
      expect(figure(result, "longest-join-lag-at-published")).toBeLessThan(aMomentMs);
    }
    expect([...steps]).toEqual(["a cluster with 20 services", "release 1 of 2", "release 2 of 2"]);
    expect(await play(1, few)).toEqual(first);
    expect(other.figures).not.toEqual(first.figures);
    expect(other.traceHash).not.toEqual(first.traceHash);
  },
);

describe("the rounds of the controller", () => {
  const rounds = (options: ThrottledSettings) =>
    playRounds(new VirtualStages({ seed: 1 }).open, options);

  test.each(
    isThorough(process.env)
      ? [
          { qps: 5, services: 140, empties: true },
          { qps: 5, services: 160, empties: false },
        ]
      : [
          { qps: 2, services: 54, empties: true },
          { qps: 2, services: 66, empties: false },
        ],
  )(
    "at $qps requests/s, $services services in 30 s: the queue empties: $empties",
    async (given) => {
      const { qps, services, empties } = given;
      const { didEmpty } = await rounds({ services, workers: 3, limits: limits(qps, 2 * qps) });
      expect(didEmpty).toBe(empties);
    },
  );

  test.runIf(isThorough(process.env))(
    "more workers move the wait from the queue to the request, and the log shows it",
    async () => {
      // A service has its turn once in services ÷ qps, of which it is out of the queue from its sync
      // to the next enqueue: half a period on average.
      const turnMs = (small.services / 5) * 1_000 - enqueuePeriodMs / 2;
      for (const [workers, tolerance] of [
        [3, 0.05],
        [24, 0.2],
      ] as const) {
        const { turnMs: measured, loggedWaitMs } = await rounds({ ...small, workers });
        expect(Math.abs((measured ?? 0) / turnMs - 1)).toBeLessThan(tolerance);
        expect(Math.abs((loggedWaitMs ?? 0) / ((workers / 5) * 1_000) - 1)).toBeLessThan(0.05);
      }
    },
  );
});

describe.runIf(isThorough(process.env))("as the write-up had it", () => {
  forEachSeed(
    "every compared figure is within its bounds, and every goal is reached",
    { seeds: 0.1 },
    async (seed) => {
      const result = await playInVirtualTime(throttledController, {
        seed,
        onOpened: withoutDistance,
      });
      expect(outside(result)).toEqual([]);
      expectExact(result.observer, { changes: 16, late: "published" });
      expect(figure(result, "longest-logged-wait-few-workers")).toBeCloseTo(250, -1);
      expect(Math.abs(figure(result, "saturating-services") - 600)).toBeLessThanOrEqual(50);
      const fixed = await playInVirtualTime(throttledController, { seed, fix: true });
      expect(outside(fixed)).toEqual([]);
    },
  );

  test("a third of the limit saturates at a third of the services", async () => {
    const { open } = new VirtualStages({ seed: 3 });
    const found = await saturatingServices(open, { workers: 5, limits: limits(7, 10), most: 600 });
    expect(Math.abs(found - 210)).toBeLessThanOrEqual(35);
  });
});

/** Figures out of their bounds, and goals that were missed. */
function outside({ figures, measures }: IncidentResult): readonly string[] {
  const beyond = figures.filter((one) => !isWithinBounds(one));
  return [...beyond, ...measures.filter(({ held }) => !held)].map(({ id }) => id);
}

async function expectLate(seed: number): Promise<void> {
  const { services, workers } = small;
  const qps = small.limits["kube-api-qps"];
  const result = await play(seed, small);
  const roundMs = (services / qps) * 1_000;
  // And then its own GET and PUT wait behind those of the other workers.
  const tokensMs = ((2 * (workers + 1)) / qps) * 1_000;
  for (const direction of ["leave", "join"]) {
    const published = figure(result, `longest-${direction}-lag-at-published`);
    // Of two releases half a round apart one waits for half a round, less the pods' own start.
    expect(published).toBeGreaterThan(roundMs / 2 - 5_000);
    expect(published).toBeLessThan(roundMs + tokensMs);
    const routed = measure(result, `longest-${direction}-lag-at-routed`);
    expect(routed.stock).toBeGreaterThanOrEqual(published);
    expect(routed.stock).toBeLessThan(published + stockIngressMs);
    expect(routed.lockstep).toBeLessThan(aMomentMs);
  }
  expect(figure(result, "longest-logged-wait")).toBeCloseTo((workers / qps) * 1_000, -1);
  const sent = measure(result, "requests-sent");
  expect(sent.lockstep).toBe(sent.stock);
  const lost = measure(result, "requests-lost");
  expect(lost.lockstep).toBe(0);
  expect(lost.stock).toBeGreaterThan(sent.stock / 10);
  expect(measure(result, "requests-to-dead").stock).toBeGreaterThanOrEqual(lost.stock);
  expectExact(result.observer, { changes: 16, late: "published" });
}
