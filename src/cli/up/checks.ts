// Whether the story held: what stock suffers, what Lockstep does not, that the cause was named and
// that the fix worked. Each check can fail, and says what was seen.
import { durationText } from "../../journeys/duration-text.ts";
import type { StoryResult } from "./story.ts";

export interface Check {
  readonly what: string;
  readonly seen: string;
  readonly holds: boolean;
}

/** A request that is on its way when a pod dies may still meet it; one sent a second later may not. */
const deadLongestMs = 1_000;

/** How much sooner changes have to be published with the fix. */
const collapse = 5;

export function checksOf({ throttled, fixed }: StoryResult): readonly Check[] {
  const { stock, lockstep, finding } = throttled;
  const traffic: readonly Check[] =
    stock === undefined || lockstep === undefined
      ? []
      : [
          {
            what: "stock sends requests to pods that are gone",
            seen: `${stock.sentToDead} of ${stock.requests}`,
            holds: stock.sentToDead > 0,
          },
          {
            what: "Lockstep sends none to a pod that has been gone for a second",
            seen:
              lockstep.sentToDead === 0
                ? "none to a dead pod at all"
                : `the longest gone had been so for ${durationText(lockstep.longestDeadMs)}`,
            holds: lockstep.longestDeadMs < deadLongestMs,
          },
          {
            what: "Lockstep loses no request",
            seen: `${lockstep.lost + (fixed?.lockstep?.lost ?? 0)} lost`,
            holds: lockstep.lost + (fixed?.lockstep?.lost ?? 0) === 0,
          },
        ];
  return [
    ...traffic,
    {
      what: "the doctor names the cause",
      seen: finding === undefined ? "no finding" : `${finding.rule} (${finding.confidence})`,
      holds: finding?.rule === "client-throttling",
    },
    {
      what: `the fix has changes published ${collapse} times sooner`,
      seen:
        fixed === undefined
          ? "no fix was applied"
          : `${lag(throttled.publishedMs)} → ${lag(fixed.publishedMs)}`,
      holds:
        throttled.publishedMs !== undefined &&
        fixed?.publishedMs !== undefined &&
        fixed.publishedMs * collapse < throttled.publishedMs,
    },
  ];
}

function lag(ms: number | undefined): string {
  return ms === undefined ? "unknown" : durationText(ms);
}
