// One line of a terminal that is redrawn in place until something else is written.
import type { Terminal } from "../../environment/terminal.ts";
import { cutText } from "./text-columns.ts";

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
