// A size in bytes on the command line: `500M`, `2G`; units are powers of 1,024.
import { InvalidArgumentError } from "commander";

const unitBytes: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** The least is in whole MiB, as the message says it. */
export function byteSize(leastBytes: number): (text: string) => number {
  return (text) => {
    const [, digits, unit = ""] = /^(\d+)([KMG])?i?B?$/i.exec(text) ?? [];
    const bytes = Number(digits) * (unitBytes[unit.toUpperCase()] ?? 1);
    if (bytes >= leastBytes) return bytes;
    const least = `${leastBytes / 2 ** 20}M`;
    throw new InvalidArgumentError(`It must be a size such as 500M or 2G, and ${least} at least.`);
  };
}
