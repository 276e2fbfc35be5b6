// A body cut into lines, whatever its chunks are. A line that does not end is not given: half a
// message says nothing.
import { NetworkError } from "../environment/network.ts";

const newline = 0x0a;

export async function* linesOf(
  body: AsyncIterable<Uint8Array>,
  longestBytes: number,
): AsyncGenerator<Uint8Array, void, undefined> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      const rest = chunk.subarray(from, end);
      yield parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
      parts = [];
      bytes = 0;
      from = end + 1;
    }
    if (from === chunk.length) continue;
    parts.push(chunk.subarray(from));
    bytes += chunk.length - from;
    if (bytes > longestBytes) {
      throw new NetworkError("FAILED", `a line is longer than ${longestBytes} bytes`);
    }
  }
}
