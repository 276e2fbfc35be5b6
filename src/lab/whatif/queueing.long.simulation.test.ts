// Holds predictions to the arithmetic of queues, where that is exact, over random settings. None of
// these formulas is used by the simulation.
import fc from "fast-check";
import { expect, it } from "vitest";
import { isThorough } from "../../simulation/seeds.ts";
import { Laboratory } from "./laboratory.ts";
import type { PublishingPrediction } from "./prediction.ts";
import type { Counts, Question, Settings } from "./question.ts";
import { defaultSettings } from "./run-flags.ts";

const laboratory = new Laboratory();

const isLong = isThorough(process.env);
const runs = isLong ? 2 : 1;

function question(counts: Partial<Counts>, settings: Partial<Settings>): Question {
  const services = counts.services ?? 30;
  return {
    counts: {
      services,
      headlessShare: 1,
      pods: services,
      nodes: 1,
      changesPerSecond: 0,
      writesPerSecond: undefined,
      writeLatencyMs: 3,
      ...counts,
    },
    settings: {
      version: "1.17.3",
      ...defaultSettings("1.17.3"),
      qps: 10,
      burst: 10,
      heartbeat: { by: "lease", minMs: 10_000, maxMs: 10_400 },
      ...settings,
    },
    seed: 1,
  };
}

/**
 * Of a change whose service does not wait already: nearly the longest. The median would not do: of a
 * full queue it is the same for any churn, because more changes are of services that wait already.
 * A wait that grows is longer than any other.
 */
function waitMs({ waits, waitGrowth }: PublishingPrediction): number {
  if (waitGrowth !== undefined) return Number.POSITIVE_INFINITY;
  return waits.anyMoment?.p99Ms ?? Number.NaN;
}

async function holds<T>(
  settings: fc.Arbitrary<T>,
  check: (value: T) => Promise<void>,
): Promise<void> {
  await fc.assert(fc.asyncProperty(settings, check), { numRuns: runs, endOnFailure: true });
}

/** Two or three times as much as one run's noise. */
const slackMs = 300;

it("drains in (work − burst) ÷ qps when the limit binds", async () => {
  const settings = fc.record({
    services: fc.integer({ min: 30, max: 60 }),
    qps: fc.integer({ min: 5, max: 20 }),
    burst: fc.integer({ min: 1, max: 15 }),
  });
  await holds(settings, async ({ services, qps, burst }) => {
    const { resync, waits } = await laboratory.publishing(question({ services }, { qps, burst }));
    const drainMs = ((services - burst) / qps) * 1000;
    // Each of four timed changes is a request of its own.
    const mostMs = drainMs + (4 / qps) * 1000 + slackMs;
    expect(resync.drainMs).toBeGreaterThan(drainMs - slackMs);
    expect(resync.drainMs).toBeLessThan(mostMs);
    expect(waits.resync?.maxMs ?? 0).toBeLessThan(mostMs);
  });
});

it.runIf(isLong)("drains in work × time per key ÷ workers when workers bind", async () => {
  const settings = fc.record({
    services: fc.integer({ min: 30, max: 60 }),
    workers: fc.integer({ min: 1, max: 4 }),
    writeLatencyMs: fc.integer({ min: 50, max: 150 }),
  });
  await holds(settings, async ({ services, workers, writeLatencyMs }) => {
    const asked = question({ services, writeLatencyMs }, { qps: 1_000, burst: 1_000, workers });
    const { resync } = await laboratory.publishing(asked);
    // A message takes 0.2 to 1 ms each way; the last key may be alone; four timed changes.
    const leastMs = (services * (writeLatencyMs + 0.4)) / workers;
    const mostMs = ((services + 4) / workers + 1) * (writeLatencyMs + 3) + 50;
    expect(resync.drainMs).toBeGreaterThan(leastMs * 0.98);
    expect(resync.drainMs).toBeLessThan(mostMs);
  });
});

/** In a version whose resyncs write nothing. */
function withChurn(
  services: number,
  changesPerSecond: number,
  qps: number,
): Promise<PublishingPrediction> {
  const counts = { services, headlessShare: 0, changesPerSecond };
  const settings = { version: "1.17.13", qps, burst: 5 } as const;
  return laboratory.publishing(question(counts, settings));
}

async function churned(services: number, changesPerSecond: number, qps: number): Promise<number> {
  return waitMs(await withChurn(services, changesPerSecond, qps));
}

const overloads = fc.record({
  services: fc.integer({ min: 30, max: 40 }),
  qps: fc.integer({ min: 4, max: 6 }),
  factor: fc.double({ min: 1.6, max: 2.5, noNaN: true }),
});

it("waits services ÷ qps − services ÷ churn when churn is above the limit", async () => {
  await holds(overloads, async ({ services, qps, factor }) => {
    const churn = qps * factor;
    const { waits } = await withChurn(services, churn, qps);
    const medianMs = waits.anyMoment?.p50Ms ?? Number.NaN;
    // A key is in the queue at most once: of all services those wait that have changed meanwhile.
    const fullMs = (services / qps - services / churn) * 1000;
    // A change of a service that waits already waits for the rest only; five are at work.
    expect(medianMs).toBeGreaterThan(fullMs * 0.5);
    expect(medianMs).toBeLessThan(fullMs * 1.2 + (5 / qps) * 1000 + slackMs);
    // Changes come at random, but no queue is longer than all services.
    expect(waits.anyMoment?.maxMs).toBeLessThan(((services + 5) / qps) * 1000 + slackMs);
  });
});

it.runIf(isLong)(
  "waits longer with more services or churn, and shorter with more qps",
  async () => {
    await holds(overloads, async ({ services, qps, factor }) => {
      const churn = qps * factor;
      const busyMs = await churned(services, churn, qps);
      expect(await churned(services * 2, churn, qps)).toBeGreaterThan(busyMs);
      expect(await churned(services, churn * 1.7, qps)).toBeGreaterThan(busyMs);
      expect(await churned(services, churn, qps * 1.5)).toBeLessThan(busyMs);
    });
  },
);

// 400 pods at most are timed. Churn that left them alone would have only 100 of the 500 services to change,
// a queue of 100 keys and a shorter wait.
it.runIf(isLong)(
  "waits at least as long with 500 services as with 400, when churn is above the limit",
  async () => {
    const [fewerMs, moreMs] = [await churned(400, 30, 20), await churned(500, 30, 20)];
    expect(fewerMs).toBeGreaterThan(1_000);
    expect(moreMs).toBeGreaterThanOrEqual(fewerMs);
  },
);
