// The hash by which controllers put ports and subsets in order: that of how go-spew prints a value,
// as pkg/util/hash DeepHashObject has it. The caller prints the value; here is only the digest.
import { createHash } from "node:crypto";

/** MD5 up to 1.34, FNV-1a of 128 bits since. */
export type DeepHash = "md5" | "fnv-128a";

/** Those of equal prints stay in their order. */
export function sortedByHash<T>(
  values: readonly T[],
  hash: DeepHash,
  print: (value: T) => string,
): readonly T[] {
  if (values.length < 2) return values;
  return values
    .map((value) => ({ value, digest: digestOf(print(value), hash) }))
    .sort((one, other) => (one.digest < other.digest ? -1 : one.digest > other.digest ? 1 : 0))
    .map(({ value }) => value);
}

function digestOf(text: string, hash: DeepHash): string {
  return hash === "md5" ? createHash("md5").update(text).digest("hex") : fnv128a(text);
}

/** Go's hash/fnv New128a: the offset basis in words of 32 bits, the lowest first. */
const basis: readonly [number, number, number, number] = [
  0x6295c58d, 0x62b82175, 0x07bb0142, 0x6c62272e,
];
/** The prime is 2⁸⁸ + 0x13b. */
const primeLow = 0x13b;
const wordSize = 2 ** 32;

function fnv128a(text: string): string {
  let [a, b, c, d] = basis;
  for (const byte of Buffer.from(text, "utf8")) {
    const x = (a ^ byte) >>> 0;
    // By the low part of the prime, with carries; then the number shifted by 88 bits on top.
    const low = x * primeLow;
    const second = b * primeLow + Math.floor(low / wordSize);
    const third = c * primeLow + Math.floor(second / wordSize) + ((x << 24) >>> 0);
    const fourth = d * primeLow + Math.floor(third / wordSize) + (((b << 24) | (x >>> 8)) >>> 0);
    a = low % wordSize;
    b = second % wordSize;
    c = third % wordSize;
    d = fourth % wordSize;
  }
  return [d, c, b, a].map((word) => word.toString(16).padStart(8, "0")).join("");
}
