// Nodes whose kubelets report as late as asked, and the controller that marks nodes as lost: how often a
// live node is marked, and how long a dead one is not noticed. This is a separate run with a few nodes,
// because nodes and services do not wait for each other.
import { setMaxListeners } from "node:events";
import { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { randomBetween } from "../../environment/random.ts";
import { nodeKind } from "../../kube/kinds/node.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { Kubelet, type KubeletOptions } from "../kubelet/kubelet.ts";
import { Ledger } from "../kubelet/ledger.ts";
import { PodAddresses } from "../kubelet/pod-addresses.ts";
import { PodLogBook } from "../kubelet/pod-log-book.ts";
import { combined } from "../probe/interval-counters.ts";
import { type ByVerb, RequestCounters } from "../probe/request-counters.ts";
import { profileNamed } from "../versions/profiles.ts";
import { ControlPlaneRun } from "./control-plane-run.ts";
import { nodeName, probedLabel } from "./population.ts";
import { PublishedWatch } from "./published-watch.ts";
import type { RunProgress } from "./publishing-run.ts";
import type { Question, Settings } from "./question.ts";
import { settingFlags } from "./run-flags.ts";

export interface NodePrediction {
  /** Of one node that is alive all the time. */
  readonly flapsPerHour: number;
  /** How long the endpoints of its pods were missing, at each flap. */
  readonly outages: Spread | undefined;
  /** From the death of a node until it is Unknown, and until its endpoints are removed. */
  readonly noticed: Spread | undefined;
  readonly left: Spread | undefined;
  /** Of one node. */
  readonly requestsPerSecond: ByVerb;
  /** The size of the sample. */
  readonly nodeHours: number;
}

export interface Spread {
  readonly count: number;
  readonly p50Ms: number;
  readonly maxMs: number;
}

export interface NodeRunOptions {
  readonly question: Question;
  /** Of all nodes together. Only tests take fewer than usual. */
  readonly heartbeats?: number;
  readonly onProgress?: (progress: RunProgress) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/** Enough for a rate within 5 %. */
const usualHeartbeats = 1_200;

/** Enough for deaths at different moments. */
const nodes = 16;

/** Nodes that die at the end; with the others alive the zone counts as healthy. */
const dying = 12;

/** For all nodes to register and all pods to be published. */
const settleMs = 60_000;

/** Nodes die at random moments of so long: longer than a monitor period or a heartbeat. */
const deathsMs = 60_000;

/** Beyond the grace period, for the monitor, the writes and the queue. */
const noticeSlackMs = 120_000;

/** Between two looks whether all kubelets have registered their nodes. */
const registeredPollMs = 100;

const progressEveryEvents = 2_000;

const containerPort = 8080;

export function predictNodes(options: NodeRunOptions): Promise<NodePrediction> {
  const { question, heartbeats = usualHeartbeats, onProgress, signal } = options;
  const step = "watching nodes";
  const progress = onProgress && {
    onProgress: ({ nowMs }: { readonly nowMs: number }) => onProgress({ step, virtualMs: nowMs }),
  };
  const { seed, settings } = question;
  const simulated = { seed, progressEveryEvents, ...progress, ...(signal && { signal }) };
  return simulate(simulated, (world) => new NodeRun(world, settings, heartbeats).play());
}

class NodeRun {
  readonly #world: Simulation;
  readonly #settings: Settings;
  readonly #heartbeats: number;
  readonly #plane: ControlPlaneRun;
  readonly #counters: NodeCounters;
  readonly #sent: RequestCounters;
  readonly #kubelets: readonly Kubelet[];
  readonly #stopping = new AbortController();

  constructor(world: Simulation, settings: Settings, heartbeats: number) {
    this.#world = world;
    this.#settings = settings;
    this.#heartbeats = heartbeats;
    const { clock } = world.host("apiserver");
    this.#counters = new NodeCounters(() => world.now());
    this.#sent = new RequestCounters(clock);
    this.#plane = new ControlPlaneRun({
      simulation: world,
      storage: new MemoryStorage({ clock }),
      version: settings.version,
      flags: settingFlags(settings),
      objects: nodeRunObjects(),
    });
    const shared = {
      addresses: new PodAddresses({ clock, network: "10.7" }),
      ledger: new Ledger({ clock }),
      logs: new PodLogBook({ clock }),
    };
    // Every kubelet adds a listener, which is no leak.
    setMaxListeners(0, this.#stopping.signal);
    this.#kubelets = Array.from({ length: nodes }, (_, index) => this.#kubelet(index, shared));
  }

  async play(): Promise<NodePrediction> {
    await this.#plane.startServer();
    const watches = this.#watches();
    for (const watch of watches) await watch.start();
    const { signal } = this.#stopping;
    const running = this.#kubelets.map((kubelet) => kubelet.run(signal));
    try {
      // Up to 1.9 pods on nodes that do not exist yet would be garbage-collected.
      while (this.#counters.known < nodes) await this.#world.sleep(registeredPollMs);
      this.#plane.startManager();
      return await this.#measure();
    } finally {
      this.#stopping.abort(new Error("the run is over"));
      await Promise.all(running);
      for (const watch of watches) await watch.stop();
      await this.#plane.stop();
    }
  }

  async #measure(): Promise<NodePrediction> {
    await this.#world.sleep(settleMs);
    this.#counters.forget();
    const before = this.#sent.read().byVerb;
    const { minMs, maxMs } = this.#settings.heartbeat;
    const windowMs = (this.#heartbeats / nodes) * ((minMs + maxMs) / 2);
    await this.#world.sleep(windowMs);
    const nodeHours = (windowMs / 3_600_000) * nodes;
    const flapsPerHour = this.#counters.flaps / nodeHours;
    const seconds = (windowMs / 1000) * nodes;
    const sent = combined(this.#sent.read().byVerb, before, (to, from) => (to - from) / seconds);
    const outages = spreadOf(this.#counters.outagesMs);
    await this.#killSome();
    return {
      flapsPerHour,
      outages,
      noticed: spreadOf(this.#counters.noticedMs),
      left: spreadOf(this.#counters.leftMs),
      requestsPerSecond: sent,
      nodeHours,
    };
  }

  /** Some nodes lose power, each at a random moment. */
  async #killSome(): Promise<void> {
    const vanishing: Promise<void>[] = [];
    for (const kubelet of this.#kubelets.slice(0, dying)) {
      const atMs = this.#world.now() + randomBetween(this.#world.random, 0, deathsMs);
      this.#world.at(atMs, () => {
        this.#counters.died(kubelet.node);
        vanishing.push(kubelet.powerOff());
      });
    }
    await this.#world.sleep(deathsMs + this.#settings.graceMs + noticeSlackMs);
    await Promise.all(vanishing);
  }

  #kubelet(index: number, shared: Pick<KubeletOptions, "addresses" | "ledger" | "logs">): Kubelet {
    const { heartbeat, version } = this.#settings;
    const { gitVersion, nodes: rules } = profileNamed(version);
    const node = nodeName(index);
    const gap = { minMs: heartbeat.minMs, maxMs: heartbeat.maxMs };
    return new Kubelet({
      ...this.#world.host(node),
      ...shared,
      client: this.#sent.counted(this.#plane.uncountedClientOf(node, "kubelet")),
      cluster: "whatif",
      node,
      rules: { ...rules, version: gitVersion },
      gaps: { [heartbeat.by]: gap },
    });
  }

  /** Watches of the nodes and of the published endpoints of their pods. */
  #watches(): readonly { start(): Promise<void>; stop(): Promise<void> }[] {
    const watcher = this.#world.host("watcher");
    const client = this.#plane.uncountedClientOf("watcher", "watcher");
    const nodeWatch = new Reflector({
      ...watcher,
      client,
      cluster: "whatif",
      kind: nodeKind,
      indexes: {},
      checks: noChecks,
      handlers: [
        ({ object: { metadata, ready } }) =>
          this.#counters.node(metadata.name, ready?.status === "True"),
      ],
    });
    const published = new PublishedWatch({
      ...watcher,
      client,
      form: profileNamed(this.#settings.version).endpointSlices ? "slices" : "endpoints",
      onPublished: (_, isReady, node) => this.#counters.published(node, isReady),
    });
    return [{ start: async () => nodeWatch.start(), stop: () => nodeWatch.stop() }, published];
  }
}

/** One service, and a pod of it on each node. */
function* nodeRunObjects(): Generator<object, void, undefined> {
  const name = "app";
  yield {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels: { [probedLabel.name]: probedLabel.value } },
    spec: { selector: { app: name }, ports: [{ port: 80, targetPort: containerPort }] },
  };
  for (let index = 0; index < nodes; index += 1) {
    yield {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: `${name}-${index}`, labels: { app: name } },
      spec: {
        nodeName: nodeName(index),
        containers: [{ name, image: name, ports: [{ containerPort }] }],
      },
    };
  }
}

