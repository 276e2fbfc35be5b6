// Nodes whose kubelets report late for hours, each with one pod of one service; and a watch of them that
// uses only what an operator has: the controller manager's log, and watches of nodes, Leases, pods and
// Endpoints. There is no traffic: it counts how often the control plane is wrong, and for how long.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { type Endpoints, endpointsKind } from "../../../kube/kinds/endpoints.ts";
import { type Kind, objectPath, type Projected } from "../../../kube/kinds/kind.ts";
import { leaseKind } from "../../../kube/kinds/lease.ts";
import { nodeKind } from "../../../kube/kinds/node.ts";
import { podKind } from "../../../kube/kinds/pod.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import type { ChangeHandler } from "../../../kube/reflector/reflector-delivery.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";
import { type ClusterOptions, startCluster } from "../../cluster.ts";
import { componentPodName } from "../../controllers/component-pod.ts";
import { nodeLeaseNamespace } from "../../controllers/informers.ts";
import { controllerManager, controlPlaneNode } from "../../controllers/kube-controllers.ts";
import type { HeartbeatGaps } from "../../kubelet/heartbeat-gaps.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import type { ProfileName } from "../../versions/profiles.ts";
import type { Stage } from "../stage.ts";

export interface LateNodes {
  readonly profile: ProfileName;
  readonly gaps: HeartbeatGaps;
  readonly nodes: number;
  readonly forMs: number;
  /** `--node-monitor-grace-period` and `--node-monitor-period`. */
  readonly graceMs: number;
  readonly monitorMs: number;
  /** Heartbeat period of nodes that are not late; 10 s unless given. */
  readonly timelyMs?: number;
}

export interface LateNodesFindings {
  readonly flaps: number;
  /** Of all nodes, as the API server received them. */
  readonly heartbeats: number;
  readonly nodeHours: number;
  /** How long the endpoint of a live pod was missing, shortest first. */
  readonly outagesMs: readonly number[];
  readonly missedLinesAtOnce: number | undefined;
  readonly shareOfFlipsInTime: number | undefined;
  /** On the stage's time: when the nodes became late, and when each one was marked as lost. */
  readonly beganMs: number;
  readonly flips: readonly { readonly node: string; readonly atMs: number }[];
}

/** The default of the kubelet. */
const defaultTimelyMs = 10_000;

/** Heartbeats until all nodes are registered and all pods are published. */
const settleHeartbeats = 6;

/** The log lines that count flaps need this verbosity, in all versions. */
const verbosity = 2;

export async function watchLateNodes(stage: Stage, late: LateNodes): Promise<LateNodesFindings> {
  const user = stage.environmentOf("user");
  const cluster = await startCluster({
    name: "blue",
    environmentOf: (part) => stage.environmentOf(part),
    hostOf: (part) => stage.hostOf(part),
    podNetwork: stage.podNetwork,
    ports: [6443],
    nodes: late.nodes,
    ...timelyCluster(late),
    profile: late.profile,
    flags: {
      v: verbosity,
      "node-monitor-grace-period": late.graceMs,
      "node-monitor-period": late.monitorMs,
    },
    ledger: new Ledger(user),
  });
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
  const service = await createService(client, late.nodes);
  await stage.sleep(settleHeartbeats * timelyMsOf(late));
  const watch = new NodeWatch({ ...user, client, cluster: cluster.name, service });
  await watch.start();
  for (const kubelet of cluster.kubelets) kubelet.setHeartbeatGaps(late.gaps);
  stage.onTrouble?.(cluster.access);
  const began = user.clock.monotonicMs();
  const beganMs = stage.now();
  await stage.sleep(late.forMs);
  await watch.stop();
  await cluster.stop();
  const names = cluster.kubelets.map(({ node }) => node);
  const flips = watch.flips.filter(({ node }) => names.includes(node));
  return {
    flaps: flips.length,
    heartbeats: watch.heartbeats(names),
    nodeHours: (late.nodes * late.forMs) / 3_600_000,
    outagesMs: outageLengths(watch.outages),
    missedLinesAtOnce: watch.missedLinesAtOnce,
    shareOfFlipsInTime: watch.shareOfFlipsInTime,
    beganMs,
    flips: flips.map(({ node, at }) => ({ node, atMs: beganMs + elapsedMs(began, at) })),
  };
}

