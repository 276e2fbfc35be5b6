// Keeps an access cluster in step with business clusters: one key per service in a queue, changes that
// just happened ahead of going over everything again, and only those writes that the plan names.
import { Registry } from "prom-client";
import type { ServiceOffer } from "../../decide/syncing/service-offer.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { type SyncMetrics, syncMetrics } from "./sync-metrics.ts";
import { SyncView, type SyncViewOptions } from "./sync-view.ts";
import { SyncWriter } from "./sync-writer.ts";
import { UndoneWrites } from "./undone-writes.ts";

export interface ServiceSyncerOptions extends Omit<SyncViewOptions, "onService"> {
  /** For writes; rate-limited, and apart from the watches so that those never wait for it. */
  readonly writeClient: KubeClient;
  /** Called when the access cluster shows what a business cluster offers; returns at once. */
  readonly onSynced?: (report: SyncedReport) => void;
  /** Called once, when the access cluster is known, before anything is written. */
  readonly onKnown?: (view: SyncView) => void;
}

export interface SyncedReport {
  /** `namespace/name` */
  readonly service: string;
  readonly source: string;
  /** The versions it was made from; undefined when the source no longer offers the service. */
  readonly version: string | undefined;
  readonly origin: WallMs | undefined;
  readonly seenAtMs: MonotonicMs | undefined;
  readonly syncedAtMs: MonotonicMs;
  /** How many it took, for all clusters of the service; 0 when the copy was right already. */
  readonly writes: number;
}

/** One service waits for one write after the other; many wait beside each other. */
const workers = 10;

/** As Kubernetes' endpoint controllers; the resync brings a dropped key back. */
const maxRetries = 15;

/** Nothing should need it: watches tell of every change. It mends what they could not. */
export const resyncEveryMs = 10 * 60_000;

export class ServiceSyncer {
  readonly view: SyncView;
  readonly #options: ServiceSyncerOptions;
  readonly #queue: Workqueue;
  readonly #writer: SyncWriter;
  readonly #metrics: SyncMetrics;
  /** By service and source, the version last reported; only of services that are offered. */
  readonly #reported = new Map<string, Map<string, string>>();
  /** Why cannot sync a service, as last logged. */
  readonly #blocked = new Map<string, string>();
  readonly #undone = new UndoneWrites();
  #cancelResync: CancelTimer | undefined;

  constructor(options: ServiceSyncerOptions) {
    const { metrics, clock, timers, log } = options;
    this.#options = options;
    this.#queue = new Workqueue({
      clock,
      timers,
      name: `sync-${options.target.cluster}`,
      fairness: "namespaces",
      ...(metrics === undefined ? {} : { registry: metrics }),
    });
    this.view = new SyncView({
      ...options,
      onService: (key, lane) => this.#queue.add(key, lane),
    });
    this.#writer = new SyncWriter({
      client: options.writeClient,
      target: this.view.target,
      log,
      ...(metrics === undefined ? {} : { metrics }),
    });
    this.#metrics = syncMetrics(metrics ?? new Registry());
  }

  /** Runs until the signal aborts; rejects only when the access cluster cannot be written to. */
  async run(signal: AbortSignal): Promise<void> {
    const { log, onKnown } = this.#options;
    try {
      await this.view.start(signal);
      onKnown?.(this.view);
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
    const { writes, blocked, offers } = this.view.plan(key);
    this.#noteBlocked(key, blocked);
    if (blocked !== undefined) return;
    for (const write of writes) await this.#writer.apply(write, signal);
    this.#notice(key, offers, writes.length);
    for (const offer of offers) this.#report(key, offer, writes.length);
  }

  /** Before it is reported what the offers are. */
  #notice(service: string, offers: readonly ServiceOffer[], writes: number): void {
    const reported = this.#reported.get(service);
    const isNew = offers.some(
      ({ isKnown, cluster, version }) => isKnown && reported?.get(cluster) !== version,
    );
    if (isNew) this.#undone.news(service);
    if (isNew || writes === 0) return;
    const { clock, log, target } = this.#options;
    if (!this.#undone.putRight(service, clock.monotonicMs())) return;
    log.warn(
      "another client reverts the written copies; another Lockstep may sync other services from " +
        "this cluster, or from a cluster with the same name",
      { service, cluster: target.cluster },
    );
  }

  #report(service: string, offer: ServiceOffer, writes: number): void {
    const { clock, onSynced, target } = this.#options;
    const { cluster: source, isKnown, version, changedAt } = offer;
    const reported = this.#reported.get(service) ?? new Map<string, string>();
    if (!isKnown || reported.get(source) === version) return;
    this.#reported.set(service, reported);
    if (version === undefined) reported.delete(source);
    else reported.set(source, version);
    if (reported.size === 0) this.#reported.delete(service);
    const syncedAtMs = clock.monotonicMs();
    if (changedAt !== undefined && writes > 0) {
      const lagMs = elapsedMs(changedAt.seenAtMs, syncedAtMs);
      this.#metrics.lagSeconds.observe({ source, target: target.cluster }, lagMs / 1000);
    }
    const { origin, seenAtMs } = changedAt ?? { origin: undefined, seenAtMs: undefined };
    onSynced?.({ service, source, version, origin, seenAtMs, syncedAtMs, writes });
  }

  #noteBlocked(service: string, reason: string | undefined): void {
    if (this.#blocked.get(service) === reason) return;
    const { log, target } = this.#options;
    if (reason === undefined) {
      this.#blocked.delete(service);
      log.info("syncing a service works again", { service });
    } else {
      this.#blocked.set(service, reason);
      log.warn("cannot sync a service", { service, reason });
    }
    this.#metrics.blocked.set({ target: target.cluster }, this.#blocked.size);
  }

  #scheduleResync(): void {
    this.#cancelResync = this.#options.timers.after(resyncEveryMs, () => {
      this.view.lookAgain();
      this.#scheduleResync();
    });
  }
}
