// The live screen of `lockstep watch`: finished changes scroll up as ordinary lines, changes in
// flight and the footer stay below. At most ten frames a second; one a second without changes.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { Log } from "../../../environment/log.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { type Paint, paintFor } from "../../terminal/paint.ts";
import { Screen } from "../../terminal/screen.ts";
import { numberText } from "../../terminal/value-text.ts";
import {
  type ChangeColumns,
  changeColumns,
  changeLine,
  groupLine,
  shownHops,
} from "./change-line.ts";
import { FinishedChanges, type FinishedLine, SettledChanges } from "./finished-changes.ts";
import { isSlow } from "./hop-cell.ts";
import { lineContext, liveLines } from "./live-lines.ts";
import { summaryLines } from "./summary-lines.ts";
import { latestIn, type Picture, type WatchOutput, type WatchOutputOptions } from "./view.ts";

/** Faster frames are not visible. */
const frameMs = 100;

/** Interval for redrawing the ages of changes in flight. */
const idleFrameMs = 1_000;

export class ScreenOutput implements WatchOutput {
  readonly #options: WatchOutputOptions;
  readonly #screen: Screen;
  readonly #paint: Paint;
  readonly #finished = new FinishedChanges();
  readonly #settled = new SettledChanges();
  #drawnAt: MonotonicMs | undefined;
  #isChanged = true;
  #size = "";
  /** Height of the live part. Printed lines reduce it, so that its end stays in place. */
  #height = 0;
  #cancel: CancelTimer | undefined;
  #isEnded = false;

  constructor(options: WatchOutputOptions) {
    this.#options = options;
    this.#screen = new Screen(options.terminal);
    this.#paint = paintFor(options.terminal);
  }

  onEvent(event: JourneyEvent): void {
    this.#isChanged = true;
    const now = this.#options.clock.monotonicMs();
    const finished = this.#settled.onEvent(event, now);
    if (finished !== undefined) this.#finish(finished, now);
  }

  start(): void {
    this.#frame();
  }

  redraw(): void {
    this.#isChanged = true;
  }

  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#cancel?.();
    const picture = this.#options.picture();
    const { terminal } = this.#options;
    for (const journey of this.#settled.takeAll(latestIn(picture))) {
      this.#finish(journey, picture.now);
    }
    const printed = this.#finishedLines(this.#finished.takeAll(), picture);
    this.#screen.end();
    const summary = summaryLines(picture, { ...this.#view(), paint: this.#paint });
    terminal.write(`${[...printed, "", ...summary].join("\n")}\n`);
  }

  #frame(): void {
    this.#cancel = this.#options.timers.after(frameMs, () => this.#frame());
    const { clock, terminal } = this.#options;
    const now = clock.monotonicMs();
    const size = `${terminal.columns} ${terminal.rows}`;
    const isIdle = !this.#isChanged && size === this.#size;
    if (isIdle && this.#drawnAt !== undefined && elapsedMs(this.#drawnAt, now) < idleFrameMs)
      return;
    this.#drawnAt = now;
    this.#isChanged = false;
    if (size !== this.#size) this.#height = 0;
    this.#size = size;
    const picture = this.#options.picture();
    const latest = latestIn(picture);
    for (const journey of this.#settled.due(now, latest)) this.#finish(journey, now);
    const printed = this.#finishedLines(this.#finished.take(now), picture);
    const options = { ...this.#view(), columns: this.#columns(picture), paint: this.#paint };
    const live = liveLines(
      { ...picture, settled: this.#settled.oldest(options.rows, latest) },
      options,
      this.#height - printed.length,
    );
    this.#height = live.length;
    this.#screen.draw(printed, live);
  }

  #finish(journey: Journey, now: MonotonicMs): void {
    const { slowMs } = this.#options;
    this.#finished.add(journey, { now, isSlow: isSlow(journey, { now, slowMs }) });
  }

  #finishedLines(lines: readonly FinishedLine[], picture: Picture): readonly string[] {
    const columns = this.#columns(picture);
    const context = lineContext(picture, { ...this.#options, paint: this.#paint });
    const moreText = ({ changes, services }: { changes: number; services: number }) =>
      `and ${numberText(changes)} more changes of ${numberText(services)} services`;
    return lines.map((line) => {
      if (line.type === "change") return changeLine(line.journey, columns, context);
      if (line.type === "group") return groupLine(line.group, columns, context);
      return this.#paint.secondary(moreText(line));
    });
  }

  #columns(picture: Picture): ChangeColumns {
    return changeColumns({
      width: this.#view().width,
      hops: shownHops(picture.tally, picture.asked),
      clusters: picture.clusters.map(({ cluster }) => visible(cluster)),
    });
  }

  #view() {
    const { slowMs, utc, terminal } = this.#options;
    return { width: terminal.columns, rows: terminal.rows, slowMs, utc };
  }
}

/**
 * The log of a command that draws on the terminal: a log line would break the picture. The last
 * errors are kept for the footer; the rest is in the picture.
 */
const keptMax = 5;

export class ScreenLog implements Log {
  readonly #errors: string[] = [];

  /** Oldest first. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  error(message: string): void {
    if (this.#errors.includes(message)) return;
    this.#errors.push(message);
    if (this.#errors.length > keptMax) this.#errors.shift();
  }

  debug(): void {
    // Not shown.
  }

  info(): void {
    // Not shown.
  }

  warn(): void {
    // Shown as a row of the picture.
  }

  child(): Log {
    return this;
  }
}
