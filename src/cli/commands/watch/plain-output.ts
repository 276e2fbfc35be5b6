// Output to a file or a pipe: one line for each finished or stuck change. The state of the clusters
// goes to standard error.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { ClusterStatus } from "../../../observe/cluster-status.ts";
import { journeyLine } from "../../../timeline/format.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { wallAt } from "../../../timeline/journey-record.ts";
import { paintFor } from "../../terminal/paint.ts";
import { SettledChanges } from "./finished-changes.ts";
import { isSlow } from "./hop-cell.ts";
import { conditionOf } from "./live-lines.ts";
import { summaryLines } from "./summary-lines.ts";
import type { WatchOutput, WatchOutputOptions } from "./view.ts";
import { latestIn, type Picture } from "./view.ts";

/** Interval between checks of the clusters' states. */
const lookEveryMs = 1_000;

/** A problem that comes back within this time is not reported again. */
const noteOverAfterMs = 60_000;

export class PlainOutput implements WatchOutput {
  readonly #options: WatchOutputOptions;
  /** The last printed state of each cluster. */
  readonly #said = new Map<string, string>();
  /** When each printed note was last seen. */
  readonly #notedAt = new Map<string, MonotonicMs>();
  readonly #settled = new SettledChanges();
  #cancel: CancelTimer | undefined;
  #isEnded = false;

  constructor(options: WatchOutputOptions) {
    this.#options = options;
  }

  onEvent(event: JourneyEvent): void {
    const now = this.#options.clock.monotonicMs();
    const finished = this.#settled.onEvent(event, now);
    if (event.type === "stuck") this.#print(event.journey);
    else if (finished !== undefined) this.#print(finished);
  }

  start(): void {
    this.#look();
  }

  end(): void {
    if (this.#isEnded) return;
    const { terminal, slowMs, utc } = this.#options;
    const picture = this.#options.picture();
    for (const journey of this.#settled.takeAll(latestIn(picture))) this.#print(journey);
    this.#isEnded = true;
    this.#cancel?.();
    const paint = paintFor({ colours: false });
    const options = { width: terminal.columns, slowMs, utc, paint };
    terminal.writeError(`${summaryLines(picture, options).join("\n")}\n`);
  }

  #print(journey: Journey): void {
    if (this.#isEnded) return;
    this.#options.terminal.write(`${plainLine(journey, this.#options)}\n`);
  }

  #look(): void {
    this.#cancel = this.#options.timers.after(lookEveryMs, () => this.#look());
    const picture = this.#options.picture();
    for (const journey of this.#settled.due(picture.now, latestIn(picture))) this.#print(journey);
    for (const status of picture.clusters) this.#sayCondition(status, picture);
    for (const note of picture.notes) this.#sayNote(note, picture.now);
    for (const [note, at] of this.#notedAt) {
      if (elapsedMs(at, picture.now) >= noteOverAfterMs) this.#notedAt.delete(note);
    }
  }

  /** Printed once for each state. */
  #sayCondition(status: ClusterStatus, picture: Picture): void {
    const cluster = visible(status.cluster);
    const { type } = status.state;
    if (this.#said.get(cluster) === type) return;
    this.#said.set(cluster, type);
    this.#options.terminal.writeError(`${cluster}: ${conditionOf(status, picture).text}\n`);
  }

  #sayNote(note: string, now: MonotonicMs): void {
    // A note that differs only in its numbers is not printed again.
    const known = note.replaceAll(/[\d,]+ of [\d,]+/g, "");
    if (!this.#notedAt.has(known)) this.#options.terminal.writeError(`note: ${visible(note)}\n`);
    this.#notedAt.set(known, now);
  }
}

/** `2026-11-15T20:31:07.000Z alpha terminating −10.0.0.7 shop/web  pod 0 · published 340 ms`. */
function plainLine(
  journey: Journey,
  { clock, slowMs, run }: Pick<WatchOutputOptions, "clock" | "slowMs" | "run">,
): string {
  const now = clock.monotonicMs();
  const { endpoint, cause = "?", origin } = journey;
  const time = new Date(wallAt(origin.at, run)).toISOString();
  const isStuck = journey.hops.some(({ state }) => state.type === "stuck");
  const slow = !isStuck && isSlow(journey, { now, slowMs }) ? " · slow" : "";
  const line = journeyLine(journey, { now, width: Number.POSITIVE_INFINITY });
  return visible(`${time} ${endpoint.cluster ?? "?"} ${cause} ${line}${slow}`);
}
