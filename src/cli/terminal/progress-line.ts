// The progress of a run on standard error, so that a pipe gets results only. On a terminal one line
// is redrawn; elsewhere each new step is a line.
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Terminal } from "../../environment/terminal.ts";
import { cutText } from "./text.ts";

interface ProgressLineOptions {
  readonly terminal: Terminal;
  /** The real clock, also for runs in simulated time. */
  readonly clock: Clock;
}

/** Faster changes are not visible. */
const redrawEveryMs = 100;

/** The log should not be longer than the result. */
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

  /** `detail` changes often and is only redrawn; a new step gets a line. */
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

  /** Call before writing anything else. */
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

/** One line of a terminal that is redrawn in place. */
const toEmptyLine = "\r\u001b[K";

export class StatusLine {
  readonly #terminal: Pick<Terminal, "columns">;
  readonly #write: (text: string) => void;
  #isDrawn = false;

  /** `write` is `terminal.write` or `terminal.writeError`. */
  constructor(terminal: Pick<Terminal, "columns">, write: (text: string) => void) {
    this.#terminal = terminal;
    this.#write = write;
  }

  draw(text: string): void {
    // The last column stays free, because a terminal would wrap behind it.
    this.#write(toEmptyLine + cutText(text, this.#terminal.columns - 1));
    this.#isDrawn = true;
  }

  /** Call before writing anything else. */
  clear(): void {
    if (this.#isDrawn) this.#write(toEmptyLine);
    this.#isDrawn = false;
  }
}
