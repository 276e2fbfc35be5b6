// Traefik's services as its API answers them at /api/http/services (serviceRepresentation in
// pkg/api/handler_http.go). Pure. Services without servers, such as weighted ones, are left out:
// the servers are in the services that they lead to.
import { isIp } from "../../environment/ip-address.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import { parsedJson } from "./parsed-json.ts";
import type { Backend, Backends } from "./polled-format.ts";

/** Its pages have 100 services unless asked for more; one answer is one moment. */
export const traefikPath = "/api/http/services?per_page=1000000";

/** Undefined when the answer is not of this kind. */
export function readTraefikServices(body: string): Backends | undefined {
  const services = parsedJson(body);
  if (!Array.isArray(services)) return undefined;
  const backends = new Map<string, Backend>();
  for (const one of services) {
    if (!isRecord(one) || typeof one["name"] !== "string") return undefined;
    const { name, loadBalancer, serverStatus } = one;
    if (!isRecord(loadBalancer)) continue;
    const { servers } = loadBalancer;
    const statuses = isRecord(serverStatus) ? serverStatus : {};
    const endpoints = (Array.isArray(servers) ? servers : []).flatMap((server: unknown) =>
      isRecord(server) && isRoutedTo(server, statuses) ? placeOf(server["url"]) : [],
    );
    backends.set(name, { endpoints });
  }
  return backends;
}

/** A fenced server, of a terminating pod, gets only the requests of its sticky sessions. */
function isRoutedTo({ url, weight, fenced }: RawRecord, statuses: RawRecord): boolean {
  const isUp = typeof url !== "string" || !Object.hasOwn(statuses, url) || statuses[url] === "UP";
  return isUp && fenced !== true && weight !== 0;
}

function placeOf(url: unknown): readonly RoutedEndpoint[] {
  const found = typeof url === "string" ? form.exec(url) : null;
  if (found === null) return [];
  const [, scheme = "", ipv6, name = "", portText] = found;
  const address = ipv6 ?? name;
  const port = portText === undefined ? defaultPort(scheme) : Number(portText);
  return isIp(address) && port > 0 && port <= 65_535 ? [{ address, port }] : [];
}

const form = /^([a-z][a-z0-9+.-]*):\/\/(?:\[([^\]/]+)\]|([^:/[\]]+))(?::(\d{1,5}))?(?:\/.*)?$/s;

function defaultPort(scheme: string): number {
  return scheme === "https" ? 443 : 80;
}
