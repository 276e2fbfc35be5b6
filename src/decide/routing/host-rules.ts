// The routes of one host put together. The oldest object that names a host, or a name that covers it or
// is covered by it, has it for its namespace, unless hosts are shared. Of two routes that claim the same
// path the older object has it, but a rule goes before a default. An object that is being deleted yields
// to all others. An object that yields gets a problem that names the holder.
import type { Steps } from "../../environment/steps.ts";
import type { PathRule } from "../decision.ts";
import { fairLevel } from "../fair-share.ts";
import type { Canary } from "../route-policy.ts";
import { anyHost } from "./host-name.ts";
import { compareAge, compareSpecificity } from "./precedence.ts";
import {
  type Backend,
  backendKey,
  claimOf,
  describeMatch,
  describeOrigin,
  holderOf,
  type ProblemReason,
  type Route,
  type RouteOrigin,
  type RoutingProblem,
  ruleBytes,
} from "./route.ts";

export interface HostRules {
  /** In the order in which they are tried. */
  readonly rules: readonly PathRule[];
  /** Every service that a rule, a canary or a policy names, by its key. */
  readonly backends: ReadonlyMap<string, Backend>;
  /** By its key, whose requests a backend is to answer or judge. */
  readonly origins: ReadonlyMap<string, ReadonlySet<RouteOrigin>>;
  readonly problems: readonly RoutingProblem[];
  /** By `claimOf` of a rule, the route that it comes from. */
  readonly claims: ReadonlyMap<string, Route>;
  /** By the claim they stand beside. */
  readonly canaries: ReadonlyMap<string, Route>;
  /** The route that the host belongs to a namespace by; undefined where no route is left. */
  readonly holder: Route | undefined;
}

export interface HostRulesOptions {
  /** Several namespaces may have routes of one host. */
  readonly shareHosts: boolean;
  /** Other names that cover this one, or are covered by it: the older namespace has both. */
  readonly rivals?: readonly Route[];
}

/** The proxy tries them one after the other. Where several namespaces have rules, each has its share. */
export const maxRegexesPerHost = 128;

/** As the proxy has it (proxy/lua/lockstep/host_entry.lua): one host is pushed as a whole. */
const maxRulesPerHost = 10_000;

/** Of the paths and services of its rules: one host is pushed in one request of at most 4 MB. */
const maxBytesPerHost = 2 * 1024 * 1024;

export function* hostRules(routes: readonly Route[], options: HostRulesOptions): Steps<HostRules> {
  const ordered = [...routes].sort((a, b) => compareAge(a.origin, b.origin));
  const problems: RoutingProblem[] = [];
  const mains = ordered.filter(({ canary }) => canary === undefined);
  const { rivals = [] } = options;
  const free = options.shareHosts ? mains : withoutRivals(mains, rivals, problems);
  yield;
  const named = withoutYieldingAliases(free, problems);
  const ofNamespace = options.shareHosts ? named : ofOneNamespace(named, problems);
  const own = ofOneFrontEnd(ofNamespace, problems);
  yield;
  const claims = yield* claimsOf(own, problems);
  const canaries = canariesOf(
    ordered.filter(({ canary }) => canary !== undefined),
    claims,
    problems,
  );
  const backends = new Map<string, Backend>();
  const rules: PathRule[] = [];
  // A route that stands in for rules comes after those of the same path.
  const isDefault = ([, { standing }]: [string, Route]) => standing === "default";
  const inOrder = [...claims].sort((a, b) => Number(isDefault(a)) - Number(isDefault(b)));
  for (const [claim, route] of inOrder) {
    const found = canaries.get(claim);
    const others = route.shares?.map((share) => share.backend) ?? [];
    const mirrors = route.mirrors ?? [];
    for (const backend of [route.backend, found?.backend, route.guard, ...others, ...mirrors]) {
      if (backend !== undefined) backends.set(backendKey(backend), backend);
    }
    rules.push(ruleOf(route, found));
    yield;
  }
  const origins = originsOf([...claims.values(), ...canaries.values()]);
  yield;
  return {
    rules: rules.sort(compareSpecificity),
    backends,
    origins,
    problems,
    claims,
    canaries,
    holder: own[0],
  };
}

