// Proves, while a watch is open, that it is current: asks for the collection's newest version by a
// quorum read now and then and tells the freshness tracker. See `freshness.ts` for what that proves.
import type { Clock } from "../../environment/clock.ts";
import { type Random, randomBetween } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import { type KubeClient, parseJson, StatusError } from "../client/client.ts";
import { resourceVersionOf } from "../kinds/metadata.ts";
import type { FreshnessTracker } from "./freshness.ts";
import type { ReflectorCounts } from "./reflector-counts.ts";
import type { Collection } from "./reflector-request.ts";

/** Between two reads, jittered by a fifth either way so that reflectors do not march in step. */
export const quorumReadEveryMs = 20_000;
const earliestFactor = 0.8;
const latestFactor = 1.2;

export interface ProverOptions {
  /** The watched server, or better another one of the same cluster. */
  readonly witness: KubeClient;
  readonly collection: Collection;
  readonly freshness: FreshnessTracker;
  readonly counts: ReflectorCounts;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  /** The server's history went back behind what we have seen. */
  readonly onRewound: () => void;
  /** A read was answered and judged: it may be time to look at the watch again. */
  readonly onRead: () => void;
}

/** Runs until the signal aborts, and then resolves. */
export async function proveCurrent(options: ProverOptions, signal: AbortSignal): Promise<void> {
  let delayMs = randomBetween(options.random, 0, quorumReadEveryMs);
  while (await slept(options.timers, delayMs, signal)) {
    await readOnce(options, signal);
    delayMs = randomBetween(
      options.random,
      quorumReadEveryMs * earliestFactor,
      quorumReadEveryMs * latestFactor,
    );
  }
}

async function readOnce(options: ProverOptions, signal: AbortSignal): Promise<void> {
  const { freshness, counts } = options;
  const sentAt = options.clock.monotonicMs();
  const reachedAtSending = freshness.resourceVersion ?? "";
  let resourceVersion: string | undefined;
  try {
    const response = await options.witness.request(options.collection.quorumRead(signal));
    resourceVersion = resourceVersionOf(parseJson(response));
  } catch (error) {
    if (!signal.aborted) {
      const refused = error instanceof StatusError && error.code === 403;
      counts.quorumRead(refused ? "refused" : "failed");
      if (refused) {
        freshness.quorumRefused();
      }
    }
    return;
  }
  if (signal.aborted || resourceVersion === undefined) {
    return;
  }
  const result = freshness.quorumRead({ sentAt, resourceVersion, reachedAtSending });
  counts.quorumRead(result);
  if (result === "rewound") {
    options.onRewound();
  } else {
    options.onRead();
  }
}

/** False when the signal aborted first. */
async function slept(timers: Timers, delayMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await timers.sleep(delayMs, signal);
    return true;
  } catch (error) {
    if (signal.aborted) {
      return false;
    }
    throw error;
  }
}
