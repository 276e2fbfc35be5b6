// The rules of an HTTPRoute or a GRPCRoute as routes of the neutral model, for the hosts and ports of the
// listeners that it is attached to. A rule that cannot be honoured is answered with an error. Pure.
import type {
  CallMatch,
  FieldMatch,
  HttpRoute,
  HttpRouteMatch,
  RouteKindName,
} from "../../../kube/kinds/http-route.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { FieldCondition, RouteConditions } from "../../route-conditions.ts";
import type { RoutePolicy } from "../../route-policy.ts";
import { regexProblem } from "../regex.ts";
import type { Route, RouteMatch, RouteOrigin } from "../route.ts";
import { shown } from "../shown-text.ts";
import { decodedPath } from "./decoded-path.ts";
import { tableNames } from "./gateway-hosts.ts";
import {
  type BackendFacts,
  type BackendProblem,
  backendsOfRule,
  mirrorsOfRule,
} from "./route-backends.ts";
import { headerName, policyOfRule } from "./route-filters.ts";
import { retryOfRule } from "./route-retry.ts";
import { sessionOfRule } from "./route-session.ts";

/** The hosts by which a route can be reached. */
export interface ReachedHost {
  readonly host: string;
  /** The Gateway by which it has the host. */
  readonly gateway: RouteOrigin;
  /** Undefined for all that the proxy has. */
  readonly ports: readonly number[] | undefined;
  /** That the Gateway has for itself; undefined for all that the proxy has. */
  readonly address: string | undefined;
}

export interface HttpRouteRules {
  readonly routes: readonly Route[];
  readonly references: readonly BackendProblem[];
  /** Rules that are answered with an error, and why. */
  readonly refused: readonly string[];
  /** Parts of rules that are served without them. */
  readonly ignored: readonly string[];
  readonly ruleCount: number;
}

export function httpRouteOrigin({ kind, metadata }: HttpRoute): RouteOrigin {
  const { namespace, name, creationTimestamp, deletionTimestamp } = metadata;
  const createdAtMs = creationTimestamp ?? Number.POSITIVE_INFINITY;
  const origin: RouteOrigin = { kind, namespace, name, createdAtMs };
  return deletionTimestamp === undefined ? origin : { ...origin, isLeaving: true };
}

/** As the proxy has it (proxy/lua/lockstep/policy_entry.lua). */
const maxValueBytes = 4_096;

/** Of one object; to look at one takes up to some milliseconds. */
const maxRegexes = 64;

/** Of one object: names times paths. */
const maxRoutes = 20_000;

interface KindTerms {
  /** Of every rule that is served. */
  readonly policy: RoutePolicy;
  readonly refused: RoutePolicy;
  readonly refusal: string;
}

const termsOf: Readonly<Record<RouteKindName, KindTerms>> = {
  HTTPRoute: { policy: {}, refused: { refuse: 500 }, refusal: "500" },
  // A gRPC client reads this status as UNAVAILABLE.
  GRPCRoute: { policy: { protocol: "grpc" }, refused: { refuse: 503 }, refusal: "UNAVAILABLE" },
};

const everything: HttpRouteMatch = {
  pathType: "PathPrefix",
  path: "/",
  method: undefined,
  headers: [],
  queryParams: [],
};

interface Plan {
  readonly match: RouteMatch;
  readonly policy: RoutePolicy | undefined;
  readonly backend: Route["backend"];
  readonly shares: NonNullable<Route["shares"]>;
  readonly mirrors: NonNullable<Route["mirrors"]>;
}

