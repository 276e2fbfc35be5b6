// The incident `heartbeat-flap`: a busy kubelet reports every 20 to 50 s. After 40 s of silence the
// controller marks every pod of the node as not ready, although the pods keep serving. Lockstep probes
// them. A node that is really dead must still be removed. The ledger, which knows the real pods, judges
// what each replica routed to.
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { connectTimeoutMs } from "../../../outputs/nginx/twin-proxy.ts";
import { probeTimeoutMs } from "../../../sources/probe-once.ts";
import { probeEveryMs } from "../../../sources/probes.ts";
import { reportEveryMs } from "../../../sources/proxy-feedback.ts";
import type { Observation } from "../../../timeline/observation.ts";
import { replicaNames, replicas, type SideName } from "../../comparison/side.ts";
import type { Ledger } from "../../kubelet/ledger.ts";
import { shopReplicas, shopService } from "../../shop.ts";
import { lossOf, type Tally } from "../../traffic/tally.ts";
import type { TrafficResult } from "../../traffic/traffic-result.ts";
import type { Incident, IncidentFindings } from "../incident.ts";
import { defaultRequestsPerSecond, Scene } from "../scene.ts";
import type { OpenStage, Stage } from "../stage.ts";
import type { SameInstant } from "../usual-findings.ts";
import { findingsOf } from "./figures.ts";
import {
  type LateNodes,
  type LateNodesFindings,
  NodeWatch,
  timelyCluster,
  timelyMsOf,
  watchLateNodes,
} from "./late-nodes.ts";
import { type HeartbeatFlapSettings, leaseSettings, settingsOf } from "./settings.ts";

export const heartbeatFlap: Incident = {
  name: "heartbeat-flap",
  rule: "late-heartbeats",
  summary: "an endpoint of a healthy pod is ready, then not ready, then ready again",
  cause:
    "a busy kubelet reports every 20 to 50 s, and the controller waits for 40 s; each missed report " +
    "marks all pods of the node unready until the kubelet corrects it",
  fix: "--node-monitor-grace-period=60s of kube-controller-manager",
  play: (open, { fix }) => playHeartbeatFlap(open, { fix }),
};

async function playHeartbeatFlap(
  open: OpenStage,
  { fix }: { readonly fix: boolean },
): Promise<IncidentFindings> {
  const size = await open((stage) => Promise.resolve(stage.size));
  return playFlaps(open, settingsOf(size, { fix }));
}

/** The same with any settings. */
export async function playFlaps(
  open: OpenStage,
  settings: HeartbeatFlapSettings,
): Promise<IncidentFindings> {
  const { late, speed = 1, comparedGraceMs } = settings;
  const isFixed = comparedGraceMs !== undefined;
  const status = await open((stage) => watch(stage, late, "status posts are late"));
  const leases = settings.withLeases ? await playLeases(open, late) : undefined;
  const shop =
    settings.trafficMs === 0
      ? undefined
      : await open((stage) => {
          stage.say("traffic to a shop on a late node");
          return playFlappingShop(stage, { ...late, forMs: settings.trafficMs });
        });
  const die = (graceMs: number): Promise<DeadNode> =>
    open((stage) => {
      stage.say(`a node dies; grace period ${graceMs / 1_000} s`);
      return playDeadNode(stage, { ...late, graceMs });
    });
  const dead = await die(late.graceMs);
  const comparedDead = comparedGraceMs === undefined ? undefined : await die(comparedGraceMs);
  return findingsOf({ late, speed, isFixed, status, leases, shop, dead, comparedDead });
}

/** With timely Leases and a late status, and with late Leases. */
async function playLeases(open: OpenStage, late: LateNodes) {
  const gap = late.gaps.status;
  const few = { ...late, ...leaseSettings };
  const play = (gaps: LateNodes["gaps"], what: string): Promise<LateNodesFindings> =>
    open((stage) => watch(stage, { ...few, gaps }, what));
  const timely = await play(gap === undefined ? {} : { status: gap }, "status late, Leases timely");
  const lateLeases = await play(gap === undefined ? {} : { lease: gap }, "Leases late");
  return { timely, late: lateLeases };
}

function watch(stage: Stage, late: LateNodes, what: string): Promise<LateNodesFindings> {
  stage.say(`${late.nodes} nodes, ${what}`);
  return watchLateNodes(stage, late);
}

