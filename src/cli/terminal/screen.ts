// A terminal in two parts: printed lines that scroll up, and below them a live part that is redrawn
// in place. The scrollback keeps exactly the printed lines. Invariant: the cursor is at the start
// of the last live line, where typed keys cannot break it, or at the start of an empty line.
import type { Terminal } from "../../environment/terminal.ts";
import { textColumns } from "./text.ts";

/** Written before a line: after a full line they would delete its last character. */
const clearLine = "\u001b[K";
const clearBelow = "\u001b[J";
const hideCursor = "\u001b[?25l";
const showCursor = "\u001b[?25h";
const wrapOff = "\u001b[?7l";
const wrapOn = "\u001b[?7h";

export class Screen {
  readonly #terminal: Terminal;
  #live: readonly string[] = [];
  #isEnded = false;

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Prints lines and redraws the live part in one write, so that nothing flickers. */
  draw(printed: readonly string[], live: readonly string[]): void {
    if (this.#isEnded) return;
    if (printed.length === 0 && sameLines(live, this.#live)) return;
    const start = this.#live.length === 0 ? hideCursor : "";
    const lines = [...printed, ...live];
    const last = lines.pop() ?? "";
    const above = lines.map((line) => `${clearLine}${line}\n`).join("");
    const text = `${start}${this.#toTop()}${wrapOff}${above}${clearBelow}${last}${wrapOn}\r`;
    this.#terminal.write(live.length === 0 ? `${text}\n` : text);
    this.#live = live;
  }

  /** Removes the live part and shows the cursor. Nothing is drawn after it. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#terminal.write(`${this.#toTop()}${clearBelow}${showCursor}`);
    this.#live = [];
  }

  /** Moves to the start of the live part. On a narrower terminal its lines have wrapped. */
  #toTop(): string {
    const columns = Math.max(1, this.#terminal.columns);
    const height = this.#live.reduce(
      (sum, line) => sum + Math.max(1, Math.ceil(textColumns(line) / columns)),
      0,
    );
    return height > 1 ? `\r\u001b[${height - 1}A` : "\r";
  }
}

function sameLines(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((line, index) => line === other[index]);
}
