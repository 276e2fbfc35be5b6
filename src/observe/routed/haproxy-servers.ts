// HAProxy's servers as its statistics page answers them in CSV (stats_dump_csv_header in src/stats.c).
// Pure. Both Kubernetes controllers have that page, with `stats show-legends`, without which there
// are no addresses in it.
import { servicesNamed } from "../../access-log/backend-name.ts";
import { isIp } from "../../environment/ip-address.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import type { Backends } from "./polled-format.ts";

/** The page is at `/` unless the address has a path. */
export function haproxyPath(base: string): string {
  return /^https?:\/\/[^/]+$/.test(base) || base === "" ? `${base}/;csv` : `${base};csv`;
}

const header = "# pxname,svname,";

/** The column `type`. */
const backendType = "1";
const serverType = "2";

/** Undefined when the answer is not of this kind, or has no addresses. */
export function readHaproxyServers(body: string): Backends | undefined {
  if (!body.startsWith(header)) return undefined;
  const [names = [], ...rows] = csvRows(body.slice("# ".length));
  const columns = new Map(names.map((name, index) => [name, index]));
  if (["status", "weight", "type", "addr"].some((one) => !columns.has(one))) return undefined;
  const backends = new Map<string, { endpoints: RoutedEndpoint[] }>();
  let [hasServers, hasAddresses] = [false, false];
  for (const row of rows) {
    const cell = (name: string): string => row[columns.get(name) ?? -1] ?? "";
    const type = cell("type");
    if (type !== backendType && type !== serverType) continue;
    const name = cell("pxname");
    const backend = backends.get(name) ?? { endpoints: [] };
    backends.set(name, backend);
    if (type === backendType) continue;
    const address = cell("addr");
    hasServers = true;
    hasAddresses ||= address !== "";
    if (isRoutedTo(cell("status")) && cell("weight") !== "0") {
      backend.endpoints.push(...placeOf(address));
    }
  }
  return hasServers && !hasAddresses ? undefined : backends;
}

/**
 * HAProxy Kubernetes Ingress Controller: `namespace_svc_service_port`, with the name of the Ingress
 * before `svc` for a stand-alone backend (GetBackendName in pkg/service/service.go); before version
 * 3.1, and in configurations made by hand, `namespace-service-port`. HAProxy Ingress:
 * `namespace_service_port` (buildID in pkg/haproxy/types/backends.go). No name in Kubernetes has an
 * underscore.
 */
export function servicesOfHaproxyBackend(name: string): readonly string[] {
  const parts = name.split("_");
  const [namespace = "", second = "", third = "", fourth = ""] = parts;
  if (namespace === "") return [];
  if (parts.length === 5 && third === "svc") return [`${namespace}/${fourth}`];
  if (parts.length === 4 && second === "svc") return [`${namespace}/${third}`];
  if (parts.length === 3) return [`${namespace}/${second}`];
  return parts.length === 1 ? servicesNamed(name) : [];
}

/** `DOWN 1/2` is on its way up and gets nothing; `UP 1/2` and `NOLB` are on their way down. */
function isRoutedTo(status: string): boolean {
  return status === "no check" || status === "UP" || status.startsWith("UP ");
}

function placeOf(text: string): readonly RoutedEndpoint[] {
  const [, ipv6, ipv4 = "", portText] = /^(?:\[([^\]]+)\]|([^:[\]]+)):(\d{1,5})$/.exec(text) ?? [];
  const [address, port] = [ipv6 ?? ipv4, Number(portText)];
  return isIp(address) && port > 0 && port <= 65_535 ? [{ address, port }] : [];
}

/** A cell with commas, quotes or line ends is quoted, and its quotes are doubled. */
function csvRows(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (let at = 0; at < text.length; ) {
    const { cell, end } = text[at] === '"' ? quotedCell(text, at) : plainCell(text, at);
    row.push(cell);
    at = end + 1;
    if (text[end] === ",") continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

function plainCell(text: string, from: number): { cell: string; end: number } {
  let end = from;
  while (end < text.length && text[end] !== "," && text[end] !== "\n") end += 1;
  return { cell: text.slice(from, end), end };
}

/** One that is not closed ends with the text. */
function quotedCell(text: string, from: number): { cell: string; end: number } {
  let quote = text.indexOf('"', from + 1);
  while (quote >= 0 && text[quote + 1] === '"') quote = text.indexOf('"', quote + 2);
  const end = quote < 0 ? text.length : quote;
  return { cell: text.slice(from + 1, end).replaceAll('""', '"'), end: end + 1 };
}
