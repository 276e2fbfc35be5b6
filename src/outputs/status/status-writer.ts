// Writes the status of Ingresses while this replica leads: at the start of a term every wrong one,
// and after that each as soon as it changes. A write carries the version it was decided from, so a
// slow one cannot undo a later one. Correct statuses are not written. The end of a term writes
// nothing, so a lost lease leaves every status as it is. If another writer keeps changing the same
// status, the waits between writes grow.
import { Registry } from "prom-client";
import {
  type StatusRule,
  type StatusWrite,
  statusWrite,
} from "../../decide/status/ingress-status.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { type Ingress, ingressKind, type LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import { objectKey, objectPath, splitObjectKey } from "../../kube/kinds/kind.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { statusMetrics } from "./status-metrics.ts";

/** The Ingresses and classes as the ingress itself watches them. */
export interface AskedIngresses {
  ingress(namespace: string, name: string): Ingress | undefined;
  ingresses(): readonly Ingress[];
  classes(): readonly IngressClass[];
  /** Whether it is known which Ingresses are ours. */
  readonly settled: boolean;
  /** Calls back with the key of each Ingress that may have changed, until it is left. */
  follow(listener: (key: string) => void): () => void;
}

export interface StatusWriterOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  /** Fenced: sends no write once the lock is lost. */
  readonly client: KubeClient;
  readonly asked: AskedIngresses;
  readonly className: StatusRule["className"];
  readonly addresses: readonly LoadBalancerAddress[];
  /**
   * Resolves when the proxy routes by this Ingress: a client that sees the address may come at
   * once, and must not get a 404. Nothing is waited for when absent.
   */
  readonly untilRouted?: (ingress: Ingress, signal: AbortSignal) => Promise<void>;
  readonly metrics?: Registry;
}

/** One Ingress waits for one write; the client's limit is what holds many of them back. */
const workers = 10;

/** As Kubernetes' controllers; the next change of the Ingress or resync brings a dropped one back. */
const maxRetries = 15;

/** A permission that was missing may have been given since: nothing else would tell. */
export const resyncEveryMs = 600_000;

/** Of one request, the wait for our own rate limit included. */
const requestDeadlineMs = 30_000;

const lookAgainMs = 20;

/**
 * One Ingress is written again after so long. A leader that was deposed and has not noticed yet would
 * otherwise answer each of our writes with its own; by then it has tried to renew, and knows.
 */
export const rewriteAfterMs = 5_000;

/** Each time another writer changes the status, the wait doubles, up to this. */
const rewriteAfterMaxMs = 300_000;

export class StatusWriter {
  readonly #options: StatusWriterOptions;
  readonly #metrics: ReturnType<typeof statusMetrics>;

  constructor(options: StatusWriterOptions) {
    this.#options = options;
    this.#metrics = statusMetrics(options.metrics ?? new Registry());
  }

  /** One term: writes until the signal aborts. */
  async run(leading: AbortSignal): Promise<void> {
    const { clock, timers, log, asked } = this.#options;
    if (!(await this.#settled(leading))) return;
    const queue = new Workqueue({ clock, timers, name: "status", fairness: "namespaces" });
    const leave = asked.follow((key) => queue.add(key));
    const endResyncs = this.#resync(queue);
    const term = { queue, leading, written: new Map<string, Written>() };
    const sync = (key: string) => this.#sync(key, term);
    try {
      await runWorkers({ queue, workers, sync, maxRetries, log, signal: leading });
    } finally {
      endResyncs();
      leave();
      queue.shutDown();
    }
  }

  /** Every Ingress, now and again; returns how to end it. */
  #resync(queue: Workqueue): () => void {
    const { timers, asked } = this.#options;
    let cancel: CancelTimer | undefined;
    const resync = (): void => {
      for (const { metadata } of asked.ingresses()) queue.add(objectKey(metadata), "resync");
      cancel = timers.after(resyncEveryMs, resync);
    };
    resync();
    return () => cancel?.();
  }

  /** False when the term ended first. */
  async #settled(leading: AbortSignal): Promise<boolean> {
    const { timers, asked } = this.#options;
    while (!asked.settled && !leading.aborted) {
      await timers.sleep(lookAgainMs, leading).catch((error: unknown) => {
        if (!leading.aborted) throw error;
      });
    }
    return !leading.aborted;
  }

  async #sync(key: string, { queue, leading, written }: Term): Promise<void> {
    const { clock, log, asked, className, addresses } = this.#options;
    const { namespace, name } = splitObjectKey(key);
    const ingress = asked.ingress(namespace, name);
    if (ingress === undefined) {
      written.delete(key);
      return;
    }
    const write = statusWrite(ingress, { classes: asked.classes(), className, addresses });
    if (write === undefined) return;
    const before = written.get(key);
    const sinceMs = before && elapsedMs(before.at, clock.monotonicMs());
    if (before !== undefined && sinceMs !== undefined && sinceMs < before.restMs) {
      // Rounded up: a wait too short for the clock to show would never be over.
      queue.addAfter(key, Math.ceil(before.restMs - sinceMs));
      return;
    }
    await this.#options.untilRouted?.(ingress, leading);
    await this.#write(write, leading);
    const restMs = restAfter(before, sinceMs);
    written.set(key, { at: clock.monotonicMs(), restMs });
    if (restMs === rewriteAfterMs) return;
    log.warn("another client also writes the status of an Ingress", { ingress: key, restMs });
  }

  async #write(write: StatusWrite, signal: AbortSignal): Promise<void> {
    const { client, log } = this.#options;
    try {
      await client.request({ ...requestOf(write), deadlineMs: requestDeadlineMs, signal });
      this.#metrics.writes.inc({ outcome: "written" });
      const { namespace, name, addresses } = write;
      log.debug("wrote the status of an Ingress", { namespace, ingress: name, addresses });
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return;
      const isConflict = error instanceof StatusError && error.code === 409;
      if (!signal.aborted)
        this.#metrics.writes.inc({ outcome: isConflict ? "conflict" : "failed" });
      throw error;
    }
  }
}

interface Term {
  readonly queue: Workqueue;
  readonly leading: AbortSignal;
  /** Of each Ingress that still exists, the last write. */
  readonly written: Map<string, Written>;
}

interface Written {
  readonly at: MonotonicMs;
  /** How long it is left as it is, whatever becomes of it. */
  readonly restMs: number;
}

/** A status that was changed again soon after its rest gets a longer rest. */
function restAfter(before: Written | undefined, sinceMs = Infinity): number {
  if (before === undefined || sinceMs >= 2 * before.restMs) return rewriteAfterMs;
  return Math.min(2 * before.restMs, rewriteAfterMaxMs);
}

/** The version makes the server refuse the patch when the Ingress has changed meanwhile. */
function requestOf({ namespace, name, resourceVersion, addresses }: StatusWrite) {
  const ingress = addresses.map(({ ip, hostname }) => (ip === "" ? { hostname } : { ip }));
  return {
    verb: "patch",
    method: "PATCH",
    path: objectPath(ingressKind, { namespace, name }, "status"),
    contentType: "application/merge-patch+json",
    body: { metadata: { resourceVersion }, status: { loadBalancer: { ingress } } },
  } as const;
}
