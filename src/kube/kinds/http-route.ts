// An HTTPRoute of the Gateway API: to which Gateways it is attached, for which hosts, and its rules. A
// GRPCRoute is read to the same form (grpc-route.ts).
// Anything not understood here keeps its name, so that the rule is refused rather than served without it.
import {
  listAt,
  optionalInteger,
  optionalRecordAt,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
  stringsAt,
} from "./fields.ts";
import { type ObjectReference, referenceOf } from "./gateway.ts";
import { type GatewayVersion, gatewayGroup, generationOf } from "./gateway-class.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface HttpRoute {
  readonly kind: RouteKindName;
  readonly metadata: ObjectMeta;
  readonly generation: number;
  readonly parentRefs: readonly ParentRef[];
  readonly hostnames: readonly string[];
  readonly rules: readonly HttpRouteRule[];
  readonly status: unknown;
}

export type RouteKindName = "HTTPRoute" | "GRPCRoute";

export interface ParentRef extends ObjectReference {
  readonly sectionName: string | undefined;
  readonly port: number | undefined;
}

export interface HttpRouteRule {
  readonly matches: readonly HttpRouteMatch[];
  readonly filters: readonly HttpRouteFilter[];
  readonly backendRefs: readonly HttpBackendRef[];
  /** Durations as written. */
  readonly requestTimeout: string | undefined;
  readonly backendRequestTimeout: string | undefined;
  readonly retry: HttpRetry | undefined;
  readonly session: HttpSession | undefined;
  /** Further fields of the rule, which nothing here understands. */
  readonly unread: readonly string[];
}

export interface HttpRetry {
  readonly codes: readonly number[];
  /** Retries, without the first try. */
  readonly attempts: number | undefined;
  /** A duration as written. */
  readonly backoff: string | undefined;
}

export interface HttpSession {
  readonly name: string | undefined;
  /** `Cookie` or `Header`. */
  readonly type: string;
  /** `Session` or `Permanent`. */
  readonly lifetime: string;
  /** Durations as written. */
  readonly absoluteTimeout: string | undefined;
  readonly idleTimeout: string | undefined;
}

export interface HttpRouteMatch {
  readonly pathType: string;
  readonly path: string;
  readonly method: string | undefined;
  readonly headers: readonly FieldMatch[];
  readonly queryParams: readonly FieldMatch[];
  /** Of a gRPC call: it is a POST to `/SERVICE/METHOD`. */
  readonly call?: CallMatch;
}

/** Absent for any. */
export interface CallMatch {
  readonly service?: string;
  readonly method?: string;
  readonly type: string;
}

export interface FieldMatch {
  readonly name: string;
  readonly value: string;
  /** `Exact` unless given. */
  readonly type: string;
}

export interface BackendReference extends ObjectReference {
  readonly port: number | undefined;
}

export interface HttpBackendRef extends BackendReference {
  readonly weight: number;
  readonly filters: readonly HttpRouteFilter[];
}

export interface HttpRouteFilter {
  readonly type: string;
  readonly requestHeaders: HeaderChanges | undefined;
  readonly responseHeaders: HeaderChanges | undefined;
  readonly redirect: HttpRedirect | undefined;
  readonly rewrite: HttpRewrite | undefined;
  readonly cors: HttpCors | undefined;
  readonly mirror: HttpMirror | undefined;
}

export interface HttpMirror {
  readonly backend: BackendReference;
  /** The share of the requests: `numerator` of `denominator`; all when absent. */
  readonly numerator: number | undefined;
  readonly denominator: number;
}

export interface HttpCors {
  readonly allowOrigins: readonly string[];
  readonly allowMethods: readonly string[];
  readonly allowHeaders: readonly string[];
  readonly exposeHeaders: readonly string[];
  readonly allowCredentials: boolean;
  readonly maxAgeSeconds: number;
}

export interface HeaderChanges {
  readonly set: readonly HeaderValue[];
  readonly add: readonly HeaderValue[];
  readonly remove: readonly string[];
}

