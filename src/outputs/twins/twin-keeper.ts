// Keeps the twins of one cluster right. The leader writes each change at once. A standby has the same
// watches and the same queue, and writes only where the twin is behind the Service's own slices for
// longer than `standbyDelayMs`: so a twin is not later than the slices while one replica lives, although
// the Lease of a dead leader runs for seconds. Each write names the version that it replaces, so two
// replicas cannot undo each other's newer write.
import { Registry } from "prom-client";
import type { LateReport } from "../../decide/assisting/late-slices.ts";
import { LateSlices } from "../../decide/assisting/late-slices.ts";
import type { SyncWrite } from "../../decide/syncing/sync-write.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { objectPath, splitObjectKey } from "../../kube/kinds/kind.ts";
import { serviceKind } from "../../kube/kinds/service.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { SyncWriter } from "../slices/sync-writer.ts";
import { UndoneWrites } from "../slices/undone-writes.ts";
import { type TwinMetrics, twinMetrics } from "./twin-metrics.ts";
import { type TwinPlan, TwinView, type TwinViewOptions } from "./twin-view.ts";

export interface TwinKeeperOptions extends Omit<TwinViewOptions, "onTwin"> {
  /** For writes; rate-limited, and apart from the watches so that those never wait for it. */
  readonly writeClient: KubeClient;
  /** Whether this replica holds the Lease. */
  readonly isLeading: () => boolean;
  /** Called after each write; returns at once. */
  readonly onWritten?: (written: WrittenTwin) => void;
}

export interface WrittenTwin {
  /** `namespace/name` of the twin and of its Service. */
  readonly twin: string;
  readonly service: string | undefined;
  readonly write: SyncWrite;
  readonly by: "leader" | "standby";
  /** From the change that this replica saw until the write was accepted. */
  readonly tookMs: number;
}

/** One twin waits for one write after the other; many wait beside each other. */
const workers = 10;

/** As Kubernetes' endpoint controllers; the resync brings a dropped key back. */
const maxRetries = 15;

/** It mends what the watches could not. */
const resyncEveryMs = 10 * 60_000;

/**
 * A leader has written within tens of milliseconds. Longer than that, so that the two rarely meet;
 * shorter than any client waits.
 */
export const standbyDelayMs = 300;

const requestDeadlineMs = 10_000;

/** The state of one twin, as far as its times are concerned. */
interface TwinTimes {
  publishedVersion: string;
  publishedChangedAt: MonotonicMs;
  twinVersion: string;
  twinChangedAt: MonotonicMs;
  /** The ready addresses that were last decided. */
  decided: string;
  /** Since the last look, the Service's slices or the decision changed. */
  isNews: boolean;
}

export class TwinKeeper {
  readonly view: TwinView;
  readonly #options: TwinKeeperOptions;
  readonly #queue: Workqueue;
  readonly #writer: SyncWriter;
  readonly #metrics: TwinMetrics;
  readonly #times = new Map<string, TwinTimes>();
  readonly #lateness = new Map<string, LateSlices>();
  /** Why a twin cannot be kept, as last logged. */
  readonly #blocked = new Map<string, string>();
  readonly #undone = new UndoneWrites();
  #cancelResync: CancelTimer | undefined;

