// Only for tests: a terminal that keeps its output. By default a pipe of 80 columns, unless it is
// interactive.
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
