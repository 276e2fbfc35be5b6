// Keeps the Ingresses of an access cluster in step with those of business clusters: one key per
// namespace in a queue, and only those writes that the plan names.
import { Registry } from "prom-client";
import type { SyncWrite } from "../../decide/syncing/sync-write.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { recordAt } from "../../kube/kinds/fields.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { type SyncMetrics, syncMetrics } from "../slices/sync-metrics.ts";
import { SyncConflictError, SyncWriter } from "../slices/sync-writer.ts";
import { UndoneWrites } from "../slices/undone-writes.ts";
import { RuleView, type RuleViewOptions } from "./rule-view.ts";

export interface RuleSyncerOptions extends Omit<RuleViewOptions, "onNamespace"> {
  /** For writes; rate-limited. */
  readonly writeClient: KubeClient;
}

export interface RulesReport {
  readonly ingresses: number;
  /** Why Ingresses or their secrets are not delivered; the first of them. */
  readonly problems: readonly string[];
  readonly problemCount: number;
  readonly pending: number;
  readonly lastError: string | null;
}

const workers = 2;
const maxRetries = 15;

/** A service is copied some milliseconds after its Ingress is read: that is not worth a report. */
export const problemAfterMs = 5_000;

const shownProblems = 20;

interface Problem {
  readonly sinceMs: MonotonicMs;
  isLogged: boolean;
}

export class RuleSyncer {
  readonly view: RuleView;
  readonly #options: RuleSyncerOptions;
  readonly #queue: Workqueue;
  readonly #writer: SyncWriter;
  readonly #metrics: SyncMetrics;
  readonly #undone = new UndoneWrites();
  /** By namespace. */
  readonly #delivered = new Map<string, number>();
  readonly #problems = new Map<string, ReadonlyMap<string, Problem>>();
  #lastError: string | undefined;

  constructor(options: RuleSyncerOptions) {
    const { metrics, clock, timers, log, target } = options;
    this.#options = options;
    this.#queue = new Workqueue({
      clock,
      timers,
      name: `sync-rules-${target.cluster}`,
      ...(metrics === undefined ? {} : { registry: metrics }),
    });
    this.view = new RuleView({
      ...options,
      onNamespace: (namespace, isNews) => {
        if (isNews) this.#undone.news(namespace);
        this.#queue.add(namespace, isNews ? "fresh" : "resync");
      },
    });
    this.#writer = new SyncWriter({
      client: options.writeClient,
      target: this.view.target,
      log,
      ...(metrics === undefined ? {} : { metrics }),
    });
    this.#metrics = syncMetrics(metrics ?? new Registry());
  }

  report(): RulesReport {
    const problems = [...this.#problems.values()].flatMap((one) => [...one.keys()]);
    const { target, sources } = this.view;
    const watches = [target, ...sources].flatMap(({ cluster, problem }) =>
      problem === undefined ? [] : [`ingresses of ${cluster}: ${problem}`],
    );
    const all = [...watches, ...problems];
    return {
      ingresses: [...this.#delivered.values()].reduce((sum, one) => sum + one, 0),
      problems: all.slice(0, shownProblems),
      problemCount: all.length,
      pending: this.#queue.length,
      lastError: this.#lastError ?? null,
    };
  }

  start(): void {
    this.view.start();
  }

  /** Writes until the signal aborts. */
  async work(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    // Objects of an earlier writer are looked at again: each is taken over as it is.
    this.view.lookAgain();
    const sync = (namespace: string, stop: AbortSignal) => this.#syncNoting(namespace, stop);
    await runWorkers({ queue: this.#queue, workers, sync, maxRetries, log, signal });
  }

  async stop(): Promise<void> {
    this.#queue.shutDown();
    await this.view.stop();
  }

  async #syncNoting(namespace: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#sync(namespace, signal);
    } catch (error) {
      if (!(error instanceof SyncConflictError)) {
        const at = new Date(this.#options.clock.wallMs()).toISOString();
        const text = error instanceof Error ? error.message : String(error);
        this.#lastError = `${at} Ingresses of ${namespace}: ${text}`;
      }
      throw error;
    }
  }

  async #sync(namespace: string, signal: AbortSignal): Promise<void> {
    const { log, clock, target } = this.#options;
    const plan = this.view.plan(namespace);
    if (plan === undefined) return;
    this.#noteProblems(namespace, plan.problems);
    for (const write of plan.writes) {
      await this.#writer.apply(write, signal);
      log.info("delivered a change of an Ingress", this.#logFields(write));
    }
    if (plan.delivered === 0) this.#delivered.delete(namespace);
    else this.#delivered.set(namespace, plan.delivered);
    if (plan.writes.length === 0 || !this.#undone.putRight(namespace, clock.monotonicMs())) return;
    log.warn("another client reverts the delivered Ingresses", {
      namespace,
      cluster: target.cluster,
    });
  }

  /** One line for each change: no value of a secret is in it. */
  #logFields(write: SyncWrite) {
    const { type, kind, namespace, name, summary } = write;
    const { clock, target } = this.#options;
    const wallAt = (instant: MonotonicMs): string =>
      new Date(clock.wallMs() - elapsedMs(instant, clock.monotonicMs())).toISOString();
    const [from] = this.view.sources.flatMap((source) => {
      if (clusterOf(write) !== source.cluster) return [];
      const seenAtMs = source.seenAtMs(namespace, name);
      return seenAtMs === undefined ? [] : [{ cluster: source.cluster, readAt: wallAt(seenAtMs) }];
    });
    const writtenAt = wallAt(clock.monotonicMs());
    const place = { object: `${namespace}/${name}`, kind, target: target.cluster };
    return { ...place, change: type, summary, ...from, writtenAt };
  }

  #noteProblems(namespace: string, texts: readonly string[]): void {
    const { clock, log, target } = this.#options;
    const now = clock.monotonicMs();
    const before = this.#problems.get(namespace);
    const problems = new Map(
      texts.map((text) => [text, before?.get(text) ?? { sinceMs: now, isLogged: false }]),
    );
    for (const [problem, { isLogged }] of before ?? []) {
      if (isLogged && !problems.has(problem)) {
        log.info("a problem of an Ingress is over", { problem });
      }
    }
    for (const [problem, one] of problems) {
      const waitMs = problemAfterMs - elapsedMs(one.sinceMs, now);
      if (one.isLogged) continue;
      if (waitMs > 0) this.#queue.addAfter(namespace, Math.ceil(waitMs), "resync");
      else {
        one.isLogged = true;
        log.warn("an Ingress is not delivered as it is", { problem });
      }
    }
    if (problems.size === 0) this.#problems.delete(namespace);
    else this.#problems.set(namespace, problems);
    const count = [...this.#problems.values()].reduce((sum, { size }) => sum + size, 0);
    this.#metrics.ruleProblems.set({ target: target.cluster }, count);
  }
}

/** By the label that the write sets; undefined for a deletion. */
function clusterOf(write: SyncWrite): string | undefined {
  if (write.type === "delete") return undefined;
  const object = write.type === "create" ? write.object : write.patch;
  const labels = recordAt(recordAt(object, "metadata"), "labels");
  const cluster = labels["lockstep.dev/source-cluster"];
  return typeof cluster === "string" ? cluster : undefined;
}
