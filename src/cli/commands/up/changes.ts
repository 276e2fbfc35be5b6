// A change as the story shows it: one line when every Lockstep replica routes by it, and one row of a
// table when it has arrived everywhere, with Lockstep's replicas beside those of stock. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import { shopService } from "../../../lab/shop.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import type { Hop } from "../../../timeline/witness.ts";
import { replicas } from "./ingress-side.ts";
import type { TrafficCount } from "./traffic-count.ts";
import { countersText, type Narrator } from "./view.ts";

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

// What happens after the story, as it happens: each change of the shop's pods, and when all of them
// have arrived everywhere, how many requests were lost meanwhile.

interface LaterChangesOptions extends Pick<Environment, "clock" | "timers"> {
  readonly narrator: Narrator;
  readonly traffic: TrafficCount | undefined;
}

/** The next pod of a rollout follows sooner than this. */
const restMs = 5_000;

export class LaterChanges {
  readonly #options: LaterChangesOptions;
  /** Changes that have begun and have not arrived everywhere. */
  readonly #pending = new Set<number>();
  /** When the first of them began; undefined while nothing changes. */
  #beganAtMs: number | undefined;
  #cancelRest: CancelTimer | undefined;
  /** Whether the last line belongs to the table, so that the next row needs no head of its own. */
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
    // The last of the replicas makes it complete.
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
