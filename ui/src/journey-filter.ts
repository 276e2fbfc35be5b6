// The filters of the list of journeys: part of the address, so that a link shares them; sent to the
// server, and applied to journeys that arrive while the list is shown.
import type { Journey } from "../../src/server/api.ts";
import { isInFlight } from "./journey-path.ts";

/** The names of the API; each is also a parameter of the address of the page. */
export const filterNames = ["service", "cluster", "hop", "minLagMs", "cause", "outcome"] as const;
export type FilterName = (typeof filterNames)[number];
export type JourneyFilter = Readonly<Partial<Record<FilterName, string>>>;

export function filterOf(query: URLSearchParams): JourneyFilter {
  return Object.fromEntries(
    filterNames.flatMap((name) => {
      const value = query.get(name);
      return value === null || value === "" ? [] : [[name, value]];
    }),
  );
}

export function queryOf(filter: JourneyFilter): URLSearchParams {
  return new URLSearchParams(
    filterNames.flatMap((name) => (filter[name] ? [[name, filter[name]]] : [])),
  );
}

/** A hop that still waits has the age of the change as its lag. */
export function matches(journey: Journey, filter: JourneyFilter, now: number): boolean {
  const { service, cluster, hop, minLagMs, cause, outcome } = filter;
  if (service !== undefined && journey.service !== service) return false;
  if (cluster !== undefined && journey.cluster !== cluster) return false;
  if (cause !== undefined && journey.cause !== cause) return false;
  if (outcome !== undefined && journey.outcome !== outcome) return false;
  const hops = journey.hops.filter((one) => hop === undefined || one.hop === hop);
  if (hop !== undefined && hops.length === 0) return false;
  const least = Number(minLagMs ?? 0);
  if (!(least > 0)) return true;
  return hops.some((one) => {
    const isWaiting = one.state === "pending" || one.state === "stuck";
    const lagMs = isWaiting && isInFlight(journey) ? now - journey.originMs : one.lagMs;
    return lagMs !== null && lagMs >= least;
  });
}
