// The cluster of most incidents: a shop with its Ingress, the stock side and the Lockstep side, an
// observer of every hop, and traffic that the ledger judges. A play breaks something and reads the
// result.

import type { StorageEvent } from "../../apiserver/storage/storage.ts";
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../kube/credentials/credentials.ts";
import type { Journey } from "../../timeline/journey.ts";
import { type Cluster, type ClusterOptions, startCluster } from "../cluster.ts";
import type { SideName } from "../comparison/side.ts";
import { type StageSide, type StageSideOptions, startStageSide } from "../comparison/stage-side.ts";
import { Ledger } from "../kubelet/ledger.ts";
import { HopLedger } from "../observed/hop-ledger.ts";
import {
  createShop,
  createShopIngress,
  publishedServices,
  releaseShop,
  type ShopOptions,
  shopHost,
  shopReplicas,
  shopService,
} from "../shop.ts";
import { lostRequest } from "../traffic/lost-request.ts";
import { type Tally, tallyOf } from "../traffic/tally.ts";
import type { TrafficResult } from "../traffic/traffic-result.ts";
import { TrafficSource } from "../traffic/traffic-source.ts";
import { ShopObserver } from "./shop-observer.ts";
import type { Stage } from "./stage.ts";

export interface SceneOptions {
  /** Differences from a cluster with one API server and two nodes. */
  readonly cluster?: Partial<
    Omit<ClusterOptions, "environmentOf" | "hostOf" | "podNetwork" | "ledger" | "recorder">
  >;
  readonly shop?: ShopOptions;
  /** Called after the shop was created and before the replicas start. */
  readonly beforeReplicas?: (client: KubeClient, cluster: Cluster) => Promise<void>;
  /** The play starts when so many services beside the shop are published. */
  readonly otherServices?: number;
  /** The form that the stock side reads; Endpoints unless given. */
  readonly stockReads?: StageSideOptions["stockReads"];
  /** How a replica reaches the API servers; directly the first one unless given. */
  readonly accessOf?: (replica: string, cluster: Cluster) => ClusterAccess;
}

export interface Traffic {
  /** All results so far, of both sides. */
  readonly results: readonly TrafficResult[];
  /** Stops sending and judges all requests. */
  finish(): Promise<Readonly<Record<SideName, Tally>>>;
}

/** Every pod gets about one request a second. */
export const defaultRequestsPerSecond = 8;

/** In quiet times every change reaches all replicas in this time: one sync of stock and a poll. */
export const settleMs = 5_000;

const lookAgainMs = 1_000;

const clusterName = "blue";

export class Scene {
  readonly stage: Stage;
  readonly ledger: Ledger;
  /** When the shop's endpoints really changed at each hop. */
  readonly hops: HopLedger;
  readonly cluster: Cluster;
  /** The operator's client: at the first API server, with all permissions. */
  readonly client: KubeClient;
  readonly observer: ShopObserver;
  readonly sides: Readonly<Record<SideName, StageSide>>;
  /** From now on every change was made by the play. */
  readonly quietAt: MonotonicMs;
  #isJudged = false;

  private constructor(parts: Omit<Scene, "now" | "release" | "startTraffic" | "stop" | "quietAt">) {
    this.stage = parts.stage;
    this.ledger = parts.ledger;
    this.hops = parts.hops;
    this.cluster = parts.cluster;
    this.client = parts.client;
    this.observer = parts.observer;
    this.sides = parts.sides;
    this.quietAt = this.now();
  }

  /** Resolves when everything is published and routed. */
  static async open(stage: Stage, options: SceneOptions = {}): Promise<Scene> {
    const user = stage.environmentOf("user");
    const ledger = new Ledger(user);
    const hops = shopHops(stage);
    const cluster = await startCluster({
      name: clusterName,
      ports: [6443],
      nodes: 2,
      ...options.cluster,
      environmentOf: (part) => stage.environmentOf(part),
      hostOf: (part) => stage.hostOf(part),
      podNetwork: stage.podNetwork,
      ledger,
      onStored: storedBy(stage, hops),
      ...(stage.recorder !== undefined && { recorder: stage.recorder }),
    });
    const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
    await createShop(client, options.shop);
    await createShopIngress(client);
    await options.beforeReplicas?.(client, cluster);
    const { otherServices = 0 } = options;
    while ((await publishedServices(client)) <= otherServices) await stage.sleep(lookAgainMs);
    const { name } = cluster;
    const observer = new ShopObserver({
      ...stage.environmentOf("observer"),
      client,
      cluster: name,
      onRouted: stage.truth?.routed,
    });
    await observer.start();
    const side = (which: SideName) =>
      startStageSide(which, {
        stage,
        accessOf: (replica) => options.accessOf?.(replica, cluster) ?? cluster.access,
        witnessOf: (replica) => observer.replica(replica),
        hops,
        stockReads: options.stockReads,
      });
    const sides = { stock: await side("stock"), lockstep: await side("lockstep") };
    stage.onObservable?.({ access: cluster.access, ...sides.stock.observable });
    await stage.sleep(settleMs);
    return new Scene({ stage, ledger, hops, cluster, client, observer, sides });
  }

