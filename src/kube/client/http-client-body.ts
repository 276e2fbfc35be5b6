// Response bodies on their way to the caller: counted, watched for their end, and bounded when they
// are read whole.
import { NetworkError } from "../../environment/network.ts";

export interface BodyMeter {
  received(bytes: number): void;
  /** The body has ended, broken, or was left. Idempotent. */
  over(): void;
}

/** The same chunks; tells the meter of each and of the end. */
export async function* meteredBody(
  body: AsyncIterable<Uint8Array>,
  meter: BodyMeter,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    for await (const chunk of body) {
      meter.received(chunk.length);
      yield chunk;
    }
  } finally {
    meter.over();
  }
}

/** Beyond the bound it fails, or with `cut` gives the beginning and leaves the rest. */
export async function readBounded(
  body: AsyncIterable<Uint8Array>,
  longestBytes: number,
  what: string,
  beyond: "fail" | "cut" = "fail",
): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes <= longestBytes) continue;
    if (beyond === "cut") break;
    throw new NetworkError(
      "FAILED",
      `${what}: the answer is longer than ${longestBytes} bytes; ask for it in pages (limit=500)`,
    );
  }
  return Buffer.concat(chunks).subarray(0, longestBytes);
}
