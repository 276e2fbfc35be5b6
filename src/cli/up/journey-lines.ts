// A change as the story shows it: one line when every Lockstep replica routes by it, and one when it
// has arrived everywhere, with the lag at each hop and at each replica. Pure.
import { durationText } from "../../journeys/duration-text.ts";
import type { Journey } from "../../journeys/journey.ts";
import type { Hop } from "../../journeys/witness.ts";
import { replicas } from "./ingress-side.ts";

/** Undefined until every replica of the side routes by the change. */
export function earlyLine(journey: Journey): string | undefined {
  const lags = lagsOf(journey, "routed", "lockstep");
  if (lags.length < replicas) return undefined;
  const word = journey.direction === "leave" ? "left" : "joined";
  return `  ${subject(journey)}  ${word} the Lockstep replicas after ${texts(lags)}`;
}

/** What came later, once the journey is over. */
export function lateLine(journey: Journey): string {
  const hops: readonly (readonly [string, readonly number[]])[] = [
    ["published", lagsOf(journey, "published")],
    ["synced", lagsOf(journey, "synced")],
    ["stock", lagsOf(journey, "routed", "stock")],
  ];
  const shown = hops.filter(([, lags]) => lags.length > 0);
  const text = shown.map(([name, lags]) => `${name} ${texts(lags)}`).join(" · ");
  const end = journey.outcome === "complete" ? "" : ` (${journey.outcome})`;
  return `  ${subject(journey)}  ${text}${end}`;
}

function subject({ direction, endpoint }: Journey): string {
  return `${direction === "join" ? "+" : "−"}${endpoint.address}`.padEnd(15);
}

function lagsOf(journey: Journey, hop: Hop, side = ""): readonly number[] {
  return journey.hops.flatMap((one) =>
    one.hop === hop && one.witness.startsWith(side) && one.state.type === "shown"
      ? [one.state.lagMs]
      : [],
  );
}

/** `11.6 11.8 12 ms`: the unit once, where all have the same. */
function texts(lags: readonly number[]): string {
  const all = lags.map((ms) => durationText(ms));
  const units = new Set(all.map((text) => text.replace(/^[\d.]+ /, "")));
  if (units.size > 1 || all.some((text) => !/^[\d.]+ \S+$/.test(text))) return all.join(", ");
  const [unit = ""] = units;
  return `${all.map((text) => text.split(" ")[0]).join(" ")} ${unit}`;
}
