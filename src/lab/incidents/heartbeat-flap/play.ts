// The part of `heartbeat-flap` with traffic: a shop whose node is late while people buy, and a node
// that really dies. What each replica routed to is judged by the ledger, which knows what lived.
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
import { heartbeatFlapGap } from "../write-up-clusters.ts";
import { findingsOf } from "./figures.ts";
import {
  FlapJournal,
  type LateNodes,
  type LateNodesFindings,
  timelyCluster,
  timelyMsOf,
  watchLateNodes,
} from "./late-nodes.ts";

/** Endpoints that a side ceased to route to though they lived. */
export interface LiveRemovals {
  readonly count: number;
  /** How long they were out, of all endpoints and replicas together. */
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
  /** From its death until the controller gave it up. */
  readonly noticedMs: number | undefined;
  /** Until its endpoints were no longer published. */
  readonly unpublishedMs: number | undefined;
  /** Until no replica of a side routed to any of them; undefined when one never ceased. */
  readonly unroutedMs: Readonly<Record<SideName, number | undefined>>;
  /** What Lockstep's own bounds allow for that. */
  readonly allowedMs: number;
  readonly tallies: Readonly<Record<SideName, Tally>>;
  /** Requests after its death: what was under way just then is lost whoever sent it. */
  readonly sent: Readonly<Record<SideName, number>>;
  /** Of these. */
  readonly lost: Readonly<Record<SideName, number>>;
  /** Of the same, those that waited for Lockstep's connect timeout or longer. */
  readonly slowed: Readonly<Record<SideName, number>>;
  /** Its pods answered nothing; otherwise they refused connections. */
  readonly isSilent: boolean;
}

type SceneSettings = Pick<LateNodes, "profile" | "graceMs" | "monitorMs" | "timelyMs">;

/** The lines that count flaps are written from here on. */
const verbosity = 2;

/** A gentle stream for a long time, so that it meets flaps of all lengths. */
const requestsPerSecond = 2;

/** Far more than they take in virtual time; in real time the machine is busy. */
const messagesMs = 500;

/**
 * With traffic alone to go by: until a replica has sent a request to each endpoint, that request has
 * failed, the proxy has said so, and two probes have had no answer; and the messages between.
 */
const deadEndpointOutMs =
  (1_000 * shopReplicas * replicas) / defaultRequestsPerSecond +
  connectTimeoutMs +
  reportEveryMs +
  (2 * probeTimeoutMs + probeEveryMs) +
  messagesMs;

/** Beyond the grace period: the period of the controller, its writes, and the ingress's own time. */
const noticeSlackMs = 30_000;

/** All pods of the shop on one node, which is late. */
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

