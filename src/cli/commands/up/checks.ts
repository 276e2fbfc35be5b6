// The checks of `lockstep up`: stock loses requests, Lockstep does not, the cause is found and the
// fix works. Each check has its measurement and its goal.
import { durationText } from "../../../environment/duration-text.ts";
import type { Release } from "./release.ts";
import type { StoryResult } from "./story.ts";

export interface Check {
  readonly name:
    | "stock-sends-to-dead-pods"
    | "lockstep-sends-to-no-dead-pod"
    | "lockstep-loses-nothing"
    | "cause-named"
    | "fix-works";
  /** The measurement as a sentence. */
  readonly text: string;
  readonly goal: string;
  readonly holds: boolean;
}

/** A request in progress when a pod dies may still reach it; one sent a second later must not. */
const deadLongestMs = 1_000;

export function checksOf({ throttled, fixed }: StoryResult): readonly Check[] {
  return [...trafficChecks(throttled, fixed), causeCheck(throttled), fixCheck(throttled, fixed)];
}

function trafficChecks(throttled: Release, fixed: Release | undefined): readonly Check[] {
  const { stock, lockstep } = throttled;
  if (stock === undefined || lockstep === undefined) return [];
  const lost = lockstep.lost + (fixed?.lockstep?.lost ?? 0);
  const requests = lockstep.requests + (fixed?.lockstep?.requests ?? 0);
  const last =
    lockstep.sentToDead === 0
      ? ""
      : `, the last one ${durationText(lockstep.longestDeadMs)} after the pod died`;
  return [
    {
      name: "stock-sends-to-dead-pods",
      text: `stock (model) sent ${stock.sentToDead} of ${stock.requests} requests to dead pods`,
      goal: "> 0",
      holds: stock.sentToDead > 0,
    },
    {
      name: "lockstep-sends-to-no-dead-pod",
      text: `Lockstep sent ${lockstep.sentToDead} of ${lockstep.requests} requests to dead pods${last}`,
      goal: `0 after a pod has been dead for ${durationText(deadLongestMs)}`,
      holds: lockstep.longestDeadMs < deadLongestMs,
    },
    {
      name: "lockstep-loses-nothing",
      text: `Lockstep lost ${lost} of ${requests} requests`,
      goal: "0",
      holds: lost === 0,
    },
  ];
}

function causeCheck({ finding }: Release): Check {
  return {
    name: "cause-named",
    text:
      finding === undefined
        ? "no cause was found"
        : `cause found: ${finding.rule} (${finding.confidence})`,
    goal: "client-throttling",
    holds: finding?.rule === "client-throttling",
  };
}

/** The times depend on the machine too, so only their order is required. */
function fixCheck(throttled: Release, fixed: Release | undefined): Check {
  const before = throttled.publishedMs;
  const after = fixed?.publishedMs;
  const factor = before === undefined || after === undefined ? undefined : before / after;
  const check = { name: "fix-works", goal: "faster, and the cause is gone" } as const;
  if (fixed === undefined) return { ...check, text: "no fix was applied", holds: false };
  if (factor === undefined) {
    return { ...check, text: "with the fix, no removed pod left the Endpoints", holds: false };
  }
  if (fixed.finding !== undefined) {
    return { ...check, text: `with the fix, ${fixed.finding.rule} is found again`, holds: false };
  }
  const times = factor >= 10 ? factor.toFixed(0) : factor.toFixed(1);
  return {
    ...check,
    text:
      `with the fix, removed pods leave the Endpoints ${times} times faster: ` +
      `${durationText(before ?? 0)} → ${durationText(after ?? 0)} in real time`,
    holds: factor > 1,
  };
}