  /** On the observer's clock, as journeys are. */
  now(): MonotonicMs {
    return this.stage.environmentOf("observer").clock.monotonicMs();
  }

  /** Replaces every pod of the shop; resolves when every hop has shown every change. */
  async release(name: string, withinMs: number): Promise<readonly Journey[]> {
    const began = this.now();
    await releaseShop(this.client, name);
    const journeys = () => this.observer.completeSince(began);
    // Every pod is removed once and added once.
    while (journeys().length < 2 * shopReplicas) {
      if (elapsedMs(began, this.now()) > withinMs) {
        const others = this.observer.journeys.filter(
          ({ origin, outcome }) => origin.at >= began && outcome !== "complete",
        );
        throw new Error(
          `${journeys().length} of ${2 * shopReplicas} changes were routed in time. Others: ` +
            others.map(inWords).join("; "),
        );
      }
      await this.stage.sleep(lookAgainMs);
    }
    return journeys();
  }

  /** Sends the same requests at the same moments to both sides. */
  startTraffic(requestsPerSecond = defaultRequestsPerSecond): Traffic {
    const results: TrafficResult[] = [];
    const { stock, lockstep } = this.sides;
    const source = new TrafficSource({
      ...this.stage.environmentOf("clients"),
      entries: [stock, lockstep].map(({ name, entry }) => ({ name, url: entry.url })),
      requestsPerSecond,
      hosts: [shopHost],
      onResult: (result) => results.push(result),
    });
    source.start();
    const finish = async () => {
      await source.finish();
      await Promise.all([stock.readTries(), lockstep.readTries()]);
      return { stock: this.#tally(results, stock), lockstep: this.#tally(results, lockstep) };
    };
    return { results, finish };
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#judgeObserver();
    const { stock, lockstep } = this.sides;
    await Promise.all([stock.stop(), lockstep.stop()]);
    await this.observer.stop();
    await this.cluster.stop();
  }

  /** Before anything is stopped, because stopping is no part of the play. */
  #judgeObserver(): void {
    if (this.#isJudged) return;
    this.#isJudged = true;
    const { journeys } = this.observer;
    this.stage.accuracy.add({ journeys, ledger: this.hops.changes, since: this.quietAt });
  }

  #tally(results: readonly TrafficResult[], side: StageSide): Tally {
    const own = results.filter(({ entry }) => entry === side.name);
    const options = {
      lives: this.ledger,
      upstreamsOf: (result: TrafficResult) => side.upstreams.upstreamsOf(result),
    };
    for (const result of own) {
      const lost = lostRequest(result, options);
      if (lost !== undefined) this.stage.recorder?.lost(lost);
    }
    return tallyOf(own, options);
  }
}

/** The ledger of the shop's hops, on the observer's clock. */
export function shopHops(stage: Stage): HopLedger {
  const { clock } = stage.environmentOf("observer");
  const [namespace = "", name = ""] = shopService.split("/");
  return new HopLedger({ clock, cluster: clusterName, namespace, name });
}

/** A handler for every change that the storage commits. */
export function storedBy({ truth }: Stage, hops: HopLedger): (event: StorageEvent) => void {
  return (event) => {
    hops.stored(event);
    truth?.stored(event);
  };
}

/** One line about a change that a release still waits for. */
function inWords({ direction, endpoint, outcome, hops }: Journey): string {
  const states = hops.map(({ hop, witness, state }) => `${hop} ${witness} ${state.type}`);
  return `${direction} ${endpoint.address} ${outcome} (${states.join(", ")})`;
}
