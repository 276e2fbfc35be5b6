// In which form a cluster publishes endpoints: EndpointSlices since Kubernetes 1.21, and before that
// Endpoints. The API server says which by discovery.
import type { Clock } from "../environment/clock.ts";
import type { Log } from "../environment/log.ts";
import type { Random } from "../environment/random.ts";
import type { Timers } from "../environment/timers.ts";
import { type KubeClient, StatusError } from "../kube/client/client.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { Backoff } from "../kube/reflector/backoff.ts";

export type PublishedForm = "endpointslices" | "endpoints";

export interface PublishedFormOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly log: Log;
}

const requestDeadlineMs = 10_000;

/** Asks until it is answered; rejects when the signal aborts. */
export async function publishedForm(
  options: PublishedFormOptions,
  signal: AbortSignal,
): Promise<PublishedForm> {
  const { client, timers, log } = options;
  const backoff = new Backoff(options);
  for (;;) {
    try {
      return await askPublishedForm(client, signal);
    } catch (error) {
      signal.throwIfAborted();
      const delayMs = backoff.next();
      log.warn("cannot read which endpoint API the API server uses", {
        delayMs: Math.round(delayMs),
        error,
      });
      await timers.sleep(delayMs, signal);
    }
  }
}

/** Asks once; rejects when there is no answer. */
export async function askPublishedForm(
  client: KubeClient,
  signal: AbortSignal,
): Promise<PublishedForm> {
  const path = `/apis/${endpointSliceKind.group}/${endpointSliceKind.version}`;
  try {
    const limits = { deadlineMs: requestDeadlineMs, signal };
    await client.request({ verb: "get", method: "GET", path, ...limits });
    return "endpointslices";
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return "endpoints";
    // A server that does not let us ask is a recent one; its slices say what else is refused.
    if (error instanceof StatusError && error.code === 403) return "endpointslices";
    throw error;
  }
}
