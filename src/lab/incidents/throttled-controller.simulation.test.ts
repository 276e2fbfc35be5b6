import { describe, expect, test } from "vitest";
import { forEachSeed } from "../../simulation/seeds.ts";
import type { IncidentResult } from "./incident.ts";
import { resultLines } from "./incident-table.ts";
import {
  fittedServices,
  fittedWorkers,
  playThrottledController,
  type ThrottledControllerOptions,
  throttledController,
} from "./throttled-controller.ts";
import { playInVirtualTime, type VirtualPlayOptions } from "./virtual-stage.ts";

const defaultQps = 20;

/** Lockstep hears of a pod, decides and pushes: some messages of a network of milliseconds. */
const aMomentMs = 20;

/** `--sync-rate-limit 0.3` and the workers' poll of the stock model, and messages. */
const stockIngressMs = 1_000 / 0.3 + 1_000 + aMomentMs;

/** A key waits once for all the others: one GET each at this many a second. */
function longestQueueMs(services: number, qps: number): number {
  return (services / qps) * 1_000;
}

/** And then its own GET and PUT wait behind those of the other workers. */
function longestTokensMs(workers: number, qps: number): number {
  return ((2 * (workers + 1)) / qps) * 1_000;
}

function row(result: IncidentResult, text: string) {
  const measure = result.measures.find((one) => one.text === text);
  const figure = result.figures.find((one) => one.text === text);
  if (measure === undefined && figure === undefined) throw new Error(`no row ${text}`);
  const { stock = figure?.measured ?? Number.NaN, lockstep = Number.NaN } = measure ?? {};
  return { stock, lockstep };
}

function runThrottledController({
  services,
  workers,
  ...options
}: VirtualPlayOptions & ThrottledControllerOptions): Promise<IncidentResult> {
  const play: typeof throttledController.play = (open, { fix }) =>
    playThrottledController(open, {
      fix,
      ...(services !== undefined && { services }),
      ...(workers !== undefined && { workers }),
    });
  return playInVirtualTime({ ...throttledController, play }, options);
}

describe("with more services than a 1.7 controller can go over in 30 s", () => {
  forEachSeed("stock is late by services ÷ qps, and Lockstep not at all", { seeds: 1 }, expectLate);

  test("the fix makes stock as fast as its own ingress controller", async () => {
    const result = await runThrottledController({ seed: 2, fix: true });
    const publishedMs = longestQueueMs(fittedServices, 300) + longestTokensMs(fittedWorkers, 300);
    for (const direction of ["leave", "join"]) {
      const published = row(result, `longest ${direction} lag at published`).stock;
      expect(published).toBeLessThan(publishedMs);
      const routed = row(result, `longest ${direction} lag at routed`);
      expect(routed.stock).toBeLessThan(published + stockIngressMs);
      expect(routed.lockstep).toBeLessThan(aMomentMs);
    }
    expect(row(result, "requests lost").lockstep).toBe(0);
  });
});

describe("with few services", () => {
  const few = { seed: 2, services: 100 };

  test("the queue empties between two rounds, and stock publishes a release at once", async () => {
    const result = await runThrottledController(few);
    expect(row(result, "longest leave lag at published").stock).toBeLessThan(aMomentMs);
    expect(row(result, "longest join lag at published").stock).toBeLessThan(aMomentMs);
  });

  test("the same seed gives the same figures, and another seed others", async () => {
    const first = await runThrottledController(few);
    const steps = new Set<string>();
    const onProgress = ({ step }: { readonly step: string }) => void steps.add(step);
    expect(await runThrottledController({ ...few, onProgress })).toEqual(first);
    expect(steps).toContain("release 2 of 2");
    const other = await runThrottledController({ ...few, seed: 3 });
    expect(other.figures).not.toEqual(first.figures);
    expect(other.traceHash).not.toEqual(first.traceHash);
  });
});

async function expectLate(seed: number): Promise<void> {
  const result = await runThrottledController({ seed });
  const longestMs = longestQueueMs(fittedServices, defaultQps);
  const tokensMs = longestTokensMs(fittedWorkers, defaultQps);
  for (const direction of ["leave", "join"]) {
    const published = row(result, `longest ${direction} lag at published`).stock;
    // At the least favourable moment of two, a good part of the round is still ahead.
    expect(published).toBeGreaterThan(longestMs / 6);
    expect(published).toBeLessThan(longestMs + tokensMs);
    const routed = row(result, `longest ${direction} lag at routed`);
    expect(routed.stock).toBeGreaterThanOrEqual(published);
    expect(routed.stock).toBeLessThan(published + stockIngressMs);
    expect(routed.lockstep).toBeLessThan(aMomentMs);
  }
  const loggedMs = row(result, "longest wait in a log line").stock;
  expect(loggedMs).toBeCloseTo((fittedWorkers / defaultQps) * 1_000, -1);
  const sent = row(result, "requests sent");
  expect(sent.lockstep).toBe(sent.stock);
  const lost = row(result, "requests lost");
  expect(lost.lockstep).toBe(0);
  expect(lost.stock).toBeGreaterThan(sent.stock / 10);
  expect(row(result, "requests to dead pods").stock).toBeGreaterThanOrEqual(lost.stock);
  for (const line of resultLines(result)) expect(line.length).toBeLessThanOrEqual(80);
}
