// The settings of `heartbeat-flap`: the nodes of the write-up, and the same four times as fast for real
// time. The write-up gives the range of the gaps between heartbeats and the flags, no number of nodes.
import type { PlaySize } from "../stage.ts";
import type { LateNodes } from "./late-nodes.ts";

export interface HeartbeatFlapSettings {
  /** The nodes of the write-up, or others. */
  readonly late: LateNodes;
  /** How long the shop gets traffic; 0 leaves it out. */
  readonly trafficMs: number;
  /** How much faster everything is than in the write-up; 1 unless given. */
  readonly speed?: number;
  /** The grace period before the fix, to compare dead nodes; undefined without the fix. */
  readonly comparedGraceMs?: number;
  /** Also plays late and timely Leases. */
  readonly withLeases: boolean;
}

const hourMs = 3_600_000;

/** Between two heartbeats of a late node. */
export const writeUpGap = { minMs: 20_000, maxMs: 50_000 } as const;

/** `--node-monitor-grace-period`, before the fix and with it. */
const writeUpGraceMs = 40_000;
const fixedGraceMs = 60_000;

/** Defaults of the version: `--node-monitor-period`, and the heartbeats of a node that is not late. */
const monitorMs = 5_000;
const timelyMs = 10_000;

/** So many heartbeats that chance changes the rate by half a flap an hour. */
const lateNodes = 8;
const lateMs = 8 * hourMs;

/** With Leases the question is only whether there are flaps. */
export const leaseSettings = { profile: "1.17.3", nodes: 4, forMs: 2 * hourMs } as const;

/** About ten flaps; the rate limit of a stock ingress controller hides the shortest ones. */
const trafficMs = hourMs / 2;

/** In a short play heartbeats, gaps, grace period and monitor period are so much faster. */
const shortSpeed = 4;
const shortMs = 60_000;
const shortNodes = 4;

export function settingsOf(
  size: PlaySize,
  { fix }: { readonly fix: boolean },
): HeartbeatFlapSettings {
  const isShort = size === "short";
  const speed = isShort ? shortSpeed : 1;
  const scaled = (ms: number): number => ms / speed;
  return {
    late: {
      profile: "1.7",
      gaps: { status: { minMs: scaled(writeUpGap.minMs), maxMs: scaled(writeUpGap.maxMs) } },
      nodes: isShort ? shortNodes : lateNodes,
      forMs: isShort ? shortMs : lateMs,
      graceMs: scaled(fix ? fixedGraceMs : writeUpGraceMs),
      monitorMs: scaled(monitorMs),
      ...(isShort ? { timelyMs: scaled(timelyMs) } : {}),
    },
    speed,
    trafficMs: isShort ? shortMs : trafficMs,
    withLeases: !fix && !isShort,
    ...(fix ? { comparedGraceMs: scaled(writeUpGraceMs) } : {}),
  };
}
