// The filters and time limits of an HTTPRoute's rule as the policy of a route, or why they cannot be
// honoured. A rule is never served without one of its filters. Pure.
import type {
  HeaderChanges,
  HttpCors,
  HttpRedirect,
  HttpRewrite,
  HttpRouteFilter,
  HttpRouteRule,
  PathChange as WrittenPathChange,
} from "../../../kube/kinds/http-route.ts";
import type {
  BackendHeaders,
  Cors,
  PathChange,
  RedirectStatus,
  RoutePolicy,
} from "../../route-policy.ts";
import { framingHeaders } from "../framing-headers.ts";
import { anyHost, hostOf } from "../host-name.ts";
import { shown } from "../shown-text.ts";
import { decodedPath } from "./decoded-path.ts";

/** Something cannot be honoured; this error never leaves the file. */
class Unsupported extends Error {}

/** A header name as the proxy can compare it. */
export const headerName = /^[A-Za-z0-9-]{1,256}$/;

/** Header values that cannot end a line. */
const headerValue = /^[\x20-\x7e\x80-\xff]*$/;

/** As the proxy has it (proxy/lua/lockstep/policy_entry.lua). */
const maxValueBytes = 4_096;

/** The proxy writes these itself after the route's changes (proxy/headers-direct.conf). */
const ownHeaders =
  /^(x-forwarded-(for|host|port|proto|scheme|prefix|uri|path|method|server)|x-real-ip|x-scheme|x-original-(forwarded-for|url|uri|host|method)|x-rewrite-url|x-host|x-request-id|x-auth-request-redirect|forwarded|proxy)$/;

const redirectStatuses: readonly number[] = [301, 302, 303, 307, 308] satisfies RedirectStatus[];

/** Of a timer of nginx. */
const maxMs = 2 ** 31 - 1;

/** As many filters as the API server takes. */
const maxMirrors = 16;

/** The policy, but for copies of requests, or in words what cannot be honoured. */
export function policyOfRule(rule: HttpRouteRule): RoutePolicy | string {
  const mirrors = rule.filters.filter(({ mirror }) => mirror !== undefined);
  if (mirrors.length > maxMirrors) return `there are more than ${maxMirrors} mirrors`;
  const others = rule.filters.filter(({ type, mirror }) => {
    return type !== "RequestMirror" || mirror === undefined;
  });
  return policyOfFilters(others, () => timeoutsOf(rule));
}

function policyOfFilters(
  filters: readonly HttpRouteFilter[],
  others: () => RoutePolicy = () => ({}),
): RoutePolicy | string {
  try {
    const parts = filters.map(policyOfFilter);
    const seen = filters.map(({ type }) => type);
    const twice = seen.find((type, at) => seen.indexOf(type) !== at);
    if (twice !== undefined) return `filter ${shown(twice)} is there more than once`;
    return Object.assign({}, ...parts, others());
  } catch (error) {
    if (error instanceof Unsupported) return error.message;
    throw error;
  }
}

/** Of the filters of one backend; or in words what cannot be honoured. */
export function headersOfBackend(filters: readonly HttpRouteFilter[]): BackendHeaders | string {
  const other = filters.find(
    ({ type }) => type !== "RequestHeaderModifier" && type !== "ResponseHeaderModifier",
  );
  if (other !== undefined) return `filter ${shown(other.type)} of a backend is not supported`;
  return policyOfFilters(filters);
}

function policyOfFilter({
  type,
  requestHeaders,
  responseHeaders,
  redirect,
  rewrite,
  cors,
}: HttpRouteFilter): RoutePolicy {
  if (type === "RequestHeaderModifier" && requestHeaders !== undefined) {
    return { requestHeaders: headersOf(requestHeaders, true) };
  }
  if (type === "ResponseHeaderModifier" && responseHeaders !== undefined) {
    return { responseHeaders: headersOf(responseHeaders, false) };
  }
  if (type === "RequestRedirect" && redirect !== undefined) return redirectOf(redirect);
  if (type === "URLRewrite" && rewrite !== undefined) return rewriteOf(rewrite);
  if (type === "CORS" && cors !== undefined) return { cors: corsOf(cors) };
  throw new Unsupported(`filter ${shown(type)} is not supported`);
}

/** As many as the API server takes. */
const maxCorsItems = 64;

