// The findings of `heartbeat-flap`: figures beside the real binaries, the effect on traffic, and a node
// that really dies. Pure.
import type { Figure } from "../figure.ts";
import type { IncidentFindings, Measure, TimelineEntry } from "../incident.ts";
import { lostSeries, requestMeasures } from "../usual-findings.ts";
import type { LateNodes, LateNodesFindings } from "./late-nodes.ts";
import type { DeadNode, FlappingShop, LiveRemovals } from "./play.ts";

export interface Played {
  readonly late: LateNodes;
  /** How much faster everything is than in the write-up. */
  readonly speed: number;
  /** With the write-up's fix. */
  readonly isFixed: boolean;
  readonly status: LateNodesFindings;
  readonly leases:
    | { readonly timely: LateNodesFindings; readonly late: LateNodesFindings }
    | undefined;
  readonly shop: FlappingShop | undefined;
  readonly dead: DeadNode;
  /** The same with the grace period before the fix. */
  readonly comparedDead: DeadNode | undefined;
}

/** Flaps that the timeline shows before the last one. */
const entriesMax = 3;

/** The late nodes are on stage 1. */
const shopStage = 2;
const deadStage = 3;

/** Entries of all stages, one after the other. */
function timelineOf({ late, status, shop, dead }: Played): readonly TimelineEntry[] {
  return [
    ...flapEntries(status, late),
    ...(shop === undefined ? [] : [shopEntry(shop)]),
    ...deadEntries(dead),
  ];
}

/** The start, the first few flaps and the last one. */
function flapEntries(
  { beganMs, flips }: LateNodesFindings,
  late: LateNodes,
): readonly TimelineEntry[] {
  const { status: gap } = late.gaps;
  const graceText = `${late.graceMs / 1_000} s`;
  const entries = flips.map(({ node, atMs }, index) => ({
    atMs,
    text: `flap ${(index + 1).toLocaleString("en-US")}: ${node} was silent for ${graceText}, its pods are marked not ready`,
  }));
  const began =
    gap === undefined
      ? []
      : [
          {
            atMs: beganMs,
            text:
              `${late.nodes} nodes report every ${gap.minMs / 1_000} to ${gap.maxMs / 1_000} s ` +
              `from now on; the controller waits for ${graceText}`,
          },
        ];
  return [...began, ...entries.slice(0, entriesMax), ...entries.slice(entriesMax).slice(-1)];
}

function shopEntry({ removals: { stock, lockstep }, instant }: FlappingShop): TimelineEntry {
  const howMany = ({ count }: LiveRemovals) => (count === 0 ? "none" : String(count));
  return {
    stage: shopStage,
    atMs: instant.stageMs,
    text:
      "end of the traffic to a shop on such a node. Healthy endpoints removed: " +
      `stock (model) ${howMany(stock)}, Lockstep ${howMany(lockstep)}`,
  };
}

/** When each side and the controller reacted to a dead node. */
function deadEntries({ diedMs, noticedMs, unroutedMs }: DeadNode): readonly TimelineEntry[] {
  const after = (ms: number | undefined, text: string): readonly TimelineEntry[] =>
    ms === undefined ? [] : [{ stage: deadStage, atMs: diedMs + ms, text }];
  return [
    ...after(0, "a node dies, with half of the shop's pods"),
    ...after(unroutedMs.lockstep, "Lockstep sends no more requests to that node"),
    ...after(noticedMs, "the controller marks the node as lost"),
    ...after(unroutedMs.stock, "stock (model) sends no more requests to that node"),
  ].sort((one, other) => one.atMs - other.atMs);
}

export function findingsOf(played: Played): IncidentFindings {
  const { status, shop } = played;
  return {
    timeline: timelineOf(played),
    figures: [...flapFigures(played), ...leaseFigures(played), ...deadFigures(played)],
    measures: [...shopMeasures(shop), ...deadMeasures(played.dead)],
    series: [
      {
        id: "flaps",
        text: "flaps so far",
        unit: "count",
        points: status.flips.map(({ atMs }, index) => [atMs, index + 1]),
      },
      // The shop was on its own stage.
      ...(shop === undefined ? [] : lostSeries(shop.results, shop.instant)).map((one) => ({
        ...one,
        stage: shopStage,
      })),
    ],
    fitted: assumptionsOf(played),
  };
}

