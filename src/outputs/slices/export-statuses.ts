// Writes the conditions of ServiceExports into their own clusters, where that is permitted. A cluster
// that refuses or does not answer delays no copy: the statuses have a queue of their own.
import { Registry } from "prom-client";
import {
  changedConditions,
  exportConditions,
  type WantedCondition,
} from "../../decide/syncing/export-conditions.ts";
import { mergeExports } from "../../decide/syncing/merge-exports.ts";
import { exportedOf, type ServiceOffer } from "../../decide/syncing/service-offer.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { objectPath, splitObjectKey } from "../../kube/kinds/kind.ts";
import { resourceVersionOf } from "../../kube/kinds/metadata.ts";
import { type ServiceExport, serviceExportKind } from "../../kube/kinds/service-export.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { type SyncMetrics, syncMetrics } from "./sync-metrics.ts";
import type { SyncSource } from "./sync-source.ts";

export interface ExportStatusesOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  /** By cluster whose exports get a status, the client that writes it. */
  readonly clients: ReadonlyMap<string, KubeClient>;
  readonly sources: readonly SyncSource[];
  /** The cluster that imports the services. */
  readonly target: string;
  readonly metrics?: Registry;
}

const requestDeadlineMs = 30_000;

/** Each cluster may be slow; one of them has to leave room for the others. */
const workers = 4;

/** The next event of the export brings a dropped key back. */
const maxRetries = 5;

/** Two writers that disagree replace each other's conditions only once in this time. */
const rewriteAfterMs = 60_000;

/** So long no write is tried after one was forbidden; the next resync after it tries again. */
const forbiddenMs = 5 * 60_000;

/** As a rule the watch has shown the newer version until then. */
const conflictWaitMs = 1_000;

/** Of `cluster namespace/name`: what to write, and what was. */
interface Entry {
  wanted: readonly WantedCondition[];
  /** Written last: the conditions, when, and on which version of the export. */
  written?: { readonly text: string; readonly atMs: MonotonicMs; readonly onVersion: string };
}

export class ExportStatuses {
  readonly #options: ExportStatusesOptions;
  readonly #queue: Workqueue;
  readonly #metrics: SyncMetrics;
  /** Only of exports that exist. */
  readonly #entries = new Map<string, Entry>();
  /** By cluster that refuses writes, when it last did. */
  readonly #forbidden = new Map<string, MonotonicMs>();

  constructor(options: ExportStatusesOptions) {
    const { clock, timers, metrics } = options;
    this.#options = options;
    this.#metrics = syncMetrics(metrics ?? new Registry());
    this.#queue = new Workqueue({ clock, timers, name: "sync-export-status" });
  }

  /** The service has just been planned for, and the copies are as this plan wants them. */
  note(service: string, offers: readonly ServiceOffer[], blocked: string | undefined): void {
    const { clients, sources, target } = this.#options;
    const { namespace, name } = splitObjectKey(service);
    const isKnown = offers.every((offer) => offer.isKnown && offer.isRemembered !== true);
    const merged = isKnown ? mergeExports(exportedOf(offers)) : undefined;
    for (const source of sources) {
      const key = `${source.cluster} ${service}`;
      const found =
        source.isListed && clients.has(source.cluster) && source.exportOf(namespace, name);
      if (found === undefined || found === false) {
        if (source.isListed) this.#entries.delete(key);
        continue;
      }
      const offer = offers.find(({ cluster }) => cluster === source.cluster);
      const present = source.service(namespace, name);
      // It is not offered for a reason that an event will end.
      if (offer?.service === undefined && offer?.isKnown !== true) continue;
      const wanted = exportConditions({ service: present, target, blocked, merged });
      const entry = this.#entries.get(key) ?? { wanted };
      entry.wanted = wanted;
      this.#entries.set(key, entry);
      if (this.#change(source, key, entry, found) !== undefined) this.#queue.add(key);
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    const sync = (key: string, stop: AbortSignal) => this.#write(key, stop);
    await runWorkers({ queue: this.#queue, workers, sync, maxRetries, log, signal });
  }

  stop(): void {
    this.#queue.shutDown();
  }

  async #write(key: string, signal: AbortSignal): Promise<void> {
    const { clients, sources, clock } = this.#options;
    const [cluster = "", service = ""] = key.split(" ");
    const { namespace, name } = splitObjectKey(service);
    const source = sources.find((one) => one.cluster === cluster);
    const client = clients.get(cluster);
    const entry = this.#entries.get(key);
    const found = source?.exportOf(namespace, name);
    const version = source?.exportVersion;
    if (!source || !client || !entry || !found || version === undefined) return;
    const conditions = this.#change(source, key, entry, found);
    if (conditions === undefined) return;
    const { resourceVersion } = found.metadata;
    const labels = { target: cluster, kind: "ServiceExport" } as const;
    entry.written = {
      text: JSON.stringify(entry.wanted),
      atMs: clock.monotonicMs(),
      onVersion: resourceVersion,
    };
    try {
      const answer = await client.request({
        verb: "patch",
        method: "PATCH",
        path: objectPath(serviceExportKind(version), found.metadata, "status"),
        contentType: "application/merge-patch+json",
        body: { metadata: { resourceVersion }, status: { conditions } },
        deadlineMs: requestDeadlineMs,
        signal,
      });
      this.#metrics.writes.inc({ ...labels, type: "update" });
      if (resourceVersionOf(parseJson(answer)) === resourceVersion) {
        this.#metrics.noopWrites.inc(labels);
      }
    } catch (error) {
      delete entry.written;
      if (error instanceof StatusError && error.code === 403) {
        this.#forbidden.set(cluster, clock.monotonicMs());
        return;
      }
      if (!(error instanceof StatusError)) throw error;
      // The export has changed or is gone, and its event follows.
      if (error.code !== 409 && error.code !== 404) throw error;
      this.#metrics.conflicts.inc(labels);
      this.#queue.addAfter(key, conflictWaitMs);
    }
  }

  /** Undefined when the export has the conditions, or will have them by the last write. */
  #change(source: SyncSource, key: string, entry: Entry, found: ServiceExport) {
    const { clock } = this.#options;
    const forbiddenAtMs = this.#forbidden.get(source.cluster);
    if (forbiddenAtMs !== undefined) {
      if (elapsedMs(forbiddenAtMs, clock.monotonicMs()) < forbiddenMs) return undefined;
    }
    const now = new Date(clock.wallMs()).toISOString().replace(/\.\d+Z$/, "Z");
    const conditions = changedConditions(found, entry.wanted, now);
    const { written } = entry;
    if (conditions === undefined || written === undefined) return conditions;
    if (written.text !== JSON.stringify(entry.wanted)) {
      return written.onVersion === found.metadata.resourceVersion ? undefined : conditions;
    }
    const agoMs = elapsedMs(written.atMs, clock.monotonicMs());
    if (agoMs >= rewriteAfterMs) return conditions;
    this.#queue.addAfter(key, rewriteAfterMs - agoMs);
    return undefined;
  }
}
