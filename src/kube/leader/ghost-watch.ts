// Looks at a lock and its holder again and again and reports when the holder is a ghost. It reports
// on any lock; the caller decides what to do (`LeaderElection` asks `confirms` before it takes its
// own lock from a holder that still renews).
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Timers } from "../../environment/timers.ts";
import type { KubeClient } from "../client/client.ts";
import {
  type GhostReport,
  type GhostVerdict,
  judgeHolder,
  type LockSighting,
  looksApartMinMs,
  looksPerLease,
  suspicionOf,
} from "./ghost-check.ts";
import { findHolder, type Presence } from "./ghost-holder.ts";
import type { IdentityForm } from "./leader-identity.ts";
import { type LockVersion, readLock } from "./lease-lock.ts";
import type { LockReference } from "./lease-record.ts";

export interface GhostWatchOptions {
  readonly client: KubeClient;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly lock: LockReference;
  /** `own` if only our replicas compete for the lock. */
  readonly form: IdentityForm;
  /** See `HolderQuestion`. */
  readonly podNamespace?: string;
  /** Called when a holder is first known to be a ghost. */
  readonly onGhost?: (report: GhostReport) => void;
}

/** A look that takes longer is worth less than the next one. */
const requestDeadlineMs = 5_000;

/** Interval between checks of a lock that has no holder or cannot be read. */
const idlePeriodMs = 5_000;

export class GhostWatch {
  readonly #options: GhostWatchOptions;
  #verdict: GhostVerdict | undefined;
  #leaseDurationMs = 0;

  constructor(options: GhostWatchOptions) {
    this.#options = options;
  }

  /** The latest; undefined before the first look. */
  get verdict(): GhostVerdict | undefined {
    return this.#verdict;
  }

  /** True if, as of the latest look, this holder is a ghost. */
  confirms(holder: string): boolean {
    return this.#verdict?.kind === "ghost" && this.#verdict.report.holder === holder;
  }

  /** Looks until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#look(signal);
      try {
        await this.#options.timers.sleep(this.#periodMs(), signal);
      } catch (error) {
        if (!signal.aborted) throw error;
      }
    }
  }

  #periodMs(): number {
    if (this.#leaseDurationMs === 0) return idlePeriodMs;
    return Math.max(looksApartMinMs, this.#leaseDurationMs / looksPerLease);
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { lock, log, onGhost } = this.#options;
    const previous = this.#verdict;
    try {
      const sighting = await this.#sight(signal);
      this.#verdict = judgeHolder(lock, previous, sighting);
    } catch (error) {
      if (signal.aborted) return;
      const suspicion = suspicionOf(previous);
      const evidence = error instanceof Error ? error.message : String(error);
      this.#verdict = { kind: "unknown", holder: suspicion?.holder ?? "", evidence, suspicion };
    }
    if (this.#verdict.kind !== "ghost") return;
    const { report } = this.#verdict;
    if (previous?.kind === "ghost" && previous.report.holder === report.holder) return;
    log.warn("a leader lock is held by a pod that does not exist", { ...report });
    onGhost?.(report);
  }

  async #sight(signal: AbortSignal): Promise<LockSighting> {
    const before = await this.#readLock(signal);
    const holder = before?.record.holder ?? "";
    this.#leaseDurationMs = before?.record.leaseDurationMs ?? 0;
    if (holder === "") return this.#sighting(undefined, noHolder);
    const presence = await this.#find(holder, signal);
    if (presence.kind !== "absent") return this.#sighting(before, presence);
    // Only a renewal seen to come after the absence says that someone renews without existing.
    const after = await this.#readLock(signal);
    if (after?.record.holder === holder) return this.#sighting(after, presence);
    return this.#sighting(after, { kind: "unknown", evidence: "the holder has just changed" });
  }

  async #readLock(signal: AbortSignal): Promise<LockVersion | undefined> {
    const limits = { deadlineMs: requestDeadlineMs, signal };
    return await readLock(this.#options.client, this.#options.lock, limits);
  }

  async #find(identity: string, signal: AbortSignal): Promise<Presence> {
    const { client, form, podNamespace } = this.#options;
    const limits = { deadlineMs: requestDeadlineMs, signal };
    return await findHolder(client, { identity, form, podNamespace }, limits);
  }

  #sighting(version: LockVersion | undefined, presence: Presence): LockSighting {
    const { clock } = this.#options;
    const record = version?.record;
    return { at: clock.monotonicMs(), wallAt: clock.wallMs(), record, presence };
  }
}

const noHolder: Presence = { kind: "unknown", evidence: "the lock has no holder" };
