import { expect, test } from "vitest";
import { Screen } from "./screen.ts";

const escapeSign = String.fromCharCode(27);

/** Sequences that move the cursor or clear, ends of lines, and text. */
const pieces = new RegExp(`${escapeSign}\\[[?\\d]*[A-Za-z]|[\\r\\n]|[^\\r\\n${escapeSign}]+`, "g");

/** A terminal that keeps what is on it, as far as a screen uses one. */
class FakeTerminal {
  readonly pendingBytes = 0;
  readonly interactive = true;
  readonly colours = false;
  readonly rows = 24;
  columns = 40;
  writes = 0;
  hasCursor = true;
  readonly #lines: string[] = [""];
  #row = 0;
  #column = 0;

  get lines(): readonly string[] {
    return this.#lines;
  }

  write(text: string): void {
    this.writes += 1;
    for (const [piece] of text.matchAll(pieces)) {
      this.#obey(piece);
    }
  }

  writeError(): void {
    throw new Error("a screen writes to one place");
  }

  /** Wraps the lines again, as some terminals do. */
  narrow(columns: number): void {
    const broken = this.#lines.flatMap((line) =>
      line === "" ? [""] : (line.match(new RegExp(`.{1,${columns}}`, "g")) ?? []),
    );
    this.#lines.splice(0, this.#lines.length, ...broken);
    this.#row = this.#lines.length - 1;
    this.columns = columns;
  }

  #obey(piece: string): void {
    if (piece.endsWith("A") && piece.startsWith("\u001b["))
      this.#row -= Number.parseInt(piece.slice(2), 10);
    else if (piece === "\r") this.#column = 0;
    else if (piece === "\n") this.#newLine();
    else if (piece === "\u001b[K") this.#set(this.#here().slice(0, this.#column));
    else if (piece === "\u001b[J") this.#clearBelow();
    else if (piece === "\u001b[?25l") this.hasCursor = false;
    else if (piece === "\u001b[?25h") this.hasCursor = true;
    else if (!piece.startsWith("\u001b")) this.#put(piece);
  }

  #newLine(): void {
    this.#row += 1;
    this.#column = 0;
    if (this.#row === this.#lines.length) this.#lines.push("");
  }

  #clearBelow(): void {
    this.#set(this.#here().slice(0, this.#column));
    this.#lines.splice(this.#row + 1);
  }

  #put(text: string): void {
    const here = this.#here();
    this.#set(here.slice(0, this.#column) + text + here.slice(this.#column + text.length));
    // Behind a full line the cursor stays on its last character.
    this.#column = Math.min(this.#column + text.length, this.columns - 1);
  }

  #here(): string {
    return this.#lines[this.#row] ?? "";
  }

  #set(text: string): void {
    this.#lines[this.#row] = text;
  }
}

test("what is printed stays, and the live part is always below it", () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal);
  screen.draw([], ["live 1", "a longer footer"]);
  screen.draw(["printed 1"], ["live 2", "footer"]);
  screen.draw(["printed 2", "printed 3"], ["live 3", "live 4", "footer"]);
  screen.draw(["printed 4"], ["footer"]);
  expect(terminal.lines).toEqual(["printed 1", "printed 2", "printed 3", "printed 4", "footer"]);
  expect(terminal.hasCursor).toBe(false);
});

test("a frame that is like the one before is not written", () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal);
  screen.draw([], ["live", "footer"]);
  screen.draw([], ["live", "footer"]);
  expect(terminal.writes).toBe(1);
});

test("at the end the live part is gone, the cursor is back, and nothing is drawn any more", () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal);
  screen.draw(["printed"], ["live", "footer"]);
  screen.end();
  screen.end();
  screen.draw(["late"], ["late"]);
  expect(terminal.lines).toEqual(["printed", ""]);
  expect(terminal.hasCursor).toBe(true);
});

test("a window that becomes narrower breaks lines, and they are all drawn over", () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal);
  screen.draw(["printed"], ["x".repeat(40), "y".repeat(40)]);
  terminal.narrow(20);
  screen.draw([], ["x".repeat(20), "y".repeat(20)]);
  expect(terminal.lines).toEqual(["printed", "x".repeat(20), "y".repeat(20)]);
});

test("a line that fills the window keeps its last character", () => {
  const terminal = new FakeTerminal();
  const screen = new Screen(terminal);
  const full = (letter: string) => `${letter.repeat(39)}…`;
  screen.draw([], [full("z")]);
  expect(terminal.lines).toEqual([full("z")]);
  screen.draw([full("a")], [full("y"), full("z")]);
  expect(terminal.lines).toEqual([full("a"), full("y"), full("z")]);
});
