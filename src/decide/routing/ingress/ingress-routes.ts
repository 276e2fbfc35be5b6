// Turns an Ingress into routes. Invalid parts are left out and reported; the rest of the object
// keeps working.
import type { Steps } from "../../../environment/steps.ts";
import type { Ingress, IngressPath } from "../../../kube/kinds/ingress.ts";
import type { RouteConditions } from "../../route-conditions.ts";
import type { AuthMethod, ExternalAuth, RoutePolicy } from "../../route-policy.ts";
import type { HostAlias } from "../host-aliases.ts";
import { anyHost, hostOf, wildcardOver, wwwCounterpart } from "../host-name.ts";
import {
  backendKey,
  claimOf,
  describeMatch,
  type ProblemReason,
  type Route,
  type RouteMatch,
  type RouteOrigin,
  type RouteStanding,
  type RoutingProblem,
  ruleBytes,
} from "../route.ts";
import { readAnnotations } from "./annotations.ts";
import { backendOf, isRegex, matchOf } from "./ingress-paths.ts";
import { type IngressSettings, userListKey } from "./ingress-settings.ts";
import { policyOfMatch } from "./match-policy.ts";

export interface IngressRoutes {
  readonly routes: readonly Route[];
  /** Other names of its hosts. */
  readonly aliases: readonly HostAlias[];
  readonly problems: readonly RoutingProblem[];
  /** A host that must have a route, because the service there decides which requests may pass. */
  readonly authHost: AuthHost | undefined;
}

export interface AuthHost {
  readonly host: string;
  /** Those whose routes may be asked; `*` for any. */
  readonly namespaces: readonly string[];
}

export interface IngressRoutesOptions {
  /** Where an Ingress has TLS for a host and does not say otherwise, requests are sent to https. */
  readonly sslRedirect: boolean;
  /** Namespaces that `auth-url` of every namespace may lead to; `*` for all. */
  readonly authNamespaces?: readonly string[] | undefined;
  /** Of the proxy, where Ingresses are served; all when absent. */
  readonly ports?: readonly number[] | undefined;
}

/** Of one object; to look at one takes up to some milliseconds. */
const maxRegexes = 64;

/** Of one object; when these are mended, the next ones are reported. */
const maxProblems = 100;

/**
 * Of one object's rules as they are pushed; those of its other names count too. More than any Ingress
 * that the API server takes has, unless it multiplies its rules.
 */
export const maxIngressBytes = 2 * 1024 * 1024;

/** Aliases multiply the rules of an object; no hand-written list is longer than this. */
const maxAliasRoutes = 5_000;

/** Of these a service changes nothing. */
const safeMethods: ReadonlySet<AuthMethod> = new Set(["GET", "HEAD", "OPTIONS"]);

export function isAuthNamespace(namespace: string, allowed: readonly string[]): boolean {
  return allowed.includes(namespace) || allowed.includes("*");
}

export function ingressOrigin({ metadata }: Ingress): RouteOrigin {
  const { namespace, name, creationTimestamp, deletionTimestamp } = metadata;
  const createdAtMs = creationTimestamp ?? Number.POSITIVE_INFINITY;
  const origin: RouteOrigin = { kind: "Ingress", namespace, name, createdAtMs };
  return deletionTimestamp === undefined ? origin : { ...origin, isLeaving: true };
}

export function* ingressRoutes(
  ingress: Ingress,
  options: IngressRoutesOptions,
): Steps<IngressRoutes> {
  return yield* new Translation(ingress, options).run();
}

class Translation {
  readonly #ingress: Ingress;
  readonly #options: IngressRoutesOptions;
  readonly #origin: RouteOrigin;
  readonly #settings: IngressSettings;
  /** Of all its routes, but for what depends on the host. */
  readonly #policy: RoutePolicy;
  readonly #routes: Route[] = [];
  readonly #aliases: HostAlias[] = [];
  readonly #problems: RoutingProblem[] = [];
  /**
   * By whether requests without TLS are redirected: the policies that all routes of the object
   * share.
   */
  readonly #policies = new Map<boolean, RoutePolicy | undefined>();
  /** Of its `tls` entries, in lower case. */
  readonly #tlsNames: ReadonlySet<string>;
  /** An entry of `tls` lists no hosts, so it is for all. */
  readonly #hasTlsForAll: boolean;
  readonly #when: RouteConditions | undefined;
  #regexes = 0;
  #bytes = 0;
  #unlistedProblems = 0;

