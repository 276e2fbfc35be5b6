// A GRPCRoute of the Gateway API, read as the HTTPRoute that it stands for: a gRPC call is a POST to the
// path `/SERVICE/METHOD`.
import {
  listAt,
  optionalRecordAt,
  optionalString,
  type RawRecord,
  requiredRecord,
} from "./fields.ts";
import type { GatewayVersion } from "./gateway-class.ts";
import {
  backendRefOf,
  type CallMatch,
  fieldMatchOf,
  filterOf,
  type HttpRoute,
  type HttpRouteFilter,
  type HttpRouteMatch,
  type HttpRouteRule,
  routeKind,
} from "./http-route.ts";
import type { Kind } from "./kind.ts";

export function grpcRouteKind(version: GatewayVersion): Kind<HttpRoute> {
  return routeKind(version, "GRPCRoute", "grpcroutes", ruleOf);
}

const readFields: ReadonlySet<string> = new Set(["name", "matches", "filters", "backendRefs"]);

function ruleOf(entry: unknown): HttpRouteRule {
  const rule = requiredRecord(entry, "a rule");
  const matches = listAt(rule, "matches").map(matchOf);
  return {
    matches: matches.length === 0 ? [matchOf({})] : matches,
    filters: listAt(rule, "filters").map(grpcFilterOf),
    backendRefs: listAt(rule, "backendRefs").map((one) => ({
      ...backendRefOf(one),
      filters: listAt(requiredRecord(one, "a backendRef"), "filters").map(grpcFilterOf),
    })),
    requestTimeout: undefined,
    backendRequestTimeout: undefined,
    retry: undefined,
    session: undefined,
    unread: Object.keys(rule).filter((name) => !readFields.has(name) && rule[name] !== null),
  };
}

function matchOf(entry: unknown): HttpRouteMatch {
  const match = requiredRecord(entry, "a match");
  const call = callAt(match);
  return {
    pathType: "PathPrefix",
    path: "/",
    method: "POST",
    headers: listAt(match, "headers").map(fieldMatchOf),
    queryParams: [],
    ...(call !== undefined && { call }),
  };
}

/** An empty text is none. */
function callAt(match: RawRecord): CallMatch | undefined {
  const call = optionalRecordAt(match, "method") ?? {};
  const service = optionalString(call, "service") ?? "";
  const method = optionalString(call, "method") ?? "";
  if (service === "" && method === "") return undefined;
  return {
    type: optionalString(call, "type") ?? "Exact",
    ...(service !== "" && { service }),
    ...(method !== "" && { method }),
  };
}

/** Of the filters that an HTTPRoute has, those that a GRPCRoute may have and that are supported. */
const knownFilters: ReadonlySet<string> = new Set([
  "RequestHeaderModifier",
  "ResponseHeaderModifier",
]);

function grpcFilterOf(entry: unknown): HttpRouteFilter {
  const filter = requiredRecord(entry, "a filter");
  const type = optionalString(filter, "type") ?? "";
  return filterOf(knownFilters.has(type) ? filter : { type });
}