/** Endpoints that a side stopped routing to although their pods were alive. */
export interface LiveRemovals {
  readonly count: number;
  /** How long they were missing, added up over endpoints and replicas. */
  readonly outMs: number;
}

export interface FlappingShop {
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly removals: Readonly<Record<SideName, LiveRemovals>>;
  readonly results: readonly TrafficResult[];
  readonly instant: SameInstant;
}

export interface DeadNode {
  /** When it died, on the time of its stage. */
  readonly diedMs: number;
  /** From its death until the controller marked it as lost. */
  readonly noticedMs: number | undefined;
  /** Until its endpoints were no longer published. */
  readonly unpublishedMs: number | undefined;
  /** Until no replica of a side routed to any of them; undefined when one still does. */
  readonly unroutedMs: Readonly<Record<SideName, number | undefined>>;
  /** The longest time that Lockstep's own bounds allow for it. */
  readonly allowedMs: number;
  readonly tallies: Readonly<Record<SideName, Tally>>;
  /** Requests sent after its death; requests in flight at that time are lost on both sides. */
  readonly sent: Readonly<Record<SideName, number>>;
  /** Of these requests. */
  readonly lost: Readonly<Record<SideName, number>>;
  /** Of these requests, those that took Lockstep's connect timeout or longer. */
  readonly slowed: Readonly<Record<SideName, number>>;
  /** Its pods did not answer at all; otherwise they refused connections. */
  readonly isSilent: boolean;
}

type SceneSettings = Pick<LateNodes, "profile" | "graceMs" | "monitorMs" | "timelyMs">;

/** The log lines that count flaps need this verbosity. */
const verbosity = 2;

/** Few requests over a long time, so that they meet flaps of all lengths. */
const requestsPerSecond = 2;

/** Much more than the messages take in virtual time; in real time the machine is busy. */
const messagesMs = 500;

/**
 * Without any event from the cluster: a replica sends a request to each endpoint, the request fails, the
 * proxy reports it, and two probes get no answer; plus the messages in between.
 */
const deadEndpointOutMs =
  (1_000 * shopReplicas * replicas) / defaultRequestsPerSecond +
  connectTimeoutMs +
  reportEveryMs +
  (2 * probeTimeoutMs + probeEveryMs) +
  messagesMs;

/** Added to the grace period: the controller's period, its writes, and the ingress's own time. */
const noticeSlackMs = 30_000;

/** All pods of the shop run on one late node. */
export async function playFlappingShop(stage: Stage, late: LateNodes): Promise<FlappingShop> {
  const scene = await openScene(stage, late, 1);
  for (const kubelet of scene.cluster.kubelets) kubelet.setHeartbeatGaps(late.gaps);
  const traffic = scene.startTraffic(requestsPerSecond);
  await stage.sleep(late.forMs);
  const tallies = await traffic.finish();
  const end = scene.now();
  const removals = (side: SideName): LiveRemovals =>
    liveRemovals(routedBy(scene, side), scene.ledger, end);
  const instant = { observer: end, stageMs: stage.now() };
  await scene.stop();
  return {
    tallies,
    removals: { stock: removals("stock"), lockstep: removals("lockstep") },
    results: traffic.results,
    instant,
  };
}

/** Two nodes have half of the shop each; one loses power. */
export async function playDeadNode(stage: Stage, settings: SceneSettings): Promise<DeadNode> {
  const scene = await openScene(stage, settings, 2);
  const watch = await watchNodes(scene);
  const traffic = scene.startTraffic();
  // At a random moment between two of its heartbeats.
  await stage.sleep((1 + stage.random.next()) * timelyMsOf(settings));
  const died = scene.now();
  const diedMs = stage.now();
  const dead = await killNode(scene);
  await stage.sleep(settings.graceMs + noticeSlackMs);
  const tallies = await traffic.finish();
  const since = (at: MonotonicMs | undefined): number | undefined =>
    at === undefined ? undefined : elapsedMs(died, at);
  const unrouted = (side: SideName): number | undefined =>
    since(latest(leavesOf(scene, side, dead.addresses, died)));
  const count = (side: SideName, counts: (result: TrafficResult) => boolean): number =>
    traffic.results.filter((one) => one.entry === side && one.sentAt >= died && counts(one)).length;
  const isLost = (result: TrafficResult): boolean => lossOf(result) !== undefined;
  const isSlow = ({ sentAt, doneAt }: TrafficResult): boolean =>
    elapsedMs(sentAt, doneAt) >= connectTimeoutMs;
  const published = dead.addresses.map((address) => watch.outSince(address));
  await watch.stop();
  await scene.stop();
  return {
    diedMs,
    noticedMs: since(watch.unknown.find(({ node }) => node === dead.node)?.at),
    unpublishedMs: since(latest(published)),
    unroutedMs: { stock: unrouted("stock"), lockstep: unrouted("lockstep") },
    allowedMs: deadEndpointOutMs,
    tallies,
    sent: { stock: count("stock", () => true), lockstep: count("lockstep", () => true) },
    lost: { stock: count("stock", isLost), lockstep: count("lockstep", isLost) },
    slowed: { stock: count("stock", isSlow), lockstep: count("lockstep", isSlow) },
    isSilent: dead.isSilent,
  };
}

