// Bounds the requests to one cluster, whatever they are for, because its API server may be slow
// already. Every cluster has a bucket of its own, so that one never waits for another.
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { RateLimitedClient } from "../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";

export interface PaceOptions extends Pick<Environment, "clock" | "timers"> {
  /** Requests a second; an open watch is none. Unbounded when undefined. */
  readonly maxQps?: number | undefined;
}

export function pacedClient(client: KubeClient, options: PaceOptions): KubeClient {
  const { maxQps, clock } = options;
  if (maxQps === undefined) return client;
  const burst = Math.max(1, Math.floor(maxQps));
  const bucket = new TokenBucket({ ...options, qps: maxQps, burst });
  return new RateLimitedClient({ client, bucket, clock, onThrottled: () => undefined });
}
