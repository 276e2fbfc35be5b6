// The terminal this process was started in.
import { once } from "node:events";
import type { Terminal } from "../terminal.ts";

/** The classic terminal size; our output is made to fit it. */
const usualColumns = 80;
const usualRows = 24;

export function nodeTerminal(): Terminal {
  const interactive = process.stdout.isTTY === true;
  return {
    write: (text) => void process.stdout.write(text),
    writeError: (text) => void process.stderr.write(text),
    get pendingBytes() {
      return process.stdout.writableLength;
    },
    // A write that fails ends the command by its signal.
    drained: async (signal) => {
      if (process.stdout.writableNeedDrain) await once(process.stdout, "drain", { signal });
    },
    interactive,
    colours: interactive && (process.env["NO_COLOR"] ?? "") === "",
    get columns() {
      return process.stdout.columns ?? usualColumns;
    },
    get rows() {
      return process.stdout.rows ?? usualRows;
    },
  };
}