export function httpRouteRules(
  route: HttpRoute,
  reached: readonly ReachedHost[],
  facts: BackendFacts,
): HttpRouteRules {
  const terms = termsOf[route.kind];
  const plans: Plan[] = [];
  const references: BackendProblem[] = [];
  const refused: string[] = [];
  const ignored: string[] = [];
  let regexes = 0;
  for (const [index, rule] of route.rules.entries()) {
    const where = `spec.rules[${index}]`;
    const policy = policyOfRule(rule);
    const backends = backendsOfRule(rule, route, facts);
    const copies = mirrorsOfRule(rule, route, facts);
    references.push(...backends.problems.filter(({ reason }) => reason !== undefined));
    references.push(...copies.problems);
    const unfit = backends.problems.find(({ reason }) => reason === undefined);
    const problem = typeof policy === "string" ? policy : unfit?.message;
    if (problem !== undefined) {
      refused.push(`${where}: ${problem}, so its requests are answered with ${terms.refusal}`);
    }
    if (rule.unread.length > 0) {
      ignored.push(`${where}: ${rule.unread.map(shown).join(", ")} is not supported and ignored`);
    }
    const retry = retryOfRule(rule);
    ignored.push(...retry.ignored.map((one) => `${where}.retry: ${one}`));
    const session = sessionOfRule(rule, `${objectKey(route.metadata)} ${index}`);
    ignored.push(...session.ignored.map((one) => `${where}.sessionPersistence: ${one}`));
    const matches = rule.matches.length === 0 ? [everything] : rule.matches;
    for (const [at, match] of matches.entries()) {
      const found = matchOf(match);
      if (typeof found === "string") {
        refused.push(`${where}.matches[${at}]: ${found}, so it matches nothing`);
        continue;
      }
      regexes += regexCount(found);
      if (regexes > maxRegexes) {
        refused.push(`${where}.matches[${at}]: the route has more than ${maxRegexes} expressions`);
        continue;
      }
      if (problem !== undefined || typeof policy === "string") {
        const nothing = { backend: undefined, shares: [], mirrors: [] };
        plans.push({ match: found, policy: terms.refused, ...nothing });
      } else {
        const { backend, headers, shares } = backends;
        const whole: RoutePolicy = {
          ...terms.policy,
          ...policy,
          ...retry.policy,
          ...session.policy,
          ...(Object.keys(headers).length > 0 && { ownHeaders: headers }),
          ...(copies.mirrors.length > 0 && { mirrors: copies.mirrors }),
        };
        const serving = servingPolicy(whole, backend, shares, terms.refused);
        const mirrors = serving?.mirrors === undefined ? [] : copies.backends;
        plans.push({ match: found, policy: serving, backend, shares, mirrors });
      }
    }
  }
  const origin = httpRouteOrigin(route);
  const routes = reached.flatMap(({ host, gateway, ...place }) =>
    tableNames(host).flatMap((name) =>
      plans.map((plan): Route => {
        const { match, policy, backend, shares, mirrors } = plan;
        return {
          host: name,
          match: reachedAt(match, place),
          backend,
          ...(shares.length > 0 && { shares }),
          ...(mirrors.length > 0 && { mirrors }),
          standing: "rule",
          policy,
          canary: undefined,
          origin,
          gateway,
        };
      }),
    ),
  );
  if (routes.length > maxRoutes) {
    ignored.push(
      `host names times matches give more than ${maxRoutes} rules; the last are ignored`,
    );
  }
  return {
    routes: routes.slice(0, maxRoutes),
    references,
    refused,
    ignored,
    ruleCount: route.rules.length,
  };
}

/** A rule without any valid backend is answered here, and so is one that only redirects. */
function servingPolicy(
  policy: RoutePolicy,
  backend: Route["backend"],
  shares: readonly object[],
  refused: RoutePolicy,
): RoutePolicy | undefined {
  if (policy.partRedirect !== undefined) return policy;
  if (backend === undefined && shares.length === 0) return refused;
  // Where a part of the requests leads nowhere, something has to look at each of them.
  return Object.keys(policy).length === 0 ? undefined : policy;
}

function reachedAt(
  match: RouteMatch,
  { ports, address }: Pick<ReachedHost, "ports" | "address">,
): RouteMatch {
  const place = {
    ...(ports !== undefined && { ports }),
    ...(address !== undefined && { addresses: [address] }),
  };
  return Object.keys(place).length === 0 ? match : { ...match, when: { ...place, ...match.when } };
}

function regexCount({ type, when }: RouteMatch): number {
  const fields = [...(when?.elements ?? []), ...(when?.headers ?? []), ...(when?.query ?? [])];
  const patterns = fields.filter(({ pattern }) => pattern !== undefined).length;
  return patterns + (type === "Regex" ? 1 : 0);
}

