// What happens after the story, as it happens: each change of the shop's pods, and when all of them
// have arrived everywhere, how many requests were lost meanwhile.
import type { Environment } from "../../../environment/environment.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import { shopService } from "../../../lab/shop.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { earlyLine, journeyRow, rowsHead } from "./journey-lines.ts";
import { countersText, type Narrator } from "./narrator.ts";
import type { TrafficCount } from "./traffic-count.ts";

export interface LaterChangesOptions extends Pick<Environment, "clock" | "timers"> {
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
