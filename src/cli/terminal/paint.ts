// The colours of the terminal, each with one meaning: blue for Lockstep, grey for secondary text,
// amber for late, red for lost or failed. Without colours the text is the same.
import type { Terminal } from "../../environment/terminal.ts";

export interface Paint {
  readonly strong: (text: string) => string;
  readonly lockstep: (text: string) => string;
  readonly secondary: (text: string) => string;
  readonly late: (text: string) => string;
  readonly failed: (text: string) => string;
}

export function paintFor(terminal: Pick<Terminal, "colours">): Paint {
  const wrap = (code: string) => (text: string) =>
    terminal.colours ? `\u001b[${code}m${text}\u001b[0m` : text;
  return {
    strong: wrap("1"),
    lockstep: wrap("34"),
    secondary: wrap("90"),
    late: wrap("33"),
    failed: wrap("31"),
  };
}
