// The saved state as a file: the pushed entries, for an nginx that comes back alone, and the pods
// of their endpoints, for the next Lockstep. The first line describes the rest and proves that it
// is complete. Each other line is one entry in the form of a push, as
// proxy/lua/lockstep/snapshot.lua takes it, so an entry that nginx would refuse is left out alone.
// After a service, a line that begins with # has the uids of its pods, and which of its endpoints
// were unreliable. Another such line, before all entries, has the number of objects of each watch.
import { crc32 } from "node:zlib";
import type { EndpointState } from "../../decide/decision.ts";
import type { WallMs } from "../../environment/clock.ts";
import { isRecord } from "../../kube/kinds/fields.ts";
import type { RememberedEndpoint, RememberedEndpoints } from "../../model/remembered-endpoint.ts";
import type { ProxyEntry } from "./proxy-state.ts";
import { partBody } from "./push-parts.ts";

/** As in snapshot.lua. */
const kind = "lockstep state";
const format = 2;

const detailsMark = "#";

/** By then its addresses may have passed to the pods of others; as in snapshot.lua. */
export const snapshotAgeMaxMs = 24 * 60 * 60 * 1_000;

/** More than nginx has shared memory for, with what is saved of endpoints; as in snapshot.lua. */
export const snapshotBytesMax = 192 * 1024 * 1024;

export interface SavedState {
  readonly savedAtMs: number;
  readonly services: RememberedEndpoints;
  /** How many objects each watch showed, by its name. */
  readonly known: ReadonlyMap<string, number>;
}

/** Of a service's endpoints, in the order of its value, what nginx need not know. */
export interface EndpointDetails {
  /** Empty where unknown. */
  readonly uids: readonly string[];
  /** Absent when all of them got their share of the requests. */
  readonly states?: readonly EndpointState[] | undefined;
}

export const noDetails: EndpointDetails = { uids: [] };

export function entryLines(entry: ProxyEntry, { uids, states }: EndpointDetails): string {
  const body = partBody([entry]);
  if (states === undefined && uids.every((uid) => uid === "")) return `${body}\n`;
  return `${body}\n${detailsMark}${JSON.stringify({ uids, states })}\n`;
}

export function knownLine(known: ReadonlyMap<string, number>): string {
  return `${detailsMark}${JSON.stringify({ known: Object.fromEntries(known) })}\n`;
}

/** The file, put together portion by portion. */
export class SnapshotContent {
  readonly #portions: Buffer[] = [];
  #bytes = 0;
  #crc32 = 0;

  /** Without the first line. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whole lines. */
  add(lines: string): void {
    const portion = Buffer.from(lines);
    this.#portions.push(portion);
    this.#bytes += portion.byteLength;
    this.#crc32 = crc32(portion, this.#crc32);
  }

  finish(savedAtMs: WallMs): Buffer {
    const header = { kind, format, savedAtMs, bytes: this.#bytes, crc32: this.#crc32 };
    return Buffer.concat([Buffer.from(`${JSON.stringify(header)}\n`), ...this.#portions]);
  }
}

/** The state in the file; undefined when it is incomplete or has another format. */
export function readSnapshot(content: Uint8Array): SavedState | undefined {
  const endOfHeader = content.indexOf("\n".charCodeAt(0));
  if (endOfHeader < 0) return undefined;
  const header = parsed(Buffer.from(content.subarray(0, endOfHeader)).toString("utf8"));
  const lines = content.subarray(endOfHeader + 1);
  if (header?.["kind"] !== kind || header["format"] !== format) return undefined;
  if (header["bytes"] !== lines.byteLength || header["crc32"] !== crc32(lines)) return undefined;
  const services = new Map<string, readonly RememberedEndpoint[]>();
  const all = Buffer.from(lines).toString("utf8").split("\n");
  for (const [index, line] of all.entries()) {
    const entry = parsed(line);
    const [named] = isRecord(entry?.["services"]) ? Object.entries(entry["services"]) : [];
    if (named === undefined) continue;
    services.set(named[0], endpointsOf(named[1], detailsIn(all[index + 1])));
  }
  const known = knownIn(detailsIn(all[0]));
  return { savedAtMs: Number(header["savedAtMs"]), services, known };
}

function knownIn({ known }: Readonly<Record<string, unknown>>): ReadonlyMap<string, number> {
  const counts = isRecord(known) ? Object.entries(known) : [];
  return new Map(
    counts.flatMap(([watch, count]) => (typeof count === "number" ? [[watch, count]] : [])),
  );
}

function detailsIn(line: string | undefined): Readonly<Record<string, unknown>> {
  if (line?.startsWith(detailsMark) !== true) return {};
  return parsed(line.slice(detailsMark.length)) ?? {};
}

function endpointsOf(
  value: unknown,
  details: Readonly<Record<string, unknown>>,
): readonly RememberedEndpoint[] {
  if (!isRecord(value)) return [];
  const [ports, names] = [list(value["ports"]), list(value["names"])];
  const [podUids, states] = [list(details["uids"]), list(details["states"])];
  return list(value["addresses"]).flatMap((address, index): RememberedEndpoint[] => {
    const [port, name, podUid] = [ports[index], names[index], podUids[index]];
    if (typeof address !== "string" || typeof port !== "number") return [];
    const identity = typeof name === "string" ? identityOf(name, address) : undefined;
    if (identity === undefined) return [];
    const hasUid = typeof podUid === "string" && podUid !== "";
    const state = stateOf(states[index]);
    return [{ ...identity, address, port, ...(hasUid && { podUid }), ...(state && { state }) }];
  });
}

function stateOf(value: unknown): RememberedEndpoint["state"] {
  return value === "draining" || value === "suspect" ? value : undefined;
}

/** Of `cluster/namespace/pod` or `cluster/address`; a cluster's name may have slashes itself. */
function identityOf(name: string, address: string) {
  const parts = name.split("/");
  const last = parts.pop();
  const podName = last === address ? undefined : last;
  if (podName !== undefined) parts.pop();
  const cluster = parts.join("/");
  if (cluster === "") return undefined;
  return { cluster, ...(podName !== undefined && { podName }) };
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    // It is not one of our lines.
    return undefined;
  }
}
