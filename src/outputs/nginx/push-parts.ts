// How a push is cut into requests. Parts are small, because a worker that decodes a large one keeps
// its clients waiting meanwhile.
import type { ProxyEntry } from "./proxy-state.ts";

/** Beyond some tens of kilobytes a part is felt by the requests behind it. */
export const partBytes = 32 * 1024;

/**
 * In this order no host ever refers to a service that nginx does not know: new services, new rules,
 * removed hosts, removed services.
 */
export function partsOf(
  entries: Iterable<ProxyEntry>,
  longestBytes = partBytes,
): readonly (readonly ProxyEntry[])[] {
  const parts: ProxyEntry[][] = [];
  let part: ProxyEntry[] = [];
  let bytes = 0;
  for (const entry of [...entries].sort((one, other) => rank(one) - rank(other))) {
    const entryBytes = Buffer.byteLength(entry.name) + Buffer.byteLength(entry.value ?? "null");
    if (part.length > 0 && bytes + entryBytes > longestBytes) {
      parts.push(part);
      part = [];
      bytes = 0;
    }
    part.push(entry);
    bytes += entryBytes;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

/** The body of one request. Values are JSON already. */
export function partBody(entries: readonly ProxyEntry[]): string {
  return `{"services":${objectOf(entries, "service")},"hosts":${objectOf(entries, "host")}}`;
}

function objectOf(entries: readonly ProxyEntry[], kind: ProxyEntry["kind"]): string {
  const fields = entries
    .filter((entry) => entry.kind === kind)
    .map(({ name, value }) => `${JSON.stringify(name)}:${value ?? "null"}`);
  return `{${fields.join(",")}}`;
}

function rank({ kind, value }: ProxyEntry): number {
  if (value === undefined) return kind === "host" ? 2 : 3;
  return kind === "service" ? 0 : 1;
}