function originsOf(routes: readonly Route[]): ReadonlyMap<string, ReadonlySet<RouteOrigin>> {
  const origins = new Map<string, Set<RouteOrigin>>();
  for (const route of routes) {
    for (const backend of answering(route)) {
      const key = backendKey(backend);
      origins.set(key, (origins.get(key) ?? new Set()).add(route.origin));
    }
  }
  return origins;
}

/** A redirect has a backend because every rule needs one; no request comes to it. */
function answering(route: Route): readonly Backend[] {
  const { backend, guard, policy, shares = [], mirrors = [] } = route;
  const { closed, redirect, hostRedirect } = policy ?? {};
  const guards = guard === undefined || closed !== undefined ? [] : [guard];
  const isAnsweredHere = (closed ?? redirect ?? hostRedirect) !== undefined;
  if (isAnsweredHere) return guards;
  const all = [...guards, backend, ...shares.map((share) => share.backend), ...mirrors];
  return all.filter((one) => one !== undefined);
}

/** The certificate and the cookies of a wildcard are good for every host under it. */
function withoutRivals(
  ordered: readonly Route[],
  rivals: readonly Route[],
  problems: RoutingProblem[],
): readonly Route[] {
  const winnerOver = (route: Route) => rivals.find((rival) => yieldsTo(route, rival));
  const what = (route: Route): string => {
    const winner = winnerOver(route) ?? route;
    const { host, origin } = winner;
    const relation = host.startsWith("*.") ? "is under" : "covers";
    return (
      `${askedName(route)} ${relation} ${host}, which belongs to namespace ${holderOf(winner)} ` +
      `(${describeOrigin(origin)} takes precedence), so its rules are ignored`
    );
  };
  return withoutOthers(ordered, (route) => winnerOver(route) === undefined, what, problems);
}

/** As between routes of one host: those who stay go first, then hosts, then the older object. */
function yieldsTo(route: Route, rival: Route): boolean {
  const { origin, standing } = route;
  if (holderOf(route) === holderOf(rival)) return false;
  if (origin.isLeaving !== rival.origin.isLeaving) return origin.isLeaving === true;
  const isAlias = standing === "alias";
  if (isAlias !== (rival.standing === "alias")) return isAlias;
  return compareAge(rival.origin, origin) < 0;
}

/** The oldest of all, and the oldest of another namespace: no other decides what yields. */
export function strongestRivals(routes: Iterable<Route>): readonly Route[] {
  let oldest: Route | undefined;
  let next: Route | undefined;
  const isOlder = (one: Route, other: Route | undefined): boolean =>
    other === undefined || compareAge(one.origin, other.origin) < 0;
  for (const route of routes) {
    if (route.canary !== undefined) continue;
    if (oldest !== undefined && holderOf(route) === holderOf(oldest)) {
      if (isOlder(route, oldest)) oldest = route;
    } else if (isOlder(route, oldest)) {
      next = oldest;
      oldest = route;
    } else if (isOlder(route, next)) {
      next = route;
    }
  }
  return [oldest, next].filter((one) => one !== undefined);
}

function askedName({ host, standing, policy }: Route): string {
  if (standing !== "alias") return `host ${host}`;
  return `${policy?.hostRedirect ? "from-to-www-redirect" : "server-alias"} ${host}`;
}

/** A name that an Ingress has as a host is no alias of another. */
function withoutYieldingAliases(
  ordered: readonly Route[],
  problems: RoutingProblem[],
): readonly Route[] {
  const named = ordered.find(({ standing }) => standing !== "alias");
  if (named === undefined || named.host === anyHost) return ordered;
  // Those who stay come first: then every Ingress that has it as a host is being deleted.
  if (named.origin.isLeaving === true && ordered[0]?.origin.isLeaving !== true) return ordered;
  const holder = describeOrigin(named.origin);
  const what = (route: Route): string =>
    `${askedName(route)}: this is a host of ${holder}, so it is ignored`;
  return withoutOthers(ordered, ({ standing }) => standing !== "alias", what, problems);
}

/** Pages of one host trust each other, so that one path would be as good as the whole host. */
function ofOneNamespace(ordered: readonly Route[], problems: RoutingProblem[]): readonly Route[] {
  const [oldest] = ordered;
  if (oldest === undefined || oldest.host === anyHost) return ordered;
  const namespace = holderOf(oldest);
  const what =
    `host ${oldest.host} belongs to namespace ${namespace} ` +
    `(${describeOrigin(oldest.origin)} takes precedence), so its rules are ignored`;
  const isOwn = (route: Route): boolean => holderOf(route) === namespace;
  return withoutOthers(ordered, isOwn, () => what, problems);
}

