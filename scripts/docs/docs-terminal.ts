// The terminal that commands are run in for the documents. It shows what a person would see, with the
// few control sequences that Lockstep writes. An unknown one is an error, because the picture would be
// wrong.
import type { Terminal } from "../../src/environment/terminal.ts";

/** The meanings that `src/cli/terminal/paint.ts` gives to colours; `plain` is everything else. */
export type Style = "plain" | "strong" | "lockstep" | "secondary" | "late" | "failed";

/** Neighbours of one style are one run. */
export interface Run {
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Run[];

interface Cell {
  readonly sign: string;
  readonly style: Style;
}

const styles: Readonly<Record<string, Style>> = {
  "0": "plain",
  "1": "strong",
  "34": "lockstep",
  "90": "secondary",
  "33": "late",
  "31": "failed",
};

/** A control sequence, or one character. */
const token = new RegExp(
  `${String.fromCharCode(27)}\\[(?<value>[?\\d;]*)(?<command>[A-Za-z])|[^]`,
  "gu",
);

export interface DocsTerminalOptions {
  readonly columns: number;
  /** Progress and errors as well as output; otherwise as after `2>/dev/null`. */
  readonly showsErrors: boolean;
  /** The output goes to a program, not to a screen. */
  readonly isPipe?: boolean;
}

export class DocsTerminal implements Terminal {
  readonly interactive: boolean;
  readonly colours: boolean;
  readonly pendingBytes = 0;
  readonly columns: number;
  readonly rows = 50;
  readonly #lines: Cell[][] = [[]];
  readonly #showsErrors: boolean;
  #row = 0;
  #column = 0;
  #style: Style = "plain";

  constructor({ columns, showsErrors, isPipe = false }: DocsTerminalOptions) {
    this.columns = columns;
    this.interactive = !isPipe;
    this.colours = !isPipe;
    this.#showsErrors = showsErrors;
  }

  write(text: string): void {
    for (const { 0: sign, groups } of text.matchAll(token)) {
      if (groups?.["command"] === undefined) this.#put(sign);
      else this.#obey(groups["command"], groups["value"] ?? "");
    }
  }

  writeError(text: string): void {
    if (this.#showsErrors) this.write(text);
  }

  /** Its present lines, without empty ones at the end. */
  lines(): readonly Line[] {
    const lines = this.#lines.map(runsOf);
    while (lines.at(-1)?.length === 0) lines.pop();
    return lines;
  }

  #put(sign: string): void {
    if (sign === "\r") this.#column = 0;
    else if (sign === "\n") {
      this.#row += 1;
      this.#column = 0;
      this.#lines[this.#row] ??= [];
    } else {
      const line = this.#lines[this.#row] ?? [];
      line[this.#column] = { sign, style: this.#style };
      this.#column += 1;
    }
  }

  #obey(command: string, value: string): void {
    const style = styles[value === "" ? "0" : value];
    if (command === "m" && style !== undefined) this.#style = style;
    else if (command === "A") this.#row = Math.max(0, this.#row - Number(value || 1));
    else if (command === "K") this.#lines[this.#row]?.splice(this.#column);
    else if (command === "J") {
      this.#lines[this.#row]?.splice(this.#column);
      this.#lines.splice(this.#row + 1);
    } else if (!/^\?(7|25)[hl]$/.test(`${value}${command}`)) {
      throw new Error(`no picture can be made of the control sequence ESC[${value}${command}`);
    }
  }
}

/** As it would be copied from the terminal. */
export function textOf(lines: readonly Line[]): string {
  return lines.map((line) => `${line.map(({ text }) => text).join("")}\n`).join("");
}

/** Spaces at the end of a line say nothing. */
function runsOf(cells: readonly Cell[]): Line {
  const runs: { text: string; style: Style }[] = [];
  // A place that was jumped over is a space.
  for (const cell of Array.from(cells, (one) => one ?? { sign: " ", style: "plain" })) {
    const last = runs.at(-1);
    const isBlank = cell.sign === " ";
    if (last !== undefined && (last.style === cell.style || isBlank)) last.text += cell.sign;
    else runs.push({ text: cell.sign, style: isBlank ? "plain" : cell.style });
  }
  const last = runs.at(-1);
  if (last !== undefined) last.text = last.text.trimEnd();
  return runs.filter(({ text }) => text !== "");
}