/** The heartbeats of a cluster before any node is late. */
export function timelyCluster(
  late: Pick<LateNodes, "timelyMs">,
): Pick<ClusterOptions, "heartbeatGaps"> {
  const { timelyMs } = late;
  if (timelyMs === undefined) return {};
  const gap = { minMs: timelyMs, maxMs: timelyMs };
  return { heartbeatGaps: { status: gap, lease: gap } };
}

export function timelyMsOf({ timelyMs = defaultTimelyMs }: Pick<LateNodes, "timelyMs">): number {
  return timelyMs;
}

export interface NodeWatchOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** `namespace/name` of the service whose endpoints are watched. */
  readonly service: string;
}

export interface Flip {
  readonly node: string;
  readonly at: MonotonicMs;
}

/** An address of the service that was published as not ready for a while. */
export interface Outage {
  readonly address: string;
  readonly from: MonotonicMs;
  readonly to: MonotonicMs;
}

const recordedLine = /Recording status change .*NodeNotReady/;
const nodeOfLine = /(?:for node |node=")([^\s"]+)"?$/;
const missedLine = /[Nn]ode .*hasn't been updated/;

export class NodeWatch {
  readonly #options: NodeWatchOptions;
  readonly #reflectors: {
    start(): void;
    waitForSync(signal?: AbortSignal): Promise<void>;
    stop(): Promise<void>;
  }[];
  readonly #stopping = new AbortController();
  #following: Promise<void> = Promise.resolve();
  readonly #heartbeats = new Map<string, number>();
  readonly #flips: Flip[] = [];
  readonly #unknown: Flip[] = [];
  #missedLines = 0;
  readonly #missedMoments = new Set<string>();
  readonly #out = new Map<string, MonotonicMs>();
  readonly #outages: Outage[] = [];
  #podFlips = 0;
  #podFlipsInTime = 0;

  constructor(options: NodeWatchOptions) {
    this.#options = options;
    this.#reflectors = [
      this.#watch(nodeKind, (change) => {
        if (change.type !== "updated") return;
        const { object, previous } = change;
        const { name } = object.metadata;
        if (object.ready?.lastHeartbeatTime !== previous.ready?.lastHeartbeatTime) this.#beat(name);
        const isLost = object.ready?.status === "Unknown" && previous.ready?.status !== "Unknown";
        if (isLost) this.#unknown.push({ node: name, at: this.#now() });
      }),
      this.#watch(
        leaseKind,
        (change) => {
          if (change.type !== "updated") return;
          const { object, previous } = change;
          if (object.renewTime !== previous.renewTime) this.#beat(object.metadata.name);
        },
        { namespace: nodeLeaseNamespace },
      ),
      this.#watch(podKind, (change) => {
        if (change.type !== "updated") return;
        const { object, previous } = change;
        if (previous.ready !== "True" || object.ready !== "False") return;
        this.#podFlips += 1;
        const isNew = object.readyTransitionTime !== previous.readyTransitionTime;
        if (isNew) this.#podFlipsInTime += 1;
      }),
      this.#watch(endpointsKind, ({ object }) => this.#published(object)),
    ];
  }

  async start(): Promise<void> {
    for (const reflector of this.#reflectors) reflector.start();
    await Promise.all(this.#reflectors.map((reflector) => reflector.waitForSync()));
    this.#following = this.#followLog();
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the journal is closed"));
    await Promise.all(this.#reflectors.map((reflector) => reflector.stop()));
    await this.#following;
  }

  /** Nodes that were marked as lost, from the log. */
  get flips(): readonly Flip[] {
    return this.#flips;
  }

  /** The same, from the nodes' conditions. */
  get unknown(): readonly Flip[] {
    return this.#unknown;
  }

  get outages(): readonly Outage[] {
    return this.#outages;
  }

  /** When an address was published as not ready; undefined when it is ready. */
  outSince(address: string): MonotonicMs | undefined {
    return this.#out.get(address);
  }

  /** Of these nodes: status posts and renewals of the Lease. */
  heartbeats(nodes: readonly string[]): number {
    return nodes.reduce((sum, node) => sum + (this.#heartbeats.get(node) ?? 0), 0);
  }

  /** Log lines about one silent node per check. */
  get missedLinesAtOnce(): number | undefined {
    const { size } = this.#missedMoments;
    return size === 0 ? undefined : this.#missedLines / size;
  }

  /** The share of pods marked not ready that got a new lastTransitionTime. */
  get shareOfFlipsInTime(): number | undefined {
    return this.#podFlips === 0 ? undefined : this.#podFlipsInTime / this.#podFlips;
  }

  #now(): MonotonicMs {
    return this.#options.clock.monotonicMs();
  }

  #beat(node: string): void {
    this.#heartbeats.set(node, (this.#heartbeats.get(node) ?? 0) + 1);
  }

  #published({ metadata, subsets }: Endpoints): void {
    if (`${metadata.namespace}/${metadata.name}` !== this.#options.service) return;
    const now = this.#now();
    const absent = new Set(subsets.flatMap((one) => one.notReadyAddresses.map(({ ip }) => ip)));
    for (const address of absent) {
      if (!this.#out.has(address)) this.#out.set(address, now);
    }
    for (const [address, from] of this.#out) {
      if (absent.has(address)) continue;
      this.#out.delete(address);
      this.#outages.push({ address, from, to: now });
    }
  }

  /** `kubectl logs --follow`, from now on. */
  async #followLog(): Promise<void> {
    const pod = componentPodName(controllerManager, controlPlaneNode);
    const path = `${objectPath(podKind, pod, "log")}?follow=true&tailLines=0`;
    const { signal } = this.#stopping;
    try {
      const { body } = await this.#options.client.stream({
        verb: "get",
        method: "GET",
        path,
        signal,
      });
      let rest = "";
      for await (const chunk of body) {
        const lines = (rest + Buffer.from(chunk).toString("utf8")).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) this.#read(line);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #read(line: string): void {
    if (missedLine.test(line)) {
      this.#missedLines += 1;
      const node = /node (\S+) |node="([^"]+)"/.exec(line);
      // Lines of one check have the same second; checks are seconds apart.
      this.#missedMoments.add(`${line.slice(0, 14)} ${node?.[1] ?? node?.[2] ?? ""}`);
    }
    if (!recordedLine.test(line)) return;
    const node = nodeOfLine.exec(line)?.[1] ?? "";
    this.#flips.push({ node, at: this.#now() });
  }

  #watch<T extends Projected>(
    kind: Kind<T>,
    handler: ChangeHandler<T>,
    scope: { readonly namespace?: string } = {},
  ): Reflector<T> {
    const options = { ...this.#options, ...scope, checks: noChecks, kind, indexes: {} };
    return new Reflector({ ...options, handlers: [handler] });
  }
}

/** In milliseconds, shortest first. */
export function outageLengths(outages: readonly Outage[]): readonly number[] {
  return outages.map(({ from, to }) => elapsedMs(from, to)).toSorted((one, other) => one - other);
}

const name = "steady";
const containerPort = 8080;
const requestDeadlineMs = 30_000;

/** Its `namespace/name`. The scheduler spreads the pods evenly. */
export async function createService(client: KubeClient, pods: number): Promise<string> {
  const labels = { app: name };
  const containers = [{ name, image: name, ports: [{ containerPort }] }];
  await create(client, "/apis/apps/v1/namespaces/default/deployments", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: {
      replicas: pods,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  });
  await create(client, "/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name },
    spec: { selector: labels, ports: [{ port: 80, targetPort: containerPort }] },
  });
  return `default/${name}`;
}

async function create(client: KubeClient, path: string, body: object): Promise<void> {
  const deadlineMs = requestDeadlineMs;
  await client.request({ verb: "create", method: "POST", path, body, deadlineMs });
}
