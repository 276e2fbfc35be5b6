// The incident `heartbeat-flap`: a kubelet busy with its containers reports every 20 to 50 s, and
// after 40 s of silence the controller marks every pod of the node not ready. The pods serve all the
// while. Lockstep asks them; and a node that is really dead must still leave.

import type { Incident, IncidentFindings } from "../incident.ts";
import type { OpenStage, Stage } from "../stage.ts";
import { heartbeatFlapGap } from "../write-up-clusters.ts";
import { findingsOf } from "./figures.ts";
import { type LateNodes, type LateNodesFindings, watchLateNodes } from "./late-nodes.ts";
import { type DeadNode, playDeadNode, playFlappingShop } from "./play.ts";

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