function openScene(stage: Stage, settings: SceneSettings, nodes: number): Promise<Scene> {
  const { profile, graceMs, monitorMs } = settings;
  const flags = {
    v: verbosity,
    "node-monitor-grace-period": graceMs,
    "node-monitor-period": monitorMs,
  };
  return Scene.open(stage, { cluster: { profile, nodes, flags, ...timelyCluster(settings) } });
}

async function watchNodes({ stage, client, cluster }: Scene): Promise<NodeWatch> {
  const watch = new NodeWatch({
    ...stage.environmentOf("observer"),
    client,
    cluster: cluster.name,
    service: shopService,
  });
  await watch.start();
  return watch;
}

function routedBy({ observer }: Scene, side: SideName): readonly Observation[] {
  return observer.routed.filter(({ witness }) => witness.name.startsWith(`${side}-`));
}

/** Pure. The reports are in order; a removal lasts until the same replica's next addition. */
export function liveRemovals(
  reports: readonly Observation[],
  ledger: Pick<Ledger, "aliveAt">,
  end: MonotonicMs,
): LiveRemovals {
  let count = 0;
  let outMs = 0;
  const out = new Map<string, MonotonicMs>();
  for (const { witness, endpoint, direction, at } of reports) {
    const key = `${witness.name} ${endpoint.address}`;
    const since = out.get(key);
    if (direction === "leave" && ledger.aliveAt(endpoint.address, at)) {
      count += 1;
      out.set(key, at);
    } else if (direction === "join" && since !== undefined) {
      outMs += elapsedMs(since, at);
      out.delete(key);
    }
  }
  for (const since of out.values()) outMs += elapsedMs(since, end);
  return { count, outMs };
}

interface KilledNode extends Pick<DeadNode, "isSilent"> {
  readonly node: string;
  /** Of the pods that died with it. */
  readonly addresses: readonly string[];
}

/** The first node of the cluster. */
async function killNode(scene: Scene): Promise<KilledNode> {
  const { ledger, observer } = scene;
  const all = [...new Set(observer.routed.map(({ endpoint }) => endpoint.address))];
  const alive = all.filter((address) => ledger.aliveAt(address, scene.now()));
  const [kubelet] = scene.cluster.kubelets;
  if (kubelet === undefined) throw new Error("the cluster has no nodes");
  const isSilent = scene.stage.powerOff(kubelet.node);
  await kubelet.powerOff();
  const addresses = alive.filter((address) => !ledger.aliveAt(address, scene.now()));
  return { node: kubelet.node, addresses, isSilent };
}

/** When each address left each replica of the side after this instant; undefined if it did not. */
function leavesOf(
  scene: Scene,
  side: SideName,
  addresses: readonly string[],
  since: MonotonicMs,
): readonly (MonotonicMs | undefined)[] {
  const reports = routedBy(scene, side);
  return replicaNames(side).flatMap((replica) =>
    addresses.map((address) => {
      const ofIt = ({ witness, endpoint, at }: Observation): boolean =>
        witness.name === replica && endpoint.address === address && at >= since;
      const last = reports.findLast(ofIt);
      return last?.direction === "leave" ? last.at : undefined;
    }),
  );
}

/** Undefined when there is none, or when one of them is undefined. */
function latest(instants: readonly (MonotonicMs | undefined)[]): MonotonicMs | undefined {
  let last: MonotonicMs | undefined;
  for (const at of instants) {
    if (at === undefined) return undefined;
    if (last === undefined || at > last) last = at;
  }
  return last;
}
