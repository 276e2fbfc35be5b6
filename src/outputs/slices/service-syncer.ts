// Keeps an access cluster in step with business clusters: one key per service in a queue, changes that
// just happened ahead of going over everything again, and only those writes that the plan names.
import { Registry } from "prom-client";
import { sourceClusterOf } from "../../decide/syncing/copy-names.ts";
import type { RuleSettings } from "../../decide/syncing/rules/rule-settings.ts";
import {
  endpointChanges,
  type OfferTime,
  type ServiceOffer,
} from "../../decide/syncing/service-offer.ts";
import { elapsedMs, type MonotonicMs, type WallMs } from "../../environment/clock.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { EndpointSlice } from "../../kube/kinds/endpoint-slice.ts";
import type { LeaderElection } from "../../kube/leader/leader-election.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { RuleSyncer, type RulesReport } from "../rules/rule-syncer.ts";
import { ExportStatuses } from "./export-statuses.ts";
import { type ShownSyncer, type SyncMetrics, syncMetrics } from "./sync-metrics.ts";
import type { SourceReport } from "./sync-source.ts";
import { SyncView, type SyncViewOptions } from "./sync-view.ts";
import { SyncConflictError, SyncWriter } from "./sync-writer.ts";
import { UndoneWrites } from "./undone-writes.ts";

export interface ServiceSyncerOptions
  extends Omit<SyncViewOptions, "onService" | "onServiceObject"> {
  /** With it, the Ingresses of synced services are delivered too. */
  readonly rules?: RuleSettings;
  /** For writes; rate-limited, and apart from the watches so that those never wait for it. */
  readonly writeClient: KubeClient;
  /** By source, the client that writes the status of its ServiceExports; none when absent. */
  readonly exportStatusClients?: ReadonlyMap<string, KubeClient>;
  /** With it, a service is taken from the queue only when it is the turn of its first write. */
  readonly untilMayWrite?: (signal: AbortSignal) => Promise<void>;
  /** Writes only while it leads; a standby watches, so that it can begin at once. */
  readonly election?: LeaderElectionOf;
  /** Called when the access cluster shows what a business cluster offers; returns at once. */
  readonly onSynced?: (report: SyncedReport) => void;
  /** Called once, when the access cluster is known, before anything is written. */
  readonly onKnown?: (view: SyncView) => void;
}

/** Makes the election; with it, `writeClient` has to refuse writes while it does not lead. */
export type LeaderElectionOf = (
  work: (leading: AbortSignal) => Promise<void>,
) => Pick<LeaderElection, "run" | "isLeader" | "leader">;

export interface SyncerReport {
  readonly target: string;
  /** Why the target's objects may be outdated; null when they are not. */
  readonly targetProblem: string | null;
  /** Whether it is the one that writes. */
  readonly isWriting: boolean;
  /** The holder of the Lease; null without one. */
  readonly writer: string | null;
  readonly sources: readonly SourceReport[];
  /** Services with a copy or an offer. */
  readonly services: number;
  /** Services that wait for their turn. */
  readonly pending: number;
  readonly blocked: number;
  readonly lastError: string | null;
  /** Null when no Ingresses are delivered. */
  readonly rules: RulesReport | null;
}

export interface SyncedReport {
  /** `namespace/name` */
  readonly service: string;
  readonly source: string;
  /** The versions it was made from; undefined when the source no longer offers the service. */
  readonly version: string | undefined;
  /** Both of the event that caused it; undefined when a policy, a probe or time did. */
  readonly origin: WallMs | undefined;
  readonly seenAtMs: MonotonicMs | undefined;
  readonly syncedAtMs: MonotonicMs;
  /** How many it took, for all clusters of the service; 0 when the copy was right already. */
  readonly writes: number;
}

interface Reported {
  readonly version: string;
  /** Of the last event whose change is written. */
  readonly seenAtMs: MonotonicMs | undefined;
}

/** One service waits for one write after the other; many wait beside each other. */
const workers = 10;

