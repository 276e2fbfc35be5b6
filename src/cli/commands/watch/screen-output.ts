// The view that people leave open: changes that are over scroll away above as ordinary lines, those
// in flight stand below them, and under these the footer. At most ten frames a second are drawn, and
// one a second when nothing happens but time.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { type Paint, paintFor } from "../../terminal/paint.ts";
import { Screen } from "../../terminal/screen.ts";
import { numberText } from "../../terminal/value-text.ts";
import { type ChangeColumns, changeColumns } from "./change-columns.ts";
import { changeLine, groupLine } from "./change-line.ts";
import { FinishedChanges, type FinishedLine } from "./finished-changes.ts";
import { isSlow } from "./hop-cell.ts";
import { lineContext, liveLines } from "./live-lines.ts";
import { latestIn, type Picture } from "./picture.ts";
import { SettledChanges } from "./settled-changes.ts";
import { shownHops } from "./shown-hops.ts";
import { summaryLines } from "./summary-lines.ts";
import type { WatchOutput, WatchOutputOptions } from "./watch-output.ts";

/** Faster than this no eye follows. */
const frameMs = 100;

/** How often the ages of what is in flight are drawn anew. */
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
  /** Of the live part; the lines that are printed take from it, so that its end stays in place. */
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
    const told = this.#settled.onEvent(event, now);
    if (told !== undefined) this.#finish(told, now);
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
