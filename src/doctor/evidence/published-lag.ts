// How late changes were published, by the journeys that were observed. A change that is not
// published yet counts with its age: it is at least that late.
import { type Journey, lagsAt } from "../../timeline/journey.ts";
import type { Direction } from "../../timeline/witness.ts";
import type { JourneyEvidence } from "./evidence.ts";

export interface PublishedLag {
  readonly direction: Direction;
  readonly count: number;
  /** Of them, not published yet. */
  readonly pending: number;
  readonly medianMs: number;
  readonly maxMs: number;
}

/** Undefined when no change in this direction says anything about the hop. */
export function publishedLag(
  { journeys, nowMs }: JourneyEvidence,
  direction: Direction,
): PublishedLag | undefined {
  const asked = journeys.filter((journey) => journey.direction === direction);
  const pending = asked.filter(isUnpublished).map(({ origin }) => nowMs - origin.at);
  const shown = asked.flatMap((journey) => lagsAt(journey, "published"));
  const lags = [...shown, ...pending].sort((a, b) => a - b);
  const medianMs = lags[Math.floor(lags.length / 2)];
  const maxMs = lags.at(-1);
  if (medianMs === undefined || maxMs === undefined) return undefined;
  return { direction, count: lags.length, pending: pending.length, medianMs, maxMs };
}

/** Quiet controllers publish within milliseconds, and try again within seconds. */
const soonMs = 5_000;

/** Changes were observed, and none of them waited for long. */
export function isPublishedSoon(evidence: JourneyEvidence): boolean {
  const lags = (["join", "leave"] as const).flatMap((one) => publishedLag(evidence, one) ?? []);
  return lags.length > 0 && lags.every(({ maxMs }) => maxMs < soonMs);
}

function isUnpublished({ hops, outcome }: Journey): boolean {
  return (
    outcome === "pending" &&
    hops.some(
      ({ hop, state }) =>
        hop === "published" && (state.type === "pending" || state.type === "stuck"),
    )
  );
}