/** Two nodes with half of the shop each; one is gone from one moment to the next. */
export async function playDeadNode(stage: Stage, settings: SceneSettings): Promise<DeadNode> {
  const scene = await openScene(stage, settings, 2);
  const journal = await journalOf(scene);
  const traffic = scene.startTraffic();
  // Anywhere between two of its heartbeats.
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
  const published = dead.addresses.map((address) => journal.outSince(address));
  await journal.stop();
  await scene.stop();
  return {
    diedMs,
    noticedMs: since(journal.unknown.find(({ node }) => node === dead.node)?.at),
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

async function journalOf({ stage, client, cluster }: Scene): Promise<FlapJournal> {
  const journal = new FlapJournal({
    ...stage.environmentOf("observer"),
    client,
    cluster: cluster.name,
    service: shopService,
  });
  await journal.start();
  return journal;
}

function routedBy({ observer }: Scene, side: SideName): readonly Observation[] {
  return observer.routed.filter(({ witness }) => witness.name.startsWith(`${side}-`));
}

/** Pure: the reports are in order, and each leave lasts until the same replica's next join. */
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
  /** That died with it. */
  readonly addresses: readonly string[];
}

/** Its first node. */
async function killNode(scene: Scene): Promise<KilledNode> {
  const { ledger, observer } = scene;
  const all = [...new Set(observer.routed.map(({ endpoint }) => endpoint.address))];
  const alive = all.filter((address) => ledger.aliveAt(address, scene.now()));
  const [kubelet] = scene.cluster.kubelets;
  if (kubelet === undefined) throw new Error("the cluster has no nodes");
  const isSilent = scene.stage.vanish(kubelet.node);
  await kubelet.vanish();
  const addresses = alive.filter((address) => !ledger.aliveAt(address, scene.now()));
  return { node: kubelet.node, addresses, isSilent };
}

/** When each of these last left each replica of the side after this instant, if it did. */
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

/** Undefined when there is none, or one of them never came. */
function latest(instants: readonly (MonotonicMs | undefined)[]): MonotonicMs | undefined {
  let last: MonotonicMs | undefined;
  for (const at of instants) {
    if (at === undefined) return undefined;
    if (last === undefined || at > last) last = at;
  }
  return last;
}

export interface HeartbeatFlapOptions {
  /** The nodes of the write-up, or others. */
  readonly late: LateNodes;
  /** How long the shop is watched under traffic; not at all when 0. */
  readonly trafficMs: number;
  /** How much faster than in the write-up time runs; as fast unless given. */
  readonly speed?: number;
  /** The grace period before the fix, to see what a dead node cost then; undefined without it. */
  readonly comparedGraceMs?: number;
  /** Also with Leases, late and timely. */
  readonly withLeases: boolean;
}

const writeUpGraceMs = 40_000;
const fixedGraceMs = 60_000;
const monitorMs = 5_000;
const timelyMs = 10_000;

const hourMs = 3_600_000;

/** Enough heartbeats that chance moves the rate by half a flap an hour. */
const lateNodes = 8;
const lateHours = 8;

/** With Leases the question is whether there are flaps at all. */
const leaseNodes = 4;
const leaseHours = 2;

/** Some ten flaps: by its own limiter a stock ingress controller does not see the shortest. */
const trafficMs = 1_800_000;

/** In real time everything is so much faster: heartbeats, gaps, grace and period alike. */
const liveSpeed = 4;
const liveMs = 60_000;
const liveNodes = 4;

export const heartbeatFlap: Incident = {
  name: "heartbeat-flap",
  summary: "an endpoint of a healthy pod is ready, then not ready, then ready again",
  cause:
    "a busy kubelet reports every 20 to 50 s, and the controller waits for 40 s; each missed report " +
    "marks all pods of the node unready until the kubelet corrects it",
  fix: "--node-monitor-grace-period=60s of kube-controller-manager",
  play: (open, { fix }) => playHeartbeatFlap(open, { fix }),
};

/** As in the write-up, or on a live stage so much faster that it can be watched. */
async function playHeartbeatFlap(
  open: OpenStage,
  { fix }: { readonly fix: boolean },
): Promise<IncidentFindings> {
  const mode = await open((stage) => Promise.resolve(stage.mode));
  const speed = mode === "live" ? liveSpeed : 1;
  const scaled = (ms: number): number => ms / speed;
  const late: LateNodes = {
    profile: "1.7",
    gaps: {
      status: { minMs: scaled(heartbeatFlapGap.minMs), maxMs: scaled(heartbeatFlapGap.maxMs) },
    },
    nodes: mode === "live" ? liveNodes : lateNodes,
    forMs: mode === "live" ? liveMs : lateHours * hourMs,
    graceMs: scaled(fix ? fixedGraceMs : writeUpGraceMs),
    monitorMs: scaled(monitorMs),
    ...(speed === 1 ? {} : { timelyMs: scaled(timelyMs) }),
  };
  return playFlaps(open, {
    late,
    speed,
    trafficMs: mode === "live" ? liveMs : trafficMs,
    withLeases: !fix && mode === "virtual",
    ...(fix ? { comparedGraceMs: scaled(writeUpGraceMs) } : {}),
  });
}

/** The same with any nodes. */
export async function playFlaps(
  open: OpenStage,
  options: HeartbeatFlapOptions,
): Promise<IncidentFindings> {
  const { late, speed = 1, comparedGraceMs } = options;
  const isFixed = comparedGraceMs !== undefined;
  const status = await open((stage) => watch(stage, late, "status posts are late"));
  const leases = options.withLeases ? await playLeases(open, late) : undefined;
  const shop =
    options.trafficMs === 0
      ? undefined
      : await open((stage) => {
          stage.say("a shop on a late node, under traffic");
          return playFlappingShop(stage, { ...late, forMs: options.trafficMs });
        });
  const die = (graceMs: number): Promise<DeadNode> =>
    open((stage) => {
      stage.say(`a node dies; grace ${graceMs / 1_000} s`);
      return playDeadNode(stage, { ...late, graceMs });
    });
  const dead = await die(late.graceMs);
  const comparedDead = comparedGraceMs === undefined ? undefined : await die(comparedGraceMs);
  return {
    ...findingsOf({ late, speed, isFixed, status, leases, shop, dead, comparedDead }),
    fitted: fittedIn(options, dead),
  };
}

/** 1.17.3 with Leases that are as late as the status was, and with Leases that are not. */
async function playLeases(open: OpenStage, late: LateNodes) {
  const gap = late.gaps.status;
  const few = {
    ...late,
    profile: "1.17.3",
    nodes: leaseNodes,
    forMs: leaseHours * hourMs,
  } as const;
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

function fittedIn(
  { late, speed = 1 }: HeartbeatFlapOptions,
  { isSilent }: DeadNode,
): readonly string[] {
  return [
    ...(speed === 1
      ? []
      : [
          `heartbeats, grace period and monitor run ${speed} times faster; status posts of the kubelet do not`,
        ]),
    "heartbeat gaps are distributed evenly; the report gives only their range",
    `${late.nodes} nodes (more nodes give more flaps to count, with the same rate)`,
    ...(isSilent
      ? []
      : ["pods of a dead node refuse connections; on a dead machine connections would time out"]),
  ];
}
