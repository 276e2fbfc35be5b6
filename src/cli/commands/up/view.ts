// Prints the demonstration: lines, and on a terminal one line of counters that is redrawn.
import type { Terminal } from "../../../environment/terminal.ts";
import { paintFor } from "../../terminal/paint.ts";
import { StatusLine } from "../../terminal/progress-line.ts";

/** The same for those who do not read the terminal. */
export interface StoryListener {
  act(number: number, title: string): void;
  step(text: string): void;
  counters(counters: Counters): void;
}

export interface Counters {
  readonly seconds: number;
  /** Simulated seconds, which pass faster than real ones. */
  readonly isVirtual?: true;
  readonly stock: { readonly requests: number; readonly lost: number } | undefined;
  readonly lockstep: { readonly requests: number; readonly lost: number } | undefined;
  /** The current step. */
  readonly waiting: string;
}

/** Interval of the counters without a terminal. */
const plainEverySeconds = 10;

export class Narrator {
  readonly #terminal: Terminal;
  readonly #paint: ReturnType<typeof paintFor>;
  readonly #status: StatusLine;
  readonly #listener: StoryListener | undefined;
  #lastPlain = -plainEverySeconds;

  /** `quiet` prints nothing, for --json. */
  constructor(options: {
    readonly terminal: Terminal;
    readonly quiet: boolean;
    readonly listener?: StoryListener | undefined;
  }) {
    const { terminal, quiet } = options;
    this.#listener = options.listener;
    this.#terminal = quiet ? { ...terminal, interactive: false, write: () => undefined } : terminal;
    this.#paint = paintFor(terminal);
    this.#status = new StatusLine(terminal, (text) => this.#terminal.write(text));
  }

  act(number: number, title: string): void {
    this.#lastPlain = -plainEverySeconds;
    this.#listener?.act(number, title);
    this.#line(`\n${this.#paint.strong(`${number}  ${title}`)}`);
  }

  /** `legend` explains a word of the counters, which the page shows in another form. */
  step(text: string, legend?: string): void {
    this.#listener?.step(text);
    const explained = legend === undefined ? text : `${text} (${legend})`;
    this.#line(`${this.#paint.secondary("›")} ${explained}`);
  }

  judge(holds: boolean, text: string): void {
    this.#line(holds ? `${this.#paint.lockstep("✓")} ${text}` : this.#paint.failed(`✗ ${text}`));
  }

  text(text: string): void {
    this.#line(text);
  }

  late(text: string): void {
    this.#line(this.#paint.late(text));
  }

  counters(counters: Counters): void {
    this.#listener?.counters(counters);
    const text = `  ${countersText(counters)}`;
    if (this.#terminal.interactive) {
      this.#status.draw(text);
    } else if (counters.seconds - this.#lastPlain >= plainEverySeconds) {
      this.#lastPlain = counters.seconds;
      this.#line(text);
    }
  }

  #line(text: string): void {
    this.#status.clear();
    this.#terminal.write(`${text}\n`);
  }
}

/** Both sides get the same requests. */
export function countersText({ seconds, isVirtual, stock, lockstep, waiting }: Counters): string {
  const kind = isVirtual ? "simulated time" : "real time";
  const time = `${kind} ${String(Math.floor(seconds)).padStart(3)} s`;
  if (stock === undefined || lockstep === undefined) return `${time}  ${waiting}`;
  return (
    `${time}  lost of ${stock.requests} requests: stock ${stock.lost}, ` +
    `Lockstep ${lockstep.lost} · ${waiting}`
  );
}