/**
 * A host is either Ingresses' or Gateways': their rules for what goes first differ. The older
 * object decides, whichever namespace the others are of. A host that a setting leads elsewhere
 * yields to both.
 */
function ofOneFrontEnd(ordered: readonly Route[], problems: RoutingProblem[]): readonly Route[] {
  const [oldest] = ordered;
  if (oldest === undefined) return ordered;
  const isGateways = oldest.gateway !== undefined;
  const served = isGateways ? "Gateways" : "Ingresses";
  const what =
    `host ${oldest.host} is served by ${served} ` +
    `(${describeOrigin(oldest.origin)} takes precedence), so its rules are ignored`;
  const isOwn = ({ gateway, origin }: Route): boolean =>
    origin.kind === "setting" || (gateway !== undefined) === isGateways;
  return withoutOthers(ordered, isOwn, () => what, problems);
}

/** The valid ones; each object with invalid ones is reported once. */
function withoutOthers(
  ordered: readonly Route[],
  isFine: (route: Route) => boolean,
  what: (route: Route) => string,
  problems: RoutingProblem[],
): readonly Route[] {
  const reported = new Set<RouteOrigin>();
  return ordered.filter((route) => {
    if (isFine(route)) return true;
    if (!reported.has(route.origin)) report(problems, route, "HostTaken", what(route));
    if (route.isShared !== true) reported.add(route.origin);
    return false;
  });
}

/** By type and path, the route that has it. */
function* claimsOf(
  ordered: readonly Route[],
  problems: RoutingProblem[],
): Steps<ReadonlyMap<string, Route>> {
  const claims = new Map<string, Route>();
  const room = new HostRoom(ordered);
  for (const route of ordered) {
    yield;
    const claim = claimOf(route.match);
    const holder = claims.get(claim);
    if (holder !== undefined && !goesBefore(route, holder)) {
      // Of routes of Gateways the specification says which one counts, and no status reports it.
      const isReported = route.standing !== "default" && route.gateway === undefined;
      if (isReported) report(problems, route, "PathTaken", conflict(route, holder));
      continue;
    }
    const excess = holder === undefined ? room.take(route) : undefined;
    if (excess !== undefined) {
      const where = `${describeMatch(route.match)} of host ${route.host}`;
      report(problems, route, "RuleIgnored", `${where}: ${excess}`);
      continue;
    }
    claims.set(claim, route);
  }
  return claims;
}

interface HostUse {
  readonly rules: number;
  readonly regexes: number;
  readonly bytes: number;
}

const noUse: HostUse = { rules: 0, regexes: 0, bytes: 0 };

/** The capacity of one host: each namespace has its fair share of it, for its oldest rules. */
class HostRoom {
  readonly #most: HostUse;
  readonly #used = new Map<string, HostUse>();

