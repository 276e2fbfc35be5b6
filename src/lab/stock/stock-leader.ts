// One stock replica as candidate and leader (setupLeaderElection in
// internal/ingress/controller/status.go): while it leads it writes status, and when it has lost the
// lock it competes again. Others know nothing of it but its pod's name.

import type { Environment } from "../../environment/environment.ts";
import type { LockReference } from "../../kube/leader/lease-record.ts";
import { ClientGoElection, type MissedTry } from "../leader/client-go-election.ts";
import { ingressNginx } from "./ingress-nginx.ts";
import { type StockReleaseName, stockReleases } from "./stock-release.ts";
import { StockStatus, type StockStatusOptions } from "./stock-status.ts";

export interface StockLeaderOptions
  extends Pick<Environment, "random">,
    Omit<StockStatusOptions, "release" | "intervalMs"> {
  readonly release: StockReleaseName;
  /** Part of the lock's name in older releases. */
  readonly ingressClass: string;
  /** `--election-ttl`; the renew deadline is half of it and the retry period a quarter. */
  readonly electionTtlMs?: number;
  /** `--status-update-interval`. */
  readonly statusUpdateIntervalMs?: number;
  /** `--update-status-on-shutdown`; true unless given. */
  readonly updatesStatusOnShutdown?: boolean;
}

/** Results of its tries for the lock. */
export interface StockLeaderCounts {
  readonly terms: number;
  /** Tries that found another holder whose record had changed in time. */
  readonly held: number;
  readonly conflicts: number;
}

export class StockLeader {
  /** Where its lock is. */
  readonly lock: LockReference;
  readonly #options: StockLeaderOptions;
  readonly #status: StockStatus;
  readonly #election: ClientGoElection;
  readonly #stopping = new AbortController();
  readonly #counts = { terms: 0, held: 0, conflicts: 0 };
  #isLeading = false;
  #running: Promise<void> | undefined;
  #syncing: Promise<void> = Promise.resolve();

  constructor(options: StockLeaderOptions) {
    this.#options = options;
    const release = stockReleases[options.release];
    const { pod, ingressClass, electionTtlMs = ingressNginx.electionTtlMs } = options;
    const name = release.lockName(ingressNginx.electionId, ingressClass);
    this.lock = { kind: release.lockKind, namespace: pod.namespace, name };
    this.#status = new StockStatus({
      ...options,
      release,
      intervalMs: options.statusUpdateIntervalMs ?? ingressNginx.statusUpdateIntervalMs,
    });
    this.#election = new ClientGoElection({
      ...options,
      lock: this.lock,
      identity: pod.name,
      waitsFor: release.waitsFor,
      renewsUnread: release.renewsUnread,
      leaseDurationMs: electionTtlMs,
      renewDeadlineMs: electionTtlMs / 2,
      retryPeriodMs: electionTtlMs / 4,
      onStartedLeading: (leading) => this.#lead(leading),
      onStoppedLeading: () => this.#stopLeading(),
      onNewLeader: (identity) => options.klog.write(...release.lines.elected(identity)),
      onMissed: (missed) => this.#missed(missed),
    });
  }

  /** Whether it believes so, which the lock may have belied for some seconds. */
  get isLeading(): boolean {
    return this.#isLeading;
  }

  get counts(): StockLeaderCounts {
    return { ...this.#counts };
  }

  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** SIGTERM: the last of its revision empties the statuses; the lock is left to expire. Idempotent. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort(new Error("the stock controller is stopping"));
    await this.#running;
    await this.#syncing;
    const { updatesStatusOnShutdown = true, log } = this.#options;
    if (!updatesStatusOnShutdown) return;
    try {
      await this.#status.shutDown();
    } catch (error) {
      log.debug("the stock controller ended without a last look at the statuses", { error });
    }
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { klog } = this.#options;
    const { lines } = stockReleases[this.#options.release];
    while (!signal.aborted) {
      klog.write(...lines.attempting(this.#lockName()));
      await this.#election.run(signal);
    }
  }

  #lead(leading: AbortSignal): void {
    const { klog, release } = this.#options;
    klog.write(...stockReleases[release].lines.acquired(this.#lockName()));
    this.#counts.terms += 1;
    this.#isLeading = true;
    this.#syncing = this.#status.run(leading);
  }

  #stopLeading(): void {
    const { klog, release } = this.#options;
    this.#isLeading = false;
    if (this.#stopping.signal.aborted) return;
    klog.write(...stockReleases[release].lines.lost(this.#lockName()));
  }

  #missed(missed: MissedTry): void {
    if (missed.kind === "held") {
      this.#counts.held += 1;
      return;
    }
    if (missed.isConflict) this.#counts.conflicts += 1;
    const { klog, release } = this.#options;
    const { at, text } = missed;
    klog.write(...stockReleases[release].lines.failed(this.#lockName(), at, text));
  }

  #lockName(): string {
    return `${this.lock.namespace}/${this.lock.name}`;
  }
}