const originForm = /^(\*|https?:\/\/(\*|(\*\.)?[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?)(:\d{1,5})?)$/;

function corsOf({ allowCredentials, maxAgeSeconds, ...lists }: HttpCors): Cors {
  const itemsOf = (field: keyof typeof lists, isItem: (item: string) => boolean) => {
    const items = lists[field];
    const bad = items.find((item) => !isItem(item));
    if (bad !== undefined) throw new Unsupported(`cors.${field}: ${shown(bad)} is not supported`);
    if (items.length > maxCorsItems) throw new Unsupported(`cors.${field} has too many items`);
    return items;
  };
  if (maxAgeSeconds < 0) throw new Unsupported("cors.maxAge is negative");
  const isName = (item: string) => item === "*" || headerName.test(item);
  return {
    dialect: "gateway",
    allowOrigins: itemsOf("allowOrigins", (item) => originForm.test(item.toLowerCase())),
    allowMethods: itemsOf("allowMethods", (item) => /^(\*|[A-Z]{1,20})$/.test(item)),
    allowHeaders: itemsOf("allowHeaders", isName),
    exposeHeaders: itemsOf("exposeHeaders", isName),
    allowCredentials,
    maxAgeSeconds,
  };
}

/** Clients can send it, and the proxy leaves it as it is. */
export function isClientHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return headerName.test(name) && !framingHeaders.has(lower) && !ownHeaders.test(lower);
}

function headersOf({ set, add, remove }: HeaderChanges, isRequest: boolean): HeaderChanges {
  for (const name of [...remove, ...[...set, ...add].map((one) => one.name)]) {
    if (!headerName.test(name))
      throw new Unsupported(`header name ${shown(name)} is not supported`);
    const isOwn = isRequest ? !isClientHeader(name) : framingHeaders.has(name.toLowerCase());
    if (isOwn) {
      throw new Unsupported(`header ${name} is the proxy's own and cannot be changed`);
    }
  }
  for (const { name, value } of [...set, ...add]) {
    if (!headerValue.test(value) || Buffer.byteLength(value) > maxValueBytes) {
      throw new Unsupported(
        `the value of header ${name} is too long or has characters that a header cannot have`,
      );
    }
  }
  return { set, add, remove };
}

function redirectOf({ scheme, hostname, path, port, status }: HttpRedirect): RoutePolicy {
  if (scheme !== undefined && scheme !== "http" && scheme !== "https") {
    throw new Unsupported(`a redirect to scheme ${shown(scheme)} is not supported`);
  }
  const found = redirectStatuses.find((one) => one === status);
  if (found === undefined)
    throw new Unsupported(`a redirect with status ${status} is not supported`);
  if (port !== undefined && (port < 1 || port > 65_535)) {
    throw new Unsupported(`${port} is not a port`);
  }
  return {
    partRedirect: {
      ...(scheme !== undefined && { scheme }),
      ...(hostname !== undefined && { host: preciseHost(hostname) }),
      ...(port !== undefined && { port }),
      ...(path !== undefined && { path: pathOf(path) }),
      status: found as RedirectStatus,
    },
  };
}

function rewriteOf({ hostname, path }: HttpRewrite): RoutePolicy {
  return {
    ...(hostname !== undefined && { upstreamHost: preciseHost(hostname) }),
    ...(path !== undefined && { pathRewrite: pathOf(path) }),
  };
}

function preciseHost(hostname: string): string {
  const host = hostOf(hostname);
  if (host === undefined || host === anyHost || host.startsWith("*.")) {
    throw new Unsupported(`${shown(hostname)} is not a host name`);
  }
  return host;
}

function pathOf({ type, value }: WrittenPathChange): PathChange {
  const path = decodedPath(value === "" ? "/" : value);
  if (path === undefined) throw new Unsupported(`${shown(value)} is not a path`);
  if (type === "ReplaceFullPath") return { full: path };
  if (type === "ReplacePrefixMatch") return { prefix: path };
  throw new Unsupported(`a path of type ${shown(type)} is not supported`);
}

function timeoutsOf({ requestTimeout, backendRequestTimeout }: HttpRouteRule): RoutePolicy {
  const request = durationMs(requestTimeout);
  const backend = durationMs(backendRequestTimeout);
  return {
    ...(request > 0 && { deadlineMs: request }),
    ...(backend > 0 && { timeouts: { sendMs: backend, readMs: backend } }),
  };
}

const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** 0 for no limit. */
function durationMs(text: string | undefined): number {
  if (text === undefined) return 0;
  const found = durationMsOf(text);
  if (found === undefined) throw new Unsupported(`${shown(text)} is not a duration`);
  return Math.min(found, maxMs);
}

/** Of a text like 1h30m or 500ms. */
export function durationMsOf(text: string): number | undefined {
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) return undefined;
  const parts = [...text.matchAll(/([0-9]+)(ms|h|m|s)/g)];
  return parts.reduce((all, [, count, unit = ""]) => all + Number(count) * (unitMs[unit] ?? 0), 0);
}