  constructor(routes: readonly Route[]) {
    const asked = new Map<string, HostUse>();
    for (const route of routes) {
      const { namespace } = route.origin;
      asked.set(namespace, sumOf(asked.get(namespace) ?? noUse, useOf(route)));
    }
    const level = (one: keyof HostUse, most: number) =>
      fairLevel(
        [...asked.values()].map((use) => use[one]),
        most,
      );
    this.#most = {
      rules: level("rules", maxRulesPerHost),
      regexes: level("regexes", maxRegexesPerHost),
      bytes: level("bytes", maxBytesPerHost),
    };
  }

  /** Undefined when the route has room; else why not. */
  take(route: Route): string | undefined {
    const { namespace } = route.origin;
    const use = sumOf(this.#used.get(namespace) ?? noUse, useOf(route));
    const excess = this.#excess(use);
    if (excess !== undefined) return `the host has more than ${excess}, so it is ignored`;
    this.#used.set(namespace, use);
    return undefined;
  }

  #excess({ rules, regexes, bytes }: HostUse): string | undefined {
    if (regexes > this.#most.regexes) return `${maxRegexesPerHost} expressions`;
    if (rules > this.#most.rules) return `${maxRulesPerHost} rules`;
    return bytes > this.#most.bytes ? `${maxBytesPerHost} bytes of rules` : undefined;
  }
}

function useOf({ match, backend, shares = [] }: Route): HostUse {
  const { path, type, when } = match;
  const ofWhen = when === undefined ? 0 : Buffer.byteLength(JSON.stringify(when));
  const ofBackends = [backend, ...shares.map((share) => share.backend)].map(keyLength);
  const ofChanges = shares.map(({ requestHeaders, responseHeaders }) =>
    (requestHeaders ?? responseHeaders) === undefined
      ? 0
      : Buffer.byteLength(JSON.stringify({ requestHeaders, responseHeaders })),
  );
  const parts = [...ofBackends, ...ofChanges];
  const bytes = parts.reduce((sum, one) => sum + one, ruleBytes + ofWhen);
  const fields = [...(when?.headers ?? []), ...(when?.query ?? [])];
  const patterns = fields.filter(({ pattern }) => pattern !== undefined).length;
  const regexes = (type === "Regex" ? 1 : 0) + patterns;
  return { rules: 1, regexes, bytes: bytes + Buffer.byteLength(path) };
}

function keyLength(backend: Backend | undefined): number {
  return backend === undefined ? 0 : backendKey(backend).length;
}

function sumOf(a: HostUse, b: HostUse): HostUse {
  return { rules: a.rules + b.rules, regexes: a.regexes + b.regexes, bytes: a.bytes + b.bytes };
}

function goesBefore(route: Route, holder: Route): boolean {
  const isOfOneStanding = route.origin.isLeaving === holder.origin.isLeaving;
  return isOfOneStanding && holder.standing === "default" && route.standing !== "default";
}

function conflict(route: Route, holder: Route): string {
  const where = `${describeMatch(route.match)} of host ${route.host}`;
  const owner = describeOrigin(holder.origin);
  return `${where} belongs to ${owner}, which takes precedence`;
}

/** By the claim they stand beside, and of each claim the oldest. */
function canariesOf(
  ordered: readonly Route[],
  claims: ReadonlyMap<string, Route>,
  problems: RoutingProblem[],
): ReadonlyMap<string, Route> {
  const canaries = new Map<string, Route>();
  for (const route of ordered) {
    // A canary need not repeat that the paths of its main Ingress are expressions.
    const claim = [claimOf(route.match), claimOf({ ...route.match, type: "Regex" })].find(
      (one) => claims.get(one)?.origin.namespace === route.origin.namespace,
    );
    const holder = claim === undefined ? undefined : canaries.get(claim);
    if (claim !== undefined && holder === undefined) canaries.set(claim, route);
    else if (route.standing === "rule") {
      report(problems, route, "CanaryIgnored", canaryProblem(route, holder));
    }
  }
  return canaries;
}

function canaryProblem(route: Route, holder: Route | undefined): string {
  const where = `canary for ${describeMatch(route.match)} of host ${route.host}`;
  const what =
    holder === undefined
      ? "its namespace has no main rule for this host and path"
      : `${describeOrigin(holder.origin)} is already its canary`;
  return `${where}: ${what}, so it is ignored`;
}

function ruleOf(route: Route, found: Route | undefined): PathRule {
  const { match, backend, policy, origin, shares = [] } = route;
  const ofShares = shares.map(({ backend: one, ...share }) => ({ service: keyOf(one), ...share }));
  const canaries: readonly Canary[] =
    found?.canary === undefined
      ? ofShares
      : [{ service: keyOf(found.backend), ...found.canary }, ...ofShares];
  const whole = canaries.length === 0 ? policy : { ...policy, canaries };
  const holder = holderOf(route);
  return {
    ...match,
    service: keyOf(backend),
    ...(whole === undefined ? {} : { policy: whole }),
    ...(route.gateway === undefined || holder === backend?.namespace ? {} : { holder }),
    ...(origin.kind === "setting" ? { isForAll: true as const } : {}),
  };
}

/** Empty where it leads nowhere. */
function keyOf(backend: Backend | undefined): string {
  return backend === undefined ? "" : backendKey(backend);
}

/** An Ingress whose route only shares another's alias did not ask for it, and gets no problem. */
function report(
  problems: RoutingProblem[],
  { origin, isShared }: Route,
  reason: ProblemReason,
  message: string,
): void {
  if (isShared !== true) problems.push({ origin, reason, message });
}