export interface HeaderValue {
  readonly name: string;
  readonly value: string;
}

export interface PathChange {
  readonly type: string;
  readonly value: string;
}

export interface HttpRedirect {
  readonly scheme: string | undefined;
  readonly hostname: string | undefined;
  readonly path: PathChange | undefined;
  readonly port: number | undefined;
  readonly status: number;
}

export interface HttpRewrite {
  readonly hostname: string | undefined;
  readonly path: PathChange | undefined;
}

export function httpRouteKind(version: GatewayVersion): Kind<HttpRoute> {
  return routeKind(version, "HTTPRoute", "httproutes", ruleOf);
}

export function routeKind(
  version: GatewayVersion,
  name: RouteKindName,
  resource: string,
  rule: (entry: unknown) => HttpRouteRule,
): Kind<HttpRoute> {
  const kind: Kind<HttpRoute> = {
    group: gatewayGroup,
    version,
    kind: name,
    resource,
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      const spec = recordAt(object, "spec");
      return {
        kind: name,
        metadata: projectMetadata(object, kind, similar?.metadata),
        generation: generationOf(object),
        parentRefs: listAt(spec, "parentRefs").map(parentRefOf),
        hostnames: stringsAt(spec, "hostnames"),
        // Of an HTTPRoute the API server writes this rule where the author gave none.
        rules: listAt(spec, "rules").map(rule),
        status: object["status"],
      };
    },
  };
  return kind;
}

function parentRefOf(entry: unknown): ParentRef {
  const parent = requiredRecord(entry, "a parentRef");
  return {
    ...referenceOf(parent, "Gateway"),
    group: optionalString(parent, "group") ?? gatewayGroup,
    sectionName: optionalString(parent, "sectionName"),
    port: optionalInteger(parent, "port"),
  };
}

const readFields: ReadonlySet<string> = new Set([
  "name",
  "matches",
  "filters",
  "backendRefs",
  "timeouts",
  "retry",
  "sessionPersistence",
]);

function ruleOf(entry: unknown): HttpRouteRule {
  const rule = requiredRecord(entry, "a rule");
  const timeouts = recordAt(rule, "timeouts");
  const retry = optionalRecordAt(rule, "retry");
  const session = optionalRecordAt(rule, "sessionPersistence");
  return {
    matches: listAt(rule, "matches").map(matchOf),
    filters: listAt(rule, "filters").map(filterOf),
    backendRefs: listAt(rule, "backendRefs").map(backendRefOf),
    requestTimeout: optionalString(timeouts, "request"),
    backendRequestTimeout: optionalString(timeouts, "backendRequest"),
    retry: retry && retryOf(retry),
    session: session && sessionOf(session),
    unread: Object.keys(rule).filter((name) => !readFields.has(name) && rule[name] !== null),
  };
}

function retryOf(retry: RawRecord): HttpRetry {
  return {
    codes: listAt(retry, "codes").filter((code) => typeof code === "number"),
    attempts: optionalInteger(retry, "attempts"),
    backoff: optionalString(retry, "backoff"),
  };
}

function sessionOf(session: RawRecord): HttpSession {
  const cookie = recordAt(session, "cookieConfig");
  return {
    name: optionalString(session, "sessionName"),
    type: optionalString(session, "type") ?? "Cookie",
    lifetime: optionalString(cookie, "lifetimeType") ?? "Session",
    absoluteTimeout: optionalString(session, "absoluteTimeout"),
    idleTimeout: optionalString(session, "idleTimeout"),
  };
}

function matchOf(entry: unknown): HttpRouteMatch {
  const match = requiredRecord(entry, "a match");
  const path = recordAt(match, "path");
  return {
    pathType: optionalString(path, "type") ?? "PathPrefix",
    path: optionalString(path, "value") ?? "/",
    method: optionalString(match, "method"),
    headers: listAt(match, "headers").map(fieldMatchOf),
    queryParams: listAt(match, "queryParams").map(fieldMatchOf),
  };
}