/** A resync that writes nothing never waits: after so long, events are let in between. */
const longestTurnMs = 1;

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
  /** By service and source, what was last reported; only of services that are offered. */
  readonly #reported = new Map<string, Map<string, Reported>>();
  /** Why cannot sync a service, as last logged. */
  readonly #blocked = new Map<string, string>();
  /** By service with unfinished writes, the slices before the first of them. */
  readonly #unfinished = new Map<string, readonly EndpointSlice[]>();
  readonly #undone = new UndoneWrites();
  /** By service that waits for its turn, the source whose news it is; sources take turns. */
  readonly #newsOf = new Map<string, string>();
  readonly #rules: RuleSyncer | undefined;
  readonly #exportStatuses: ExportStatuses | undefined;
  #cancelResync: CancelTimer | undefined;
  #election: ReturnType<LeaderElectionOf> | undefined;
  #isWriting = false;
  #turnBeganAt: MonotonicMs;
  #lastError: string | undefined;

  constructor(options: ServiceSyncerOptions) {
    const { metrics, clock, timers, log } = options;
    this.#options = options;
    this.#turnBeganAt = clock.monotonicMs();
    this.#queue = new Workqueue({
      clock,
      timers,
      name: `sync-${options.target.cluster}`,
      fairness: "namespaces",
      groupOf: (key) => this.#newsOf.get(key) ?? "",
      ...(metrics === undefined ? {} : { registry: metrics }),
    });
    this.view = new SyncView({
      ...options,
      onService: (key, lane, source) => {
        if (source !== undefined && !this.#newsOf.has(key)) this.#newsOf.set(key, source);
        this.#queue.add(key, lane);
      },
      onServiceObject: (namespace) => this.#rules?.view.serviceChanged(namespace),
    });
    this.#rules =
      options.rules &&
      new RuleSyncer({
        ...options,
        settings: options.rules,
        obstacle: (namespace, service) => this.view.target.obstacle(namespace, service),
      });
    this.#writer = new SyncWriter({
      client: options.writeClient,
      target: this.view.target,
      log,
      ...(metrics === undefined ? {} : { metrics }),
    });
    this.#metrics = syncMetrics(metrics ?? new Registry());
    const { exportStatusClients: clients } = options;
    if (clients !== undefined && clients.size > 0) {
      const { sources } = this.view;
      const { cluster } = options.target;
      this.#exportStatuses = new ExportStatuses({ ...options, clients, sources, target: cluster });
    }
  }

  /** Runs until the signal aborts; rejects only when the access cluster cannot be written to. */
  async run(signal: AbortSignal): Promise<void> {
    const { onKnown, election } = this.#options;
    const shown = (): ShownSyncer => this.#shown();
    this.#metrics.shown.add(shown);
    try {
      await this.view.start(signal);
      onKnown?.(this.view);
      this.#rules?.start();
      this.#scheduleResync();
      if (election === undefined) {
        await this.#work(signal);
        return;
      }
      // The objects of the earlier writer are looked at again: each is taken over as it is.
      this.#election = election(async (leading) => {
        this.view.lookAgain();
        await this.#work(AbortSignal.any([leading, signal]));
      });
      await this.#election.run(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      this.#cancelResync?.();
      this.#queue.shutDown();
      this.#exportStatuses?.stop();
      await Promise.all([this.view.stop(), this.#rules?.stop()]);
      this.#metrics.shown.delete(shown);
    }
  }

  #shown(): ShownSyncer {
    const { clock, target } = this.#options;
    const problem = this.view.target.waitingFor() ?? this.view.target.staleness;
    return {
      target: target.cluster,
      isWriting: this.#isWriting,
      isTargetFresh: problem === undefined,
      sources: this.view.sources.map(({ cluster, currentAtMs }) => ({
        cluster,
        currentMsAgo:
          currentAtMs === undefined ? Infinity : elapsedMs(currentAtMs, clock.monotonicMs()),
      })),
    };
  }

  report(): SyncerReport {
    const { target } = this.#options;
    return {
      target: target.cluster,
      targetProblem: this.view.target.waitingFor() ?? this.view.target.staleness ?? null,
      isWriting: this.#isWriting,
      writer: this.#election?.leader()?.identity ?? null,
      sources: this.view.sources.map((source) => source.report),
      services: [...this.view.keys].length,
      pending: this.#queue.length,
      blocked: this.#blocked.size,
      lastError: this.#lastError ?? null,
      rules: this.#rules?.report() ?? null,
    };
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    this.#isWriting = true;
    try {
      const sync = (key: string, stop: AbortSignal) => this.#syncNoting(key, stop);
      const beforeTake = (stop: AbortSignal) => this.#beforeTake(stop);
      await Promise.all([
        runWorkers({ queue: this.#queue, workers, sync, beforeTake, maxRetries, log, signal }),
        this.#exportStatuses?.run(signal),
        this.#rules?.work(signal),
      ]);
    } finally {
      this.#isWriting = false;
    }
  }

  /** A change that has just happened must not wait behind writes that wait for the limit. */
  async #beforeTake(signal: AbortSignal): Promise<void> {
    const { clock, timers, untilMayWrite } = this.#options;
    if (elapsedMs(this.#turnBeganAt, clock.monotonicMs()) >= longestTurnMs) {
      await timers.breathe();
      this.#turnBeganAt = clock.monotonicMs();
    }
    await untilMayWrite?.(signal);
  }

  async #syncNoting(key: string, signal: AbortSignal): Promise<void> {
    this.#newsOf.delete(key);
    try {
      await this.#sync(key, signal);
    } catch (error) {
      // A conflict is planned again at once.
      if (!(error instanceof SyncConflictError)) this.#lastError = this.#errorText(key, error);
      throw error;
    }
  }

  #errorText(key: string, error: unknown): string {
    const at = new Date(this.#options.clock.wallMs()).toISOString();
    return `${at} ${key}: ${error instanceof Error ? error.message : String(error)}`;
  }

  async #sync(key: string, signal: AbortSignal): Promise<void> {
    const { clock, target } = this.#options;
    const startedAt = clock.monotonicMs();
    // Kept until all writes are made: a retry has only the rest of them.
    const isRetry = this.#unfinished.has(key);
    const before = this.#unfinished.get(key) ?? this.view.target.heldSlices(key);
    const { writes, blocked, importBlocked, offers, lookAgainMs } = this.view.plan(key);
    // Rounded up: a wait too short for the clock to show would never be over.
    if (lookAgainMs !== undefined) this.#queue.addAfter(key, Math.ceil(lookAgainMs));
    const decidedAt = clock.monotonicMs();
    const phase = { target: target.cluster };
    const seconds = elapsedMs(startedAt, decidedAt) / 1000;
    this.#metrics.phaseSeconds.observe({ ...phase, phase: "decide" }, seconds);
    this.#noteBlocked(key, blocked ?? importBlocked);
    // After a write of more than endpoints, the next plan shows whether all is there.
    const isDone = writes.every(({ kind }) => kind === "EndpointSlice");
    const noteExports = () => {
      if (isDone) this.#exportStatuses?.note(key, offers, blocked ?? importBlocked);
    };
    if (blocked !== undefined) {
      noteExports();
      return;
    }
    if (writes.length > 0) this.#unfinished.set(key, before);
    for (const write of writes) await this.#writer.apply(write, signal);
    this.#unfinished.delete(key);
    if (writes.length > 0) {
      const tookMs = elapsedMs(decidedAt, clock.monotonicMs());
      this.#metrics.phaseSeconds.observe({ ...phase, phase: "write" }, tookMs / 1000);
      // The first slices may have to wait for the import.
      const hasSlices = writes.some(({ kind }) => kind === "EndpointSlice");
      if (hasSlices || isRetry) this.#logChanges(key, offers, before);
    }
    this.#notice(key, offers, writes.length);
    for (const offer of offers) {
      const isWritten = writes.some((one) => (one.cluster ?? offer.cluster) === offer.cluster);
      this.#report(key, offer, isWritten ? writes.length : 0);
    }
    noteExports();
  }

  /** One line for each endpoint; of a copy that is new, only in detail. */
  #logChanges(
    service: string,
    offers: readonly ServiceOffer[],
    before: readonly EndpointSlice[],
  ): void {
    const { clock, log, target } = this.#options;
    const writtenAt = new Date(clock.wallMs()).toISOString();
    // An event in one cluster may change the use of another cluster's endpoints.
    const [otherNews] = offers.flatMap((offer) => this.#newsIn(service, offer) ?? []);
    for (const offer of offers) {
      const { cluster } = offer;
      const isNew =
        this.#reported.get(service)?.has(cluster) !== true &&
        !before.some((slice) => sourceClusterOf(slice) === cluster);
      const news = this.#newsIn(service, offer) ?? otherNews;
      for (const { address, direction } of endpointChanges(offer, before)) {
        const fields = {
          service,
          cluster,
          target: target.cluster,
          address,
          direction,
          ...(news && {
            origin: new Date(news.origin).toISOString(),
            readAt: new Date(news.readAt).toISOString(),
          }),
          writtenAt,
        };
        if (isNew && direction === "join") log.debug("copied an endpoint", fields);
        else log.info("copied a change of an endpoint", fields);
      }
    }
  }

  /** The last event about the offer; undefined when its change was written before. */
  #newsIn(service: string, { cluster, changedAt }: ServiceOffer): OfferTime | undefined {
    const seenAtMs = this.#reported.get(service)?.get(cluster)?.seenAtMs;
    const isNews = changedAt !== undefined && changedAt.seenAtMs > (seenAtMs ?? -Infinity);
    return isNews ? changedAt : undefined;
  }

  /** Before it is reported what the offers are. */
  #notice(service: string, offers: readonly ServiceOffer[], writes: number): void {
    const reported = this.#reported.get(service);
    const isNew = offers.some(
      ({ isKnown, cluster, version }) => isKnown && reported?.get(cluster)?.version !== version,
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
    if (!isKnown) return;
    const reported = this.#reported.get(service) ?? new Map<string, Reported>();
    const news = this.#newsIn(service, offer);
    const isSame = reported.get(source)?.version === version;
    this.#reported.set(service, reported);
    if (version === undefined) reported.delete(source);
    else reported.set(source, { version, seenAtMs: changedAt?.seenAtMs });
    if (reported.size === 0) this.#reported.delete(service);
    if (isSame) return;
    const syncedAtMs = clock.monotonicMs();
    if (news !== undefined && writes > 0) {
      const lagMs = elapsedMs(news.seenAtMs, syncedAtMs);
      this.#metrics.lagSeconds.observe({ source, target: target.cluster }, lagMs / 1000);
    }
    const { origin, seenAtMs } = news ?? { origin: undefined, seenAtMs: undefined };
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
      this.#rules?.view.lookAgain();
      this.#scheduleResync();
    });
  }
}
