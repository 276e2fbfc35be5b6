// JSON.parse for API objects, without their managedFields. They are a third or more of what a server
// sends, made of hundreds of tiny objects that nobody here looks at, and parsing is most of what a
// reflector costs. Finding their end byte by byte is some five times cheaper than parsing them.

const start = Buffer.from(',"managedFields":[');
const quote = 0x22;
const backslash = 0x5c;
const openBracket = 0x5b;
const closeBracket = 0x5d;

/**
 * The value of these bytes with every `managedFields` list left out that is not the first field of
 * its object. The name cannot be met inside a string, where its quotes would be escaped.
 */
export function parseWithoutManagedFields(
  bytes: Buffer,
  from = 0,
  to: number = bytes.length,
): unknown {
  let text = "";
  let keptTo = from;
  for (;;) {
    const at = bytes.indexOf(start, keptTo);
    const end = at === -1 || at >= to ? undefined : listEnd(bytes, at + start.length, to);
    if (end === undefined) {
      return JSON.parse(text + bytes.toString("utf8", keptTo, to));
    }
    text += bytes.toString("utf8", keptTo, at);
    keptTo = end;
  }
}

/** Just behind the bracket that closes the list whose first byte is at `from`. */
function listEnd(bytes: Buffer, from: number, to: number): number | undefined {
  let depth = 1;
  for (let at = from; at < to; at += 1) {
    const byte = bytes[at];
    if (byte === quote) {
      at = stringEnd(bytes, at + 1, to);
    } else if (byte === openBracket) {
      depth += 1;
    } else if (byte === closeBracket) {
      depth -= 1;
      if (depth === 0) {
        return at + 1;
      }
    }
  }
  return undefined;
}

/** Where the quote is that closes the string whose first byte is at `from`. */
function stringEnd(bytes: Buffer, from: number, to: number): number {
  let at = from;
  while (at < to && bytes[at] !== quote) {
    at += bytes[at] === backslash ? 2 : 1;
  }
  return at;
}
