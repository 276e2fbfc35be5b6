// ingress-nginx's backends as its nginx answers them at /configuration/backends: the JSON that its
// controller handed over last (handle_backends in rootfs/etc/nginx/lua/configuration.lua; Backend in
// pkg/apis/ingress/types.go). Pure. Names are of ports and may mean several services.
import { isIp } from "../../environment/ip-address.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import { parsedJson } from "./parsed-json.ts";
import type { Backend, Backends } from "./polled-format.ts";

/** Answered without changing anything: the path takes POST as well, GET only reads. */
export const backendsPath = "/configuration/backends";

/** The text that its Lua prints before the first configuration. */
const nothingYet = "nil";

/** Without backends that lead to no pods. Undefined when the answer is not of this kind. */
export function readBackends(body: string): Backends | undefined {
  if (body.trim() === nothingYet) return new Map();
  const list = parsedJson(body);
  if (!Array.isArray(list)) return undefined;
  const backends = new Map<string, Backend>();
  for (const one of list) {
    if (!isRecord(one) || typeof one["name"] !== "string") return undefined;
    const endpoints = endpointsOf(one);
    if (leadsToPods(one, endpoints)) backends.set(one["name"], { endpoints });
  }
  return backends;
}

function endpointsOf({ endpoints }: RawRecord & { readonly endpoints?: unknown }) {
  if (!Array.isArray(endpoints)) return [];
  return endpoints.flatMap((one: unknown): RoutedEndpoint[] => {
    if (!isRecord(one) || typeof one["address"] !== "string") return [];
    const port = Number(one["port"]);
    const isPort = Number.isInteger(port) && port > 0 && port <= 65_535;
    const isPlace = isPort && isIp(one["address"]);
    return isPlace ? [{ address: one["address"], port }] : [];
  });
}

/** Not to an external name, nor, as `service-upstream` has it, to the service's own address. */
function leadsToPods(backend: RawRecord, endpoints: readonly RoutedEndpoint[]): boolean {
  const service = backend["service"];
  const spec = isRecord(service) ? service["spec"] : undefined;
  if (!isRecord(spec)) return true;
  const isOwn = ({ address }: RoutedEndpoint): boolean => address === spec["clusterIP"];
  return spec["type"] !== "ExternalName" && !endpoints.some(isOwn);
}