function spreadOf(values: readonly number[]): Spread | undefined {
  const sorted = [...values].sort((one, other) => one - other);
  const maxMs = sorted.at(-1);
  if (maxMs === undefined) return undefined;
  return { count: sorted.length, p50Ms: sorted[sorted.length >> 1] ?? maxMs, maxMs };
}

interface NodeHistory {
  isReady: boolean;
  /** When the endpoint was last published as not ready; undefined while it is ready. */
  outSinceMs: number | undefined;
  diedMs: number | undefined;
}

export class NodeCounters {
  /** Of nodes that lived. */
  flaps = 0;
  readonly outagesMs: number[] = [];
  /** From the death of a node: until it was not ready, and until its endpoint was not. */
  readonly noticedMs: number[] = [];
  readonly leftMs: number[] = [];
  readonly #now: () => number;
  readonly #nodes = new Map<string, NodeHistory>();

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Nodes that exist. */
  get known(): number {
    return this.#nodes.size;
  }

  /** Starts counting again; dead nodes are kept. */
  forget(): void {
    this.flaps = 0;
    this.outagesMs.length = 0;
  }

  node(name: string, isReady: boolean): void {
    const node = this.#history(name);
    if (node.isReady && !isReady) {
      if (node.diedMs === undefined) this.flaps += 1;
      else this.noticedMs.push(this.#now() - node.diedMs);
    }
    node.isReady = isReady;
  }

  published(name: string, isReady: boolean): void {
    const node = this.#history(name);
    if (!isReady && node.outSinceMs === undefined) {
      node.outSinceMs = this.#now();
      if (node.diedMs !== undefined) this.leftMs.push(this.#now() - node.diedMs);
    }
    if (isReady && node.outSinceMs !== undefined) {
      this.outagesMs.push(this.#now() - node.outSinceMs);
      node.outSinceMs = undefined;
    }
  }

  /** One that was given up already when it died cannot be noticed any more. */
  died(name: string): void {
    this.#history(name).diedMs = this.#now();
  }

  #history(name: string): NodeHistory {
    const known = this.#nodes.get(name);
    if (known !== undefined) return known;
    const made: NodeHistory = { isReady: false, outSinceMs: undefined, diedMs: undefined };
    this.#nodes.set(name, made);
    return made;
  }
}
