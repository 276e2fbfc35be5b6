// The memory that an entry uses in nginx, and the capacity for all entries. The count is the memory
// that is really allocated: the allocator of the shared memory rounds sizes up. Data that a worker
// derives from an entry counts too, because it lives as long.
import { FairShare } from "../../decide/fair-share.ts";
import { compiledBytes } from "../../decide/routing/regex.ts";
import type { PushedRule } from "./host-entry.ts";

const mib = 1024 * 1024;

/**
 * Half of lockstep_state (64 MB in proxy/nginx.conf) without the reserve that writer.lua keeps: a full
 * load holds everything twice.
 */
export const routesCapacityBytes = 28 * mib;

/** The same of lockstep_certificates (192 MB). */
export const certificatesCapacityBytes = 92 * mib;

/** One entry is pushed in one request, which may have 4 MB (proxy/nginx.conf). */
const entryBytesMax = 3 * mib;

/** Of a node in the dictionary, and of its key before the name. */
const nodeBytes = 72;
const keyBytes = 16;

const pageBytes = 4_096;

/** A rule that a worker has decoded is a table of its own, with what is made of its policy. */
const ruleBytes = 256;

/** One for routes and all they refer to, and one for certificates. */
export type MemoryName = "routes" | "certificates";

export type MemoryCapacity = Readonly<Record<MemoryName, number>>;

export const usualCapacity: MemoryCapacity = {
  routes: routesCapacityBytes,
  certificates: certificatesCapacityBytes,
};

export function newMemory(capacityBytes: number): FairShare {
  return new FairShare({ capacityBytes, entryBytesMax });
}

/** As nginx's slab allocator rounds: to a power of two, or from half a page on to whole pages. */
export function storedBytes(name: string, text: string): number {
  const bytes = nodeBytes + keyBytes + Buffer.byteLength(name) + Buffer.byteLength(text);
  if (bytes > pageBytes / 2) return Math.ceil(bytes / pageBytes) * pageBytes;
  return 2 ** Math.ceil(Math.log2(bytes));
}

/** In each worker that has decoded them. */
export function decodedBytes(rules: readonly PushedRule[]): number {
  let bytes = rules.length * ruleBytes;
  for (const { path, type, canaries = [], when } of rules) {
    if (type === "Regex") bytes += compiledBytes(path);
    for (const { pattern } of [...(when?.headers ?? []), ...(when?.query ?? [])]) {
      bytes += ruleBytes + (pattern === undefined ? 0 : compiledBytes(pattern));
    }
    for (const { header } of canaries) {
      if (header?.pattern !== undefined) bytes += compiledBytes(header.pattern);
    }
  }
  return bytes;
}
