// The requests of a log, from chunks of bytes wherever they come from.
import type { AccessLogEntry } from "./access-log-entry.ts";
import type { AccessLogParser } from "./access-log-parser.ts";
import { LineSplitter } from "./line-splitter.ts";

/** The parser's report says what became of the lines that are not among them. */
export async function* accessLogEntries(
  chunks: AsyncIterable<Uint8Array>,
  parser: AccessLogParser,
): AsyncGenerator<AccessLogEntry> {
  const splitter = new LineSplitter();
  for await (const chunk of chunks) {
    for (const line of splitter.push(chunk)) {
      const entry = parser.read(line);
      if (entry !== undefined) yield entry;
    }
  }
  for (const line of splitter.end()) {
    const entry = parser.read(line);
    if (entry !== undefined) yield entry;
  }
}