function assumptionsOf({ late, speed, dead: { isSilent } }: Played): readonly string[] {
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

/** 97 of 410, with two standard deviations of so many heartbeats. */
const realShare = [0.195, 0.279] as const;

/** The references hold for the write-up's gaps, with its grace period or with that of the fix. */
function flapFigures({ late, speed, isFixed, status }: Played): readonly Figure[] {
  const seen = (text: string, from: number, to: number, value?: number): Figure["expected"] => [
    { source: "real binaries", text, from, to, ...(value !== undefined && { value }) },
  ];
  const perHour = status.flaps / status.nodeHours;
  const longest = status.outagesMs.at(-1);
  return [
    {
      id: "flaps-per-heartbeat",
      text: `flaps per heartbeat, grace period ${late.graceMs / 1_000} s`,
      unit: "share",
      measured: status.flaps / status.heartbeats,
      expected: isFixed ? seen("none", 0, 0) : seen("23.7 % (97 of 410)", ...realShare, 97 / 410),
    },
    {
      id: "flaps-per-hour-and-node",
      text: "flaps per hour and node",
      unit: "count",
      measured: perHour / speed,
      expected: isFixed ? seen("none", 0, 0) : seen("23 to 27", 23, 27),
      isHeadline: true,
    },
    ...(isFixed
      ? []
      : [
          figure(
            "outage-median",
            "outage of an endpoint, median",
            "ms",
            median(status.outagesMs),
            [],
          ),
          {
            id: "outage-longest",
            text: "outage of an endpoint, longest",
            unit: "ms",
            measured: longest,
            expected: seen("0 to 10 s", longestLeastMs, 10_000 + tickSlackMs),
          } as const,
          {
            id: "transition-time-set",
            text: "unready pods with a new lastTransitionTime",
            unit: "share",
            measured: status.shareOfFlipsInTime,
            expected: seen("none in 1.6", 0, 0),
          } as const,
        ]),
  ];
}

/** Outages last up to the kubelet's period of 10 s; the longest of hundreds is close to it. */
const longestLeastMs = 9_500;

/** Beside the kubelet's period: a status post and its way to the Endpoints. */
const tickSlackMs = 100;

function leaseFigures({ leases }: Played): readonly Figure[] {
  if (leases === undefined) return [];
  const { timely, late } = leases;
  return [
    {
      id: "flaps-with-timely-leases",
      text: "flaps with timely Leases, 1.17.3",
      unit: "count",
      measured: timely.flaps,
      expected: [{ source: "real binaries", text: "none", from: 0, to: 0 }],
    },
    figure(
      "flaps-per-hour-with-late-leases",
      "flaps per hour and node, late Leases, 1.17.3",
      "count",
      late.flaps / late.nodeHours,
      [{ source: "real binaries", text: "as with a late status" }],
    ),
    {
      id: "missed-lines-at-once",
      text: "log lines per lost node and check, 1.17.3",
      unit: "count",
      measured: late.missedLinesAtOnce,
      expected: [{ source: "real binaries", text: "4", from: 4, to: 4 }],
    },
    {
      id: "transition-time-set-today",
      text: "unready pods with a new lastTransitionTime, 1.17.3",
      unit: "share",
      measured: late.shareOfFlipsInTime,
      expected: [{ source: "real binaries", text: "all in 1.17", from: 1, to: 1 }],
    },
  ];
}

function shopMeasures(shop: FlappingShop | undefined): readonly Measure[] {
  if (shop === undefined) return [];
  const { stock, lockstep } = shop.removals;
  return [
    {
      id: "live-endpoints-removed",
      text: "healthy endpoints removed",
      unit: "count",
      stock: stock.count,
      lockstep: lockstep.count,
      goal: "none",
      held: lockstep.count === 0,
      isHeadline: true,
    },
    {
      id: "live-endpoints-out-for",
      text: "total time of these removals, all replicas",
      unit: "ms",
      stock: stock.outMs,
      lockstep: lockstep.outMs,
      goal: "none",
      held: lockstep.outMs === 0,
    },
    ...requestMeasures(shop.tallies),
  ];
}

function figure(
  id: string,
  text: string,
  unit: Figure["unit"],
  measured: number | undefined,
  expected: Figure["expected"],
): Figure {
  return { id, text, unit, measured, expected };
}

function median(sorted: readonly number[]): number | undefined {
  return sorted[Math.floor(sorted.length / 2)];
}

interface DeadPlay {
  readonly late: Pick<LateNodes, "graceMs">;
  readonly dead: DeadNode;
  /** The same with the grace period before the fix. */
  readonly comparedDead: DeadNode | undefined;
}

/** The price of a longer grace period: a dead node is noticed later. */
export function deadFigures({ late, dead, comparedDead }: DeadPlay): readonly Figure[] {
  const grace = `grace period ${late.graceMs / 1_000} s`;
  const noticed = shown(
    "dead-node-noticed",
    `time until a dead node is noticed, ${grace}`,
    dead.noticedMs,
  );
  const before = comparedDead?.noticedMs;
  if (before === undefined || dead.noticedMs === undefined) return [noticed];
  const laterMs = dead.noticedMs - before;
  return [
    noticed,
    shown("dead-node-noticed-before", "the same before the fix", before),
    shown("dead-node-noticed-later", "price of the fix: noticed later by", laterMs),
  ];
}

/** Requests from the death of the node until no request was sent there. */
export function deadMeasures({
  unroutedMs,
  allowedMs,
  sent,
  lost,
  slowed,
}: DeadNode): readonly Measure[] {
  const { stock, lockstep } = unroutedMs;
  return [
    {
      id: "dead-node-out-after",
      text: "time until a dead node gets no requests",
      unit: "ms",
      stock,
      lockstep,
      goal: "at most the time of a failed request and two probes",
      held: lockstep !== undefined && lockstep <= allowedMs,
      isHeadline: true,
    },
    {
      id: "requests-sent-after-death",
      text: "requests sent after the node died",
      unit: "requests",
      stock: sent.stock,
      lockstep: sent.lockstep,
      goal: undefined,
      held: true,
    },
    {
      id: "requests-lost-to-dead-node",
      text: "requests lost by the dead node",
      unit: "requests",
      stock: lost.stock,
      lockstep: lost.lockstep,
      goal: "none",
      held: lost.lockstep === 0,
    },
    {
      id: "requests-slowed-by-dead-node",
      text: "requests delayed by 1 s or more",
      unit: "requests",
      stock: slowed.stock,
      lockstep: slowed.lockstep,
      goal: undefined,
      held: true,
    },
  ];
}

/** Without a reference. */
function shown(id: string, text: string, measured: number | undefined): Figure {
  return { id, text, unit: "ms", measured, expected: [] };
}
