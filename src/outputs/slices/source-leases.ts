// A Lease in the target for each source, which says until when everything in the source has been seen:
// so any consumer can judge how old the copies of a cluster may be. A source that is lost stops
// renewing.
import { elapsedMs, type MonotonicMs, toMicroTime, type WallMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { createLease, readLock, updateLease } from "../../kube/leader/lease-lock.ts";
import type { SyncSource } from "./sync-source.ts";

export interface SourceLeasesOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly sources: readonly Pick<SyncSource, "cluster" | "currentAtMs">[];
  /** After so long without a renewal the source counts as unreachable. */
  readonly unreachableAfterMs: number;
}

/** Watches are proved current every 24 s at the latest. */
export const renewEveryMs = 15_000;

const requestDeadlineMs = 10_000;

export function sourceLeaseName(cluster: string): string {
  return `lockstep-source-${cluster}`;
}

export class SourceLeases {
  readonly #options: SourceLeasesOptions;
  /** By cluster, the instant that was last written. */
  readonly #written = new Map<string, MonotonicMs>();

  constructor(options: SourceLeasesOptions) {
    this.#options = options;
  }

  /** Renews until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { timers, sources } = this.#options;
    try {
      while (!signal.aborted) {
        for (const source of sources) await this.#renew(source, signal);
        await timers.sleep(renewEveryMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #renew(
    { cluster, currentAtMs }: SourceLeasesOptions["sources"][number],
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, client, namespace, unreachableAfterMs, log } = this.#options;
    if (currentAtMs === undefined || currentAtMs === this.#written.get(cluster)) return;
    const lock = { kind: "Lease", namespace, name: sourceLeaseName(cluster) } as const;
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const agoMs = elapsedMs(currentAtMs, clock.monotonicMs());
    const renewTime = toMicroTime((clock.wallMs() - agoMs) as WallMs);
    try {
      const known = await readLock(client, lock, limits);
      const record = {
        holder: cluster,
        leaseDurationMs: Math.max(1_000, Math.round(unreachableAfterMs / 1_000) * 1_000),
        acquireTime: known?.record.acquireTime ?? renewTime,
        renewTime,
        transitions: 0,
      };
      if (known === undefined) await createLease(client, lock, record, limits);
      else await updateLease(client, lock, known, record, limits);
      this.#written.set(cluster, currentAtMs);
    } catch (error) {
      if (signal.aborted) return;
      const isLate = error instanceof StatusError && error.code === 409;
      if (!isLate) log.warn("cannot renew the Lease of a source", { cluster, error });
    }
  }
}