  constructor(options: TwinKeeperOptions) {
    const { metrics, clock, timers, log, cluster } = options;
    this.#options = options;
    this.#queue = new Workqueue({
      clock,
      timers,
      name: `assist-${cluster}`,
      fairness: "namespaces",
      ...(metrics === undefined ? {} : { registry: metrics }),
    });
    this.view = new TwinView({ ...options, onTwin: (key, lane) => this.#queue.add(key, lane) });
    this.#writer = new SyncWriter({
      client: options.writeClient,
      target: this.view.target,
      log,
      ...(metrics === undefined ? {} : { metrics }),
    });
    this.#metrics = twinMetrics(metrics ?? new Registry());
  }

  /** By twin, how late the slices of its Service were. */
  get lateness(): ReadonlyMap<string, LateReport> {
    return new Map([...this.#lateness].map(([key, { report }]) => [key, report]));
  }

  /** Why twins cannot be kept, by twin. */
  get blocked(): ReadonlyMap<string, string> {
    return this.#blocked;
  }

  /** The age of the oldest change that a twin has and its Service's slices do not. */
  oldestBehindMs(now: MonotonicMs): number {
    let oldest = 0;
    for (const lateness of this.#lateness.values()) {
      oldest = Math.max(oldest, lateness.behind(now).oldestMs);
    }
    return oldest;
  }

  /** Continues the counts of an earlier leader, for twins that have none here. */
  remember(reports: ReadonlyMap<string, LateReport>): void {
    for (const [key, report] of reports) {
      if (this.#lateness.get(key)?.hasCounted !== true) {
        this.#lateness.set(key, new LateSlices(report));
      }
    }
  }

  /** A new leader looks at every twin: a standby leaves work undone. */
  lookAgain(): void {
    this.view.lookAgain();
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      await this.view.start(signal);
      this.#scheduleResync();
      const sync = (key: string, stop: AbortSignal) => this.#sync(key, stop);
      await runWorkers({ queue: this.#queue, workers, sync, maxRetries, log, signal });
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#cancelResync?.();
      this.#queue.shutDown();
      await this.view.stop();
    }
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    if (!this.view.isKnown) return;
    const { clock, isLeading } = this.#options;
    const seenAt = clock.monotonicMs();
    const plan = this.view.plan(key);
    const times = this.#note(key, plan, seenAt);
    this.#noteBlocked(key, plan.blocked);
    this.#compare(key, plan, seenAt);
    if (plan.isGone) this.#forget(key);
    if (plan.writes.length === 0) return;
    this.#warnOfOthers(key, times, seenAt);
    if (isLeading()) {
      await this.#write(key, plan, "leader", seenAt, signal);
      return;
    }
    // Only the leader makes and removes twins.
    if (!plan.isKept || times.publishedChangedAt <= times.twinChangedAt) return;
    const restMs = standbyDelayMs - elapsedMs(times.publishedChangedAt, seenAt);
    if (restMs > 0) this.#queue.addAfter(key, Math.ceil(restMs));
    else if (this.view.isFresh) await this.#write(key, plan, "standby", seenAt, signal);
  }

  async #write(
    key: string,
    { writes, original, isOriginalShown }: TwinPlan,
    by: WrittenTwin["by"],
    seenAt: MonotonicMs,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, log, onWritten, isLeading } = this.#options;
    for (const write of writes) {
      if (by === "leader" && !isLeading()) return;
      const isRemoval = write.kind === "Service" && write.type === "delete" && !isOriginalShown;
      // A cache may be wrong, and a twin that something routes to must not go because of it.
      if (isRemoval && original !== undefined && (await this.#exists(original, signal))) return;
      await this.#writer.apply(write, signal);
      const tookMs = Math.round(elapsedMs(seenAt, clock.monotonicMs()));
      this.#metrics.writes.inc({ by });
      onWritten?.({ twin: key, service: original, write, by, tookMs });
    }
    if (by === "standby") {
      log.warn("the leader did not write a change in time; this standby wrote it", { twin: key });
    }
  }

  async #exists(service: string, signal: AbortSignal): Promise<boolean> {
    const path = objectPath(serviceKind, splitObjectKey(service));
    const limits = { deadlineMs: requestDeadlineMs, signal };
    try {
      await this.#options.writeClient.request({ verb: "get", method: "GET", path, ...limits });
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return false;
      throw error;
    }
  }

  /** When the Service's slices and the twin's last changed before our eyes. */
  #note(key: string, plan: TwinPlan, at: MonotonicMs): TwinTimes {
    const { publishedVersion, twinVersion } = plan;
    const decided = [...plan.decided].sort().join(" ");
    const known = this.#times.get(key);
    const times = known ?? {
      publishedVersion,
      publishedChangedAt: at,
      twinVersion,
      twinChangedAt: at,
      decided,
      isNews: true,
    };
    times.isNews =
      known === undefined ||
      known.publishedVersion !== publishedVersion ||
      known.decided !== decided;
    times.decided = decided;
    this.#times.set(key, times);
    if (times.publishedVersion !== publishedVersion) {
      times.publishedVersion = publishedVersion;
      times.publishedChangedAt = at;
    }
    if (times.twinVersion !== twinVersion) {
      times.twinVersion = twinVersion;
      times.twinChangedAt = at;
    }
    return times;
  }

  /** Writes without news put right what another program wrote. */
  #warnOfOthers(twin: string, { isNews }: TwinTimes, at: MonotonicMs): void {
    if (isNews) {
      this.#undone.news(twin);
      return;
    }
    if (!this.#options.isLeading() || !this.#undone.putRight(twin, at)) return;
    this.#options.log.warn(
      "another program reverts writes to a twin, for example a deployment tool",
      { twin },
    );
  }

  #compare(key: string, { isKept, decided, published }: TwinPlan, at: MonotonicMs): void {
    if (!isKept) {
      this.#lateness.get(key)?.end();
      return;
    }
    const lateness = this.#lateness.get(key) ?? new LateSlices();
    this.#lateness.set(key, lateness);
    const wall = this.#options.clock.wallMs();
    for (const { kind, lagMs } of lateness.compare({ decided, published, at, wall })) {
      this.#metrics.originalLate.observe({ direction: kind }, lagMs / 1000);
    }
  }

  /** Twins come and go with their Services, so nothing of one that is gone may stay. */
  #forget(key: string): void {
    this.#times.delete(key);
    this.#lateness.delete(key);
    this.#undone.news(key);
  }

  #noteBlocked(key: string, reason: string | undefined): void {
    if (this.#blocked.get(key) === reason) return;
    const { log } = this.#options;
    if (reason === undefined) {
      this.#blocked.delete(key);
      log.info("a twin can be kept again", { twin: key });
    } else {
      this.#blocked.set(key, reason);
      log.warn("a twin cannot be kept", { twin: key, reason });
    }
    this.#metrics.blocked.set(this.#blocked.size);
  }

  #scheduleResync(): void {
    this.#cancelResync = this.#options.timers.after(resyncEveryMs, () => {
      this.view.lookAgain();
      this.#scheduleResync();
    });
  }
}