/** The match, or what is wrong with it. */
function matchOf(match: HttpRouteMatch): RouteMatch | string {
  const { pathType, path, method, headers, queryParams, call } = match;
  const decoded = pathType === "RegularExpression" ? path : decodedPath(path);
  if (decoded === undefined || !decoded.startsWith("/")) {
    return `${shown(path)} is not a path that begins with a slash`;
  }
  if (method !== undefined && !/^[A-Z]{1,20}$/.test(method)) return "method is not supported";
  const ofHeaders = conditionsOf(headers, (name) => name.toLowerCase());
  if (typeof ofHeaders === "string") return `headers: ${ofHeaders}`;
  const ofQuery = conditionsOf(queryParams, (name) => name);
  if (typeof ofQuery === "string") return `queryParams: ${ofQuery}`;
  const called = call === undefined ? {} : calledPath(call);
  if (typeof called === "string") return called;
  const { elements } = called;
  const when: RouteConditions = {
    ...(method !== undefined && { method }),
    ...(elements !== undefined && { elements }),
    ...(ofHeaders.length > 0 && { headers: ofHeaders }),
    ...(ofQuery.length > 0 && { query: ofQuery }),
  };
  const rest = Object.keys(when).length === 0 ? {} : { when };
  if (called.match !== undefined) return { ...called.match, ...rest };
  if (pathType === "Exact") return { path: decoded, type: "Exact", ...rest };
  if (pathType === "PathPrefix") {
    const stripped = decoded.replace(/\/$/, "");
    return { path: stripped === "" ? "/" : stripped, type: "Prefix", ...rest };
  }
  if (pathType !== "RegularExpression") return `path type ${shown(pathType)} is not supported`;
  const problem = regexProblem(path);
  return problem === undefined ? { path, type: "Regex", ...rest } : `path: ${problem}`;
}

/** A name in a gRPC service's definition. */
const callName = /^[A-Za-z_.][\w.]*$/;

interface CalledPath {
  /** Where the service is known. */
  readonly match?: Pick<RouteMatch, "path" | "type">;
  readonly elements?: RouteConditions["elements"];
}

/** The path of a gRPC call, `/SERVICE/METHOD`; or what is wrong with it. */
function calledPath({ type, service, method }: CallMatch): CalledPath | string {
  const texts = { "1": service, "2": method };
  if (type === "Exact") {
    const strange = [service, method].find((one) => one !== undefined && !callName.test(one));
    if (strange !== undefined) return `method: ${shown(strange)} is not a name`;
    if (service !== undefined && method !== undefined) {
      return { match: { path: `/${service}/${method}`, type: "Exact" } };
    }
    if (service !== undefined) return { match: { path: `/${service}`, type: "Prefix" } };
  }
  const elements = conditionsOf(
    Object.entries(texts).flatMap(([name, value]) =>
      value === undefined ? [] : [{ name, value, type }],
    ),
    (name) => name,
  );
  return typeof elements === "string" ? `method: ${elements}` : { elements };
}

/** Of names that are the same the first counts. */
function conditionsOf(
  matches: readonly FieldMatch[],
  keyOf: (name: string) => string,
): readonly FieldCondition[] | string {
  const found = new Map<string, FieldCondition>();
  for (const { name, value, type } of matches) {
    if (!headerName.test(name) && !/^[\w.~!$'*+-]{1,256}$/.test(name)) {
      return `the name ${shown(name)} is not supported`;
    }
    const isPlain = !/[\p{Cc}\p{Surrogate}]/u.test(value);
    if (!isPlain || Buffer.byteLength(value) > maxValueBytes) {
      return `the value of ${name} is not supported`;
    }
    if (found.has(keyOf(name))) continue;
    if (type === "Exact") {
      found.set(keyOf(name), { name, value });
      continue;
    }
    if (type !== "RegularExpression") return `the type ${shown(type)} is not supported`;
    const problem = regexProblem(value);
    if (problem !== undefined) return problem;
    found.set(keyOf(name), { name, pattern: `^(?:${value})$` });
  }
  return [...found.values()];
}
