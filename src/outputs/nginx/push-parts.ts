// How a push is cut into requests. Parts are small, because a worker that decodes a large one keeps
// its clients waiting meanwhile.
import type { ProxyEntry } from "./proxy-state.ts";

/** Beyond some tens of kilobytes a part is felt by the requests behind it. */
export const partBytes = 32 * 1024;

/**
 * In this order nothing ever refers to what nginx does not know: new services, certificates, users and
 * policies, then the hosts and server names that lead to them; what is removed goes the other way round.
 */
export function partsOf(
  entries: Iterable<ProxyEntry>,
  longestBytes = partBytes,
): readonly (readonly ProxyEntry[])[] {
  const parts: ProxyEntry[][] = [];
  let part: ProxyEntry[] = [];
  let bytes = 0;
  for (const entry of [...entries].sort((one, other) => pushRank(one) - pushRank(other))) {
    const ownBytes = entryBytes(entry);
    if (part.length > 0 && bytes + ownBytes > longestBytes) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(entry);
    bytes += ownBytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** The body of one request. Values are JSON already. */
export function partBody(entries: readonly ProxyEntry[]): string {
  const fields = fieldOfKind.flatMap(([kind, field]) => {
    const values = entries.filter((entry) => entry.kind === kind);
    return values.length === 0 ? [] : [`"${field}":${objectOf(values)}`];
  });
  return `{${fields.join(",")}}`;
}

/** In the order in which new entries are pushed. */
const fieldOfKind: readonly (readonly [ProxyEntry["kind"], string])[] = [
  ["service", "services"],
  ["certificate", "certificates"],
  ["users", "users"],
  ["policy", "policies"],
  ["host", "hosts"],
  ["serverName", "serverNames"],
];

const kinds = fieldOfKind.map(([kind]) => kind);

function objectOf(entries: readonly ProxyEntry[]): string {
  const fields = entries.map(({ name, value }) => `${JSON.stringify(name)}:${value ?? "null"}`);
  return `{${fields.join(",")}}`;
}

export function entryBytes({ name, value }: ProxyEntry): number {
  return Buffer.byteLength(name) + Buffer.byteLength(value ?? "null");
}

/** How many ranks there are. */
export const pushRanks = 2 * kinds.length + 1;

/** Which goes first: the lower. */
export function pushRank({ kind, value }: ProxyEntry): number {
  const rankWhenNew = kinds.indexOf(kind);
  return value === undefined ? 2 * kinds.length - rankWhenNew : rankWhenNew;
}
