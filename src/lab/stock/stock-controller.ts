// The stock ingress controller, a model of ingress-nginx (see `ingress-nginx.ts`): one queue, one
// worker, at most one sync in 3.3 s, each of which builds everything again. The real queue holds an
// element per event and skips those older than the last sync's start; that is what a work queue with
// a single key does, whose key comes back when an event arrives during a sync.
import type { Registry } from "prom-client";
import type { Environment } from "../../environment/environment.ts";
import { jitter } from "../../environment/random.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { ingressNginx } from "./ingress-nginx.ts";
import {
  changeBetween,
  emptyConfiguration,
  type StockBackend,
  type StockConfiguration,
} from "./stock-configuration.ts";
import { StockLeader, type StockLeaderOptions } from "./stock-leader.ts";
import type { StockPlane } from "./stock-plane.ts";
import { StockWatches, type StockWatchesOptions } from "./stock-watches.ts";

export interface StockControllerOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log">,
    Omit<StockWatchesOptions, "onChange"> {
  /** Started and stopped by the controller. */
  readonly plane: StockPlane;
  /** Competes for the lock and writes status while it leads; does neither when absent. */
  readonly leader?: StockLeading;
  readonly metrics?: Registry;
}

/** The options of a replica as a leader, besides those as a proxy. */
export type StockLeading = Omit<
  StockLeaderOptions,
  keyof Pick<Environment, "clock" | "timers" | "random" | "log"> | "client" | "ingresses"
>;

/** Counts of the controller since its start. */
export interface StockCounts {
  readonly syncs: number;
  /** Of these, the ones that found nothing to do. */
  readonly idleSyncs: number;
  readonly failedSyncs: number;
  readonly reloads: number;
  readonly pushes: number;
}

/** The only key of the queue: every sync is of everything. */
const everything = "sync";

export class StockController {
  /** Undefined when it does not compete. */
  readonly leader: StockLeader | undefined;
  readonly #options: StockControllerOptions;
  readonly #queue: Workqueue;
  readonly #watches: StockWatches;
  readonly #syncLimit: TokenBucket;
  readonly #abort = new AbortController();
  readonly #counts = { syncs: 0, idleSyncs: 0, failedSyncs: 0, reloads: 0, pushes: 0 };
  /** The last configuration that reached the proxy in full; a sync that fails half way keeps it. */
  #running: StockConfiguration = emptyConfiguration;
  #work: Promise<void> | undefined;

  constructor(options: StockControllerOptions) {
    this.#options = options;
    const { clock, timers } = options;
    this.#queue = new Workqueue({ clock, timers, name: "stock" });
    this.#watches = new StockWatches({ ...options, onChange: () => this.#queue.add(everything) });
    this.#syncLimit = new TokenBucket({
      clock,
      timers,
      qps: ingressNginx.syncsPerSecond,
      burst: ingressNginx.syncBurst,
    });
    const ingresses = () => this.#watches.ingresses();
    this.leader = options.leader && new StockLeader({ ...options, ...options.leader, ingresses });
  }

  get counts(): StockCounts {
    return { ...this.#counts };
  }

  /** Resolves when the proxy runs; it knows no route before the first sync. */
  async start(): Promise<void> {
    await this.#options.plane.start();
    this.#watches.start();
    this.#work ??= this.#run();
  }

  /** Resolves when the proxy, the watches and the worker have ended. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the stock controller is stopping"));
    this.#queue.shutDown();
    await this.#work;
    await this.leader?.stop();
    await Promise.all([this.#watches.stop(), this.#options.plane.stop()]);
  }

  async #run(): Promise<void> {
    const { log } = this.#options;
    const { signal } = this.#abort;
    try {
      await this.#watches.waitForSync(signal);
    } catch (error) {
      if (signal.aborted) return;
      throw error;
    }
    this.leader?.start();
    this.#queue.add(everything);
    // A failed sync is repeated for ever: nothing else would bring the endpoints back.
    const maxRetries = Number.POSITIVE_INFINITY;
    const sync = () => this.#sync(signal);
    await runWorkers({ queue: this.#queue, workers: 1, sync, maxRetries, log, signal });
  }

  /** syncIngress in internal/ingress/controller/controller.go. */
  async #sync(signal: AbortSignal): Promise<void> {
    await this.#syncLimit.wait(signal);
    this.#counts.syncs += 1;
    try {
      await this.#apply(this.#watches.configuration(), signal);
    } catch (error) {
      if (!signal.aborted) {
        this.#counts.failedSyncs += 1;
        this.#options.log.warn("a sync failed, and with it every endpoint change", { error });
      }
      throw error;
    }
  }

  /** A refused configuration ends the sync before the backends: one bad route freezes them all. */
  async #apply(wanted: StockConfiguration, signal: AbortSignal): Promise<void> {
    const change = changeBetween(this.#running, wanted);
    if (change === "nothing") {
      this.#counts.idleSyncs += 1;
      return;
    }
    if (change === "routes") {
      await this.#options.plane.reload(wanted.servers, signal);
      this.#counts.reloads += 1;
    }
    if (this.#running === emptyConfiguration) {
      await this.#options.timers.sleep(ingressNginx.firstSyncPauseMs, signal);
    }
    await this.#push(wanted.backends, signal);
    this.#counts.pushes += 1;
    this.#running = wanted;
  }

  async #push(backends: readonly StockBackend[], signal: AbortSignal): Promise<void> {
    const { plane, timers, random, log } = this.#options;
    let pauseMs: number = ingressNginx.pushPauseMs;
    for (let triesLeft = ingressNginx.pushTries - 1; ; triesLeft -= 1) {
      try {
        await plane.push(backends, signal);
        return;
      } catch (error) {
        if (signal.aborted || triesLeft === 0) throw error;
        log.debug("the proxy did not take the backends", { triesLeft, error });
      }
      await timers.sleep(jitter(random, pauseMs, ingressNginx.pushPauseJitter), signal);
      pauseMs *= ingressNginx.pushPauseFactor;
    }
  }
}