  constructor(ingress: Ingress, options: IngressRoutesOptions) {
    this.#ingress = ingress;
    this.#options = options;
    this.#origin = ingressOrigin(ingress);
    const { tls } = ingress;
    this.#tlsNames = new Set(tls.flatMap(({ hosts }) => hosts.map((host) => host.toLowerCase())));
    this.#when = options.ports && { ports: options.ports };
    this.#hasTlsForAll = tls.some(({ hosts }) => hosts.length === 0);
    this.#settings = readAnnotations(ingress.annotations, (reason, message) =>
      this.#report(reason, message),
    );
    const { externalAuth, ...policy } = this.#settings.policy;
    this.#policy = { ...policy, ...this.#externalAuth(externalAuth), ...this.#protection() };
  }

  *run(): Steps<IngressRoutes> {
    yield* this.#addRules();
    if (this.#unlistedProblems > 0) {
      const message = `${this.#unlistedProblems} more problems are not listed`;
      this.#problems.push({ origin: this.#origin, reason: "RuleIgnored", message });
    }
    return {
      routes: this.#routes,
      aliases: this.#aliases,
      problems: this.#problems,
      authHost: this.#authHost(),
    };
  }

  #authHost(): AuthHost | undefined {
    const { host, namespaces } = this.#policy.externalAuth ?? {};
    if (host === undefined || namespaces === undefined || host.startsWith("$")) return undefined;
    return { host: host.replace(/:\d+$/, "").toLowerCase(), namespaces };
  }

  *#addRules(): Steps<void> {
    const { rules, defaultBackend, metadata } = this.#ingress;
    const hosts = new Set([anyHost]);
    for (const [index, rule] of rules.entries()) {
      const where = `spec.rules[${index}]`;
      const host = hostOf(rule.host);
      if (host === undefined) {
        this.#report(
          "RuleIgnored",
          `${where}.host: this is not a host name, so the rule is ignored`,
        );
        continue;
      }
      hosts.add(host);
      yield* this.#addPaths(host, rule.paths, `${where}.http`);
    }
    this.#addRoots();
    yield* this.#addAliases();
    this.#addWww();
    if (defaultBackend === undefined) return;
    const backend = backendOf(metadata.namespace, defaultBackend);
    if (typeof backend === "string") {
      this.#report("RuleIgnored", `spec.defaultBackend: ${backend}, so it is ignored`);
    } else {
      // The default also serves the paths that an Ingress's own hosts leave open.
      for (const host of hosts) this.#add(host, { path: "/", type: "Prefix" }, backend, "default");
    }
  }

  *#addPaths(host: string, paths: readonly IngressPath[], where: string): Steps<void> {
    for (const [index, entry] of paths.entries()) {
      yield;
      const match = this.#matchOf(entry);
      const backend = backendOf(this.#origin.namespace, entry.backend);
      const problem = [match, backend].find((one) => typeof one === "string");
      if (typeof match === "string" || typeof backend === "string") {
        this.#report("RuleIgnored", `${where}.paths[${index}]: ${problem}, so the path is ignored`);
      } else {
        this.#add(host, match, backend, "rule");
      }
    }
  }

  #matchOf(entry: IngressPath): RouteMatch | string {
    if (!isRegex(entry, this.#settings)) return matchOf(entry, this.#settings);
    this.#regexes += 1;
    // Counted before it is looked at, for what is refused costs time as well.
    if (this.#regexes > maxRegexes) return `the Ingress has more than ${maxRegexes} expressions`;
    return matchOf(entry, this.#settings);
  }

  /** An application root is meant for `/` even where the Ingress has other paths of the host only. */
  #addRoots(): void {
    if (this.#settings.policy.appRoot === undefined) return;
    const rootless = new Map<string, Route["backend"]>();
    for (const { host, backend } of this.#routes) rootless.set(host, backend);
    for (const { host, match } of this.#routes) {
      if (match.path === "/" && match.type !== "Regex") rootless.delete(host);
    }
    const root: RouteMatch = { path: "/", type: "Exact" };
    for (const [host, backend] of rootless) this.#add(host, root, backend, "default");
  }

  *#addAliases(): Steps<void> {
    const { aliases } = this.#settings;
    const rules = [...this.#routes];
    if (aliases.length * rules.length > maxAliasRoutes) {
      const what = `names times paths give more than ${maxAliasRoutes} rules`;
      this.#report("AnnotationIgnored", `annotation server-alias: ${what}, so it is ignored`);
      return;
    }
    const hosts = new Set(rules.map(({ host }) => host).filter((host) => host !== anyHost));
    for (const alias of aliases) {
      yield;
      for (const host of hosts) if (host !== alias) this.#aliases.push({ alias, host });
      const seen = new Set<string>();
      for (const { host, match, backend } of rules) {
        const claim = claimOf(match);
        if (host !== alias && !seen.has(claim)) this.#add(alias, match, backend, "alias");
        seen.add(claim);
      }
    }
  }

  /** These have no other policy: a host's protection applies at the target of the redirect. */
  #addWww(): void {
    const { redirectsWww, canary } = this.#settings;
    if (!redirectsWww || canary !== undefined) return;
    const seen = new Set<string>();
    const named = this.#routes.filter(({ standing }) => standing !== "alias");
    for (const { host: to, backend } of named) {
      const host = wwwCounterpart(to);
      if (host === undefined || seen.has(host)) continue;
      seen.add(host);
      const policy: RoutePolicy = { hostRedirect: { host: to, status: 308 } };
      const match = this.#atPorts({ path: "/", type: "Prefix" });
      const origin = this.#origin;
      this.#routes.push({ host, match, backend, standing: "alias", policy, canary, origin });
    }
  }

  #add(host: string, match: RouteMatch, backend: Route["backend"], standing: RouteStanding): void {
    const { canary } = this.#settings;
    const ofBackend = backend === undefined ? 0 : backendKey(backend).length;
    this.#bytes += ruleBytes + Buffer.byteLength(match.path) + ofBackend;
    if (this.#bytes > maxIngressBytes) {
      const what = `${describeMatch(match)} of host ${host}`;
      const why = `the Ingress has more than ${maxIngressBytes} bytes of rules`;
      this.#report("RuleIgnored", `${what}: ${why}, so it is ignored`);
      return;
    }
    const policy = canary === undefined ? this.#policyFor(host, match) : undefined;
    const origin = this.#origin;
    const route = {
      host,
      match: this.#atPorts(match),
      backend,
      standing,
      policy,
      canary,
      origin,
    };
    const isGuarded = canary === undefined && this.#policy.externalAuth !== undefined;
    const guard = isGuarded ? this.#settings.guard : undefined;
    this.#routes.push(guard === undefined ? route : { ...route, guard });
  }

  #atPorts(match: RouteMatch): RouteMatch {
    return this.#when === undefined ? match : { ...match, when: this.#when };
  }

  #policyFor(host: string, match: RouteMatch): RoutePolicy | undefined {
    const isRedirected = this.#isRedirectedToTls(host);
    if (!this.#policies.has(isRedirected)) {
      const policy = this.#policy;
      const whole: RoutePolicy = isRedirected ? { ...policy, httpsRedirect: 308 } : policy;
      this.#policies.set(isRedirected, Object.keys(whole).length === 0 ? undefined : whole);
    }
    const shared = this.#policies.get(isRedirected);
    return shared && policyOfMatch(shared, match);
  }

  /** Services and routes of another namespace are not its author's to use, unless the operator says so. */
  #externalAuth(asked: ExternalAuth | undefined): RoutePolicy {
    if (asked === undefined) return {};
    const { guard } = this.#settings;
    const { namespace } = this.#origin;
    const namespaces = [...new Set([namespace, ...(this.#options.authNamespaces ?? [])])];
    if (guard !== undefined && !isAuthNamespace(guard.namespace, namespaces)) {
      const whose = `the service is in namespace ${guard.namespace}`;
      return this.#close("auth-url", `${whose}, which --auth-namespace does not allow`);
    }
    const { method = "GET" } = asked;
    if (!safeMethods.has(method) && guard?.namespace !== namespace) {
      const what = `${method} works only with a service in the namespace of the Ingress`;
      return this.#close("auth-method", what);
    }
    return { externalAuth: guard === undefined ? { ...asked, namespaces } : asked };
  }

  #close(annotation: string, why: string): RoutePolicy {
    const message = `annotation ${annotation}: ${why}, so every request is answered with 503`;
    this.#report("RouteClosed", message);
    return { closed: true };
  }

  /** A secret of another namespace is not its author's to name. */
  #protection(): RoutePolicy {
    const { basicAuth } = this.#settings;
    if (basicAuth === undefined) return {};
    const users = userListKey(this.#origin.namespace, basicAuth);
    if (users !== undefined) return { basicAuth: { users, realm: basicAuth.realm } };
    return this.#close("auth-secret", "the secret is in another namespace");
  }

  #isRedirectedToTls(host: string): boolean {
    const { sslRedirect = this.#options.sslRedirect, forceSslRedirect } = this.#settings;
    if (forceSslRedirect) return true;
    if (!sslRedirect) return false;
    if (this.#hasTlsForAll && host !== anyHost) return true;
    return this.#tlsNames.has(host) || this.#tlsNames.has(wildcardOver(host) ?? host);
  }

  #report(reason: ProblemReason, message: string): void {
    if (this.#problems.length === maxProblems) this.#unlistedProblems += 1;
    else this.#problems.push({ origin: this.#origin, reason, message });
  }
}
