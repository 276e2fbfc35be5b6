// Only for tests: a terminal that keeps what is written to it. A pipe of 80 columns unless somebody is
// said to look at a screen.
import type { Terminal } from "../../src/environment/terminal.ts";

export class RecordedTerminal implements Terminal {
  out = "";
  error = "";
  pendingBytes = 0;
  readonly interactive: boolean;
  readonly colours = false;
  readonly columns: number;
  readonly rows: number;

  constructor(screen?: Pick<Terminal, "columns" | "rows">) {
    this.interactive = screen !== undefined;
    this.columns = screen?.columns ?? 80;
    this.rows = screen?.rows ?? 24;
  }

  write(text: string): void {
    this.out += text;
  }

  writeError(text: string): void {
    this.error += text;
  }
}
