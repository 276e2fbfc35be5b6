// Prints changes in `lockstep up`: a line when every Lockstep replica uses the change, and a table
// row when all replicas do. After the demonstration it also sums up lost requests.
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import { replicas } from "../../../lab/comparison/side.ts";
import { shopService } from "../../../lab/shop.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { Hop } from "../../../timeline/witness.ts";
import type { TrafficWindow } from "./traffic-count.ts";
import { countersText, type Narrator } from "./view.ts";

const widths = [17, 13, 11, 20] as const;
const numbers = Array.from({ length: replicas }, (_, index) => index + 1).join(" ");

/** The title of the rows. `+` is an added pod, `−` a removed one. */
export const rowsHead: readonly string[] = [
  cells(["Real time until the change was visible in"]),
  cells(["", "", "copy in", "stock (model)", "Lockstep"]),
  cells(["pod", "Endpoints", "access", `replicas ${numbers}`, `replicas ${numbers}`]),
];

/** Undefined until every Lockstep replica uses the change. */
export function earlyLine(journey: Journey): string | undefined {
  const lags = lagsOf(journey, "routed", "lockstep");
  if (lags.length < replicas) return undefined;
  const verb = journey.direction === "leave" ? "removed" : "added";
  const what = `Lockstep replicas ${verb} it after ${texts(lags)} (real)`;
  return `  ${subject(journey).padEnd(widths[0])}${what}`;
}

/** All hops of a finished change. */
export function journeyRow(journey: Journey): string {
  const columns = [
    lagsOf(journey, "published"),
    lagsOf(journey, "synced"),
    lagsOf(journey, "routed", "stock"),
    lagsOf(journey, "routed", "lockstep"),
  ].map((lags) => (lags.length === 0 ? "–" : texts(lags)));
  const row = cells([subject(journey), ...columns]);
  // On its own line, because it would exceed 80 columns.
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

/** `11.6 11.8 12 ms`: a common unit is written once. */
function texts(lags: readonly number[]): string {
  const all = lags.map((ms) => durationText(ms));
  const units = new Set(all.map((text) => text.replace(/^[\d.]+ /, "")));
  if (units.size > 1 || all.some((text) => !/^[\d.]+ \S+$/.test(text))) return all.join(", ");
  const [unit = ""] = units;
  return `${all.map((text) => text.split(" ")[0]).join(" ")} ${unit}`;
}

/**
 * Prints each change of the shop's pods after the demonstration, and the requests lost meanwhile.
 */
interface LaterChangesOptions extends Pick<Environment, "clock" | "timers"> {
  readonly narrator: Narrator;
  readonly traffic: TrafficWindow | undefined;
}

/** The next pod of a rollout comes sooner than this. */
const restMs = 5_000;

export class LaterChanges {
  readonly #options: LaterChangesOptions;
  /** Changes in flight. */
  readonly #pending = new Set<number>();
  /** The start of the first one; undefined without changes. */
  #beganAtMs: number | undefined;
  #cancelRest: CancelTimer | undefined;
  /** The last line is a row, so the next row needs no title. */
  #isBelowHead = false;

  constructor(options: LaterChangesOptions) {
    this.#options = options;
  }

  note(event: JourneyEvent): void {
    const { journey } = event;
    if (journey.endpoint.service !== shopService) return;
    this.#begin();
    if (event.type === "over") {
      this.#pending.delete(journey.id);
      this.#row(journey);
      this.#rest();
      return;
    }
    this.#pending.add(journey.id);
    if (event.type === "found") return;
    // The last replica completes the line.
    const line = event.hop.witness.startsWith("lockstep") ? earlyLine(journey) : undefined;
    if (line === undefined) return;
    this.#options.narrator.text(line);
    this.#isBelowHead = false;
  }

  #row(journey: Journey): void {
    const { narrator } = this.#options;
    if (!this.#isBelowHead) for (const line of rowsHead) narrator.text(line);
    this.#isBelowHead = true;
    narrator.text(journeyRow(journey));
  }

  #begin(): void {
    this.#cancelRest?.();
    if (this.#beganAtMs !== undefined) return;
    const { clock, traffic } = this.#options;
    this.#beganAtMs = clock.monotonicMs();
    traffic?.reset();
  }

  #rest(): void {
    if (this.#pending.size > 0) return;
    this.#cancelRest = this.#options.timers.after(restMs, () => this.#sum());
  }

  #sum(): void {
    const { clock, traffic, narrator } = this.#options;
    const seconds = (clock.monotonicMs() - (this.#beganAtMs ?? 0)) / 1000;
    this.#beganAtMs = undefined;
    this.#isBelowHead = false;
    narrator.text(
      `  ${countersText({
        seconds,
        stock: traffic?.lost("stock"),
        lockstep: traffic?.lost("lockstep"),
        waiting: "all replicas are up to date",
      })}`,
    );
  }
}
