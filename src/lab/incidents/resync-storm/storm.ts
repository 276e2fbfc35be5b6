// One storm, measured from the look before it to the look at which the queue is empty again, and
// what held it up. Which constraint binds is told from measurements alone.

import { loggedWaits } from "../../probe/throttling-waits.ts";
import type { Scene } from "../scene.ts";
import type { StormMeter, StormWindow } from "./resync-storm-meter.ts";
import { type QueueLook, workBetween } from "./resync-storm-queue.ts";

export interface Storm extends StormWindow {
  /** The first request, or the last look before the queue was filled when there was none. */
  readonly atMs: number;
  /** From the first request to the last. */
  readonly drainMs: number;
  /** Requests a second while it drained. */
  readonly rate: number;
  /** How long a worker was at a key, on average. */
  readonly workMs: number;
  /** Workers that were at it, on average while it drained. */
  readonly busyWorkers: number;
  /** Of the last requests, how many had waited so long for the limiter that the log says so. */
  readonly throttledShare: number;
}

export type Constraint = "limiter" | "server" | "workers" | "none";

/** How long the end of a storm is looked at in the log, which does not keep all of it. */
const sampleMs = 60_000;

/** Answers take a little longer than the queue shows: a request of each worker is under way. */
const settleMs = 2_000;

/** Above this share of requests in the log the limiter is what they wait for. */
const mostRequests = 0.5;

/** A server that takes so many times longer than in quiet times is saturated. */
const saturated = 3;

/** Workers that are at it for so much of the time are all busy. */
const busy = 0.9;

export async function measureStorm(
  { client, stage }: Pick<Scene, "client" | "stage">,
  meter: StormMeter,
  { before, after }: { readonly before: QueueLook; readonly after: QueueLook },
): Promise<Storm> {
  await stage.sleep(settleMs);
  const window = meter.window(before.atMs);
  const { firstMs = before.atMs, lastMs = before.atMs, requests } = window;
  const drainMs = lastMs - firstMs;
  const work = workBetween(before, after);
  return {
    ...window,
    atMs: firstMs,
    drainMs,
    rate: drainMs === 0 ? 0 : ((requests - 1) * 1000) / drainMs,
    workMs: work.meanMs,
    busyWorkers: drainMs === 0 ? 0 : work.totalMs / drainMs,
    throttledShare: await throttledShare(client, meter, stage.now(), lastMs),
  };
}

/** Of the requests in the last part of the storm. */
async function throttledShare(
  client: Scene["client"],
  meter: StormMeter,
  nowMs: number,
  lastMs: number,
): Promise<number> {
  const sinceMs = nowMs - lastMs + sampleMs;
  const { requests } = meter.window(nowMs - sinceMs);
  const lines = (await loggedWaits(client, sinceMs))?.count ?? 0;
  return requests === 0 ? 0 : Math.min(1, lines / requests);
}

/** `quietServerMs` is how long the server took over a PUT when nothing else went on. */
export function constraintOf(
  { requests, throttledShare: share, busyWorkers, meanServerMs }: Storm,
  { workers, quietServerMs }: { readonly workers: number; readonly quietServerMs: number },
): Constraint {
  if (requests === 0) return "none";
  if (share > mostRequests) return "limiter";
  if (busyWorkers < busy * workers) return "none";
  return meanServerMs > saturated * quietServerMs ? "server" : "workers";
}
