// A change as the story shows it: one line when every Lockstep replica routes by it, and one row of a
// table when it has arrived everywhere, with Lockstep's replicas beside those of stock. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";
import { replicas } from "./ingress-side.ts";

const widths = [17, 13, 11, 20] as const;
const numbers = Array.from({ length: replicas }, (_, index) => index + 1).join(" ");

/** Above the rows; an address has a sign: `+` for a pod that was added, `−` for one removed. */
export const rowsHead: readonly string[] = [
  cells(["Real time until the change was visible in"]),
  cells(["", "", "copy in", "stock (model)", "Lockstep"]),
  cells(["pod", "Endpoints", "access", `replicas ${numbers}`, `replicas ${numbers}`]),
];

/** Undefined until every replica of Lockstep routes by the change. */
export function earlyLine(journey: Journey): string | undefined {
  const lags = lagsOf(journey, "routed", "lockstep");
  if (lags.length < replicas) return undefined;
  const verb = journey.direction === "leave" ? "removed" : "added";
  const what = `Lockstep replicas ${numbers} ${verb} it after ${texts(lags)}`;
  return `  ${subject(journey).padEnd(widths[0])}${what}`;
}

/** The whole of it, once the journey is over. */
export function journeyRow(journey: Journey): string {
  const columns = [
    lagsOf(journey, "published"),
    lagsOf(journey, "synced"),
    lagsOf(journey, "routed", "stock"),
    lagsOf(journey, "routed", "lockstep"),
  ].map((lags) => (lags.length === 0 ? "–" : texts(lags)));
  const row = cells([subject(journey), ...columns]);
  // On a line of its own: beside the figures it would exceed 80 columns.
  return journey.outcome === "complete" ? row : `${row}\n    (${journey.outcome})`;
}

function cells(texts: readonly string[]): string {
  return `  ${texts.map((text, at) => text.padEnd(widths[at] ?? 0)).join("")}`.trimEnd();
}

function subject({ direction, endpoint }: Journey): string {
  return `${direction === "join" ? "+" : "−"}${endpoint.address}`;
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
