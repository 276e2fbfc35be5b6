// The requests of a log, from chunks of bytes wherever they come from.
import { LineSplitter } from "../environment/line-splitter.ts";
import type { AccessLogEntry } from "./access-log-entry.ts";
import { type AccessLogParser, lineBytesMax } from "./access-log-parser.ts";

/** The parser's report says what became of the lines that are not among them. */
export async function* accessLogEntries(
  chunks: AsyncIterable<Uint8Array>,
  parser: AccessLogParser,
): AsyncGenerator<AccessLogEntry> {
  const splitter = new LineSplitter({ bytesMax: lineBytesMax });
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