export function fieldMatchOf(entry: unknown): FieldMatch {
  const match = requiredRecord(entry, "a match of a field");
  return {
    name: optionalString(match, "name") ?? "",
    value: optionalString(match, "value") ?? "",
    type: optionalString(match, "type") ?? "Exact",
  };
}

export function backendRefOf(entry: unknown): HttpBackendRef {
  const backend = requiredRecord(entry, "a backendRef");
  return {
    ...backendReferenceOf(backend),
    weight: optionalInteger(backend, "weight") ?? 1,
    filters: listAt(backend, "filters").map(filterOf),
  };
}

function backendReferenceOf(backend: RawRecord): BackendReference {
  return { ...referenceOf(backend, "Service"), port: optionalInteger(backend, "port") };
}

export function filterOf(entry: unknown): HttpRouteFilter {
  const filter = requiredRecord(entry, "a filter");
  const requestHeaders = optionalRecordAt(filter, "requestHeaderModifier");
  const responseHeaders = optionalRecordAt(filter, "responseHeaderModifier");
  const redirect = optionalRecordAt(filter, "requestRedirect");
  const rewrite = optionalRecordAt(filter, "urlRewrite");
  const cors = optionalRecordAt(filter, "cors");
  const mirror = optionalRecordAt(filter, "requestMirror");
  return {
    type: optionalString(filter, "type") ?? "",
    requestHeaders: requestHeaders && headerChangesOf(requestHeaders),
    responseHeaders: responseHeaders && headerChangesOf(responseHeaders),
    redirect: redirect && redirectOf(redirect),
    rewrite: rewrite && {
      hostname: optionalString(rewrite, "hostname"),
      path: pathChangeAt(rewrite),
    },
    cors: cors && corsOf(cors),
    mirror: mirror && mirrorOf(mirror),
  };
}

function mirrorOf(mirror: RawRecord): HttpMirror {
  const fraction = optionalRecordAt(mirror, "fraction");
  return {
    backend: backendReferenceOf(recordAt(mirror, "backendRef")),
    numerator: optionalInteger(fraction ?? {}, "numerator") ?? optionalInteger(mirror, "percent"),
    denominator: optionalInteger(fraction ?? {}, "denominator") ?? 100,
  };
}

function corsOf(cors: RawRecord): HttpCors {
  return {
    allowOrigins: stringsAt(cors, "allowOrigins"),
    allowMethods: stringsAt(cors, "allowMethods"),
    allowHeaders: stringsAt(cors, "allowHeaders"),
    exposeHeaders: stringsAt(cors, "exposeHeaders"),
    allowCredentials: cors["allowCredentials"] === true,
    maxAgeSeconds: optionalInteger(cors, "maxAge") ?? 5,
  };
}

function headerChangesOf(changes: RawRecord): HeaderChanges {
  return {
    set: listAt(changes, "set").map(headerValueOf),
    add: listAt(changes, "add").map(headerValueOf),
    remove: stringsAt(changes, "remove"),
  };
}

function headerValueOf(entry: unknown): HeaderValue {
  const header = requiredRecord(entry, "a header");
  return {
    name: optionalString(header, "name") ?? "",
    value: optionalString(header, "value") ?? "",
  };
}

function redirectOf(redirect: RawRecord): HttpRedirect {
  return {
    scheme: optionalString(redirect, "scheme"),
    hostname: optionalString(redirect, "hostname"),
    path: pathChangeAt(redirect),
    port: optionalInteger(redirect, "port"),
    status: optionalInteger(redirect, "statusCode") ?? 302,
  };
}

function pathChangeAt(record: RawRecord): PathChange | undefined {
  const path = optionalRecordAt(record, "path");
  if (path === undefined) return undefined;
  const type = optionalString(path, "type") ?? "";
  const field = type === "ReplaceFullPath" ? "replaceFullPath" : "replacePrefixMatch";
  return { type, value: optionalString(path, field) ?? "" };
}
