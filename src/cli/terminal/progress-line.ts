// How far a run is, beside the results: on a terminal one line that is redrawn in place, elsewhere a
// line when something new is done. It goes where errors go, so that a pipe gets results only.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Terminal } from "../../environment/terminal.ts";
import { cutText } from "./text.ts";

interface ProgressLineOptions {
  readonly terminal: Terminal;
  /** The real one: how often somebody looks does not depend on virtual time. */
  readonly clock: Clock;
}

/** More often than this nobody sees it, and the run has better things to do. */
const redrawEveryMs = 100;

/** A log of a run should not be longer than its result. */
const plainEveryMs = 5_000;

export class ProgressLine {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  #shownAt: MonotonicMs | undefined;
  #step = "";
  readonly #line: StatusLine;

  constructor({ terminal, clock }: ProgressLineOptions) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#line = new StatusLine(terminal, (text) => terminal.writeError(text));
  }

  /** `detail` changes all the time and is only redrawn; a new step is worth a line. */
  show(step: string, detail: string): void {
    const { interactive } = this.#terminal;
    const isNew = step !== this.#step;
    if (!interactive && !isNew) return;
    if (!this.#isTime(interactive ? redrawEveryMs : plainEveryMs)) return;
    this.#step = step;
    const text = `  ${step} · ${detail}`;
    if (interactive) this.#line.draw(text);
    else this.#terminal.writeError(`${text}\n`);
  }

  /** Before anything else is written. */
  clear(): void {
    this.#line.clear();
  }

  #isTime(everyMs: number): boolean {
    const now = this.#clock.monotonicMs();
    if (this.#shownAt !== undefined && elapsedMs(this.#shownAt, now) < everyMs) return false;
    this.#shownAt = now;
    return true;
  }
}

// One line of a terminal that is redrawn in place until something else is written.

const toEmptyLine = "\r\u001b[K";

export class StatusLine {
  readonly #terminal: Pick<Terminal, "columns">;
  readonly #write: (text: string) => void;
  #isDrawn = false;

  /** Where results go, or progress: `terminal.write` or `terminal.writeError`. */
  constructor(terminal: Pick<Terminal, "columns">, write: (text: string) => void) {
    this.#terminal = terminal;
    this.#write = write;
  }

  draw(text: string): void {
    // The last column stays free: a terminal would begin a new line behind it.
    this.#write(toEmptyLine + cutText(text, this.#terminal.columns - 1));
    this.#isDrawn = true;
  }

  /** Before anything else is written. */
  clear(): void {
    if (this.#isDrawn) this.#write(toEmptyLine);
    this.#isDrawn = false;
  }
}
