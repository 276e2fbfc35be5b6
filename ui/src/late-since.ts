// Since when the hop of the verdict is late: the start of the first change of an unbroken run of late ones.
// Pure. A change that the hop showed in time ends the run; only changes of the late cluster count, because
// each cluster has its own controllers.
import type { Journey, State } from "../../src/server/api.ts";
import { isInFlight, type Reading, readingOf } from "./journey-path.ts";

type Late = NonNullable<State["verdict"]["late"]>;

/** Undefined when no change that the page knows was late there. The newest journey comes first. */
export function lateSince(journeys: readonly Journey[], state: State): number | undefined {
  const { late } = state.verdict;
  if (late === null) return undefined;
  const reading = readingOf(state);
  let since: Journey | undefined;
  for (const journey of journeys) {
    if (journey.cluster !== late.cluster) continue;
    const lagMs = lagAt(journey, late, reading, state.at);
    if (lagMs === undefined) continue;
    if (lagMs >= state.slowMs) since = journey;
    else if (since !== undefined && isExact(journey)) break;
  }
  return since?.originMs;
}

/** The greatest, of the replicas of that kind; of one that waits the time until now, once it is late. */
function lagAt(
  journey: Journey,
  { hop, kind }: Late,
  { kindOf, slowMs }: Reading,
  now: number,
): number | undefined {
  const lags = journey.hops
    .filter((one) => one.hop === hop && (hop !== "routed" || kindOf(one.witness) === kind))
    .flatMap(({ state, lagMs }) => {
      if (state === "shown") return lagMs ?? [];
      const waits = isInFlight(journey) && (state === "pending" || state === "stuck");
      return waits && now - journey.originMs >= slowMs ? now - journey.originMs : [];
    });
  return lags.length === 0 ? undefined : Math.max(...lags);
}

/** The lags of others are lower bounds, so they are never in time for sure. */
function isExact({ originBeforeStart, originNotBeforeMs }: Journey): boolean {
  return !originBeforeStart && originNotBeforeMs === null;
}
