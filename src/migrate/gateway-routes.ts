// Ingresses as objects of the Gateway API: a Gateway for each namespace, and HTTPRoutes with the rules that
// Lockstep decides for the hosts of these Ingresses. A rule that cannot be expressed is written without
// backends, so that its requests get 500 and no wider rule takes them. Pure.
import type { PathRule } from "../decide/decision.ts";
import type { Canary, Cors, RoutePolicy } from "../decide/route-policy.ts";
import { decodedPath } from "../decide/routing/gateway/decoded-path.ts";
import { anyHost, wildcardOver } from "../decide/routing/host-name.ts";
import type { Backend } from "../decide/routing/route.ts";
import { Routing, type RoutingOptions } from "../decide/routing/routing.ts";
import { plain } from "../decide/routing/shown-text.ts";
import type { Ingress } from "../kube/kinds/ingress.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import type { Service } from "../kube/kinds/service.ts";

export interface GatewayObjectsOptions {
  readonly className: string;
  readonly gatewayClass: string;
  /** Of each Gateway. */
  readonly gatewayName: string;
  readonly routing: Omit<RoutingOptions, "className">;
  /** By `namespace/name`, for ports with names. */
  readonly services: ReadonlyMap<string, Service>;
}

export interface WrittenGateways {
  /** To be written as YAML or JSON. */
  readonly objects: readonly object[];
  readonly findings: readonly GatewayFinding[];
}

export interface GatewayFinding {
  /** `namespace/name` of the Ingress. */
  readonly ingress: string;
  /** `refused`: its requests get 500. `without`: it is served without this. */
  readonly kind: "refused" | "without";
  readonly message: string;
}

/** As many as the API server takes. */
const maxListeners = 64;
const maxHostnames = 16;
const maxRules = 16;

const apiVersion = "gateway.networking.k8s.io/v1";

interface WrittenRule {
  readonly matches: readonly object[];
  readonly filters?: readonly object[];
  readonly backendRefs?: readonly object[];
  readonly timeouts?: object;
  readonly retry?: object;
  readonly sessionPersistence?: object;
}

interface RulesOfHost {
  /** For requests with and without TLS. */
  readonly secure: readonly WrittenRule[];
  readonly plain: readonly WrittenRule[];
}

/** One rule cannot be expressed; this error never leaves the file. */
class Inexpressible extends Error {}

export function gatewayObjects(
  ingresses: readonly Ingress[],
  options: GatewayObjectsOptions,
): WrittenGateways {
  return new Writing(ingresses, options).write();
}

class Writing {
  readonly #ingresses: readonly Ingress[];
  readonly #options: GatewayObjectsOptions;
  readonly #findings = new Map<string, GatewayFinding>();
  /** By namespace. */
  readonly #listeners = new Map<string, NamespaceListeners>();
  /** Routes with the same rules and parents, under one key. */
  readonly #routes = new Map<string, WrittenRoute>();

  constructor(ingresses: readonly Ingress[], options: GatewayObjectsOptions) {
    this.#ingresses = ingresses;
    this.#options = options;
  }

  write(): WrittenGateways {
    const { className, routing: routingOptions, gatewayName, gatewayClass } = this.#options;
    const routing = new Routing({ ...routingOptions, className });
    const { hosts, backends, problems } = routing.decide({
      ingresses: this.#ingresses,
      classes: [],
    });
    for (const { origin, message } of problems) this.#find(objectKey(origin), "without", message);
    for (const ingress of this.#ingresses) this.#addTls(ingress);
    for (const [host, rules] of [...hosts].sort(([a], [b]) => (a < b ? -1 : 1))) {
      const byOrigin = new Map<string, { origin: Named; rules: PathRule[] }>();
      for (const rule of rules) {
        const origin = routing.originOf(host, rule);
        if (origin?.kind !== "Ingress") continue;
        const known = byOrigin.get(objectKey(origin)) ?? { origin, rules: [] };
        known.rules.push(rule);
        byOrigin.set(objectKey(origin), known);
      }
      const hasExactRoot = rules.some(({ path, type }) => path === "/" && type === "Exact");
      const terms = { host, backends, hasExactRoot };
      for (const one of byOrigin.values()) this.#addHost(one, terms);
    }
    const gateways = [...this.#listeners].flatMap(([namespace, listeners]) =>
      listeners.gateways(gatewayName).map(([name, some]) => ({
        apiVersion,
        kind: "Gateway",
        metadata: { name, namespace },
        spec: { gatewayClassName: gatewayClass, listeners: some },
      })),
    );
    return {
      objects: [...gateways, ...httpRoutes([...this.#routes.values()])],
      findings: [...this.#findings.values()],
    };
  }

  #addTls({ metadata, tls }: Ingress): void {
    const key = objectKey(metadata);
    for (const [index, { hosts, secretName }] of tls.entries()) {
      if (secretName === "") {
        const what = "has no secretName; the default certificate is a setting of Lockstep";
        this.#find(key, "without", `spec.tls[${index}] ${what}, so there is no HTTPS listener`);
        continue;
      }
      const listeners = this.#listenersOf(metadata.namespace);
      for (const host of hosts.length === 0 ? [anyHost] : hosts) {
        const other = listeners.add(host.toLowerCase(), secretName);
        if (other === undefined) continue;
        const what = `${plain(host)} has the certificate of secret ${plain(other)} already`;
        this.#find(key, "without", `spec.tls[${index}]: ${what}`);
      }
    }
  }

  #addHost(
    { origin, rules }: { readonly origin: Named; readonly rules: readonly PathRule[] },
    terms: Omit<RuleTerms, "key">,
  ): void {
    const { host } = terms;
    const key = objectKey(origin);
    if (host.startsWith("*.")) {
      this.#find(key, "without", `host ${host}: a wildcard here stands for any number of labels`);
    }
    const listeners = this.#listenersOf(origin.namespace);
    const secureListener = listeners.forHost(host);
    const written = this.#rulesOf(rules, { ...terms, key });
    const isRedirected = written.plain !== written.secure;
    if (isRedirected && secureListener === undefined) {
      this.#find(key, "without", `host ${host} is redirected to https and has no certificate`);
    }
    const { gatewayName } = this.#options;
    const http = { name: gatewayName, sectionName: "http" };
    const https =
      secureListener === undefined ? undefined : listeners.parentOf(secureListener, gatewayName);
    const put = (rulesNow: readonly WrittenRule[], parents: readonly object[]): void =>
      this.#addRoute({ origin, host, rules: rulesNow, parents });
    if (!isRedirected) put(written.secure, https === undefined ? [http] : [http, https]);
    else {
      put(written.plain, [http]);
      if (https !== undefined) put(written.secure, [https]);
    }
  }

  #addRoute({
    origin,
    host,
    rules,
    parents,
  }: Omit<WrittenRoute, "hosts"> & { host: string }): void {
    const key = JSON.stringify([objectKey(origin), parents, rules, host === anyHost]);
    const known = this.#routes.get(key) ?? { origin, hosts: [], rules, parents };
    known.hosts.push(host);
    this.#routes.set(key, known);
  }

  #listenersOf(namespace: string): NamespaceListeners {
    const known = this.#listeners.get(namespace) ?? new NamespaceListeners();
    this.#listeners.set(namespace, known);
    return known;
  }

  /** The same list for both where none of them redirects to https. */
  #rulesOf(rules: readonly PathRule[], terms: RuleTerms): RulesOfHost {
    const secure: WrittenRule[] = [];
    const plainOnes: WrittenRule[] = [];
    for (const rule of rules) {
      const { httpsRedirect } = rule.policy ?? {};
      const match = this.#matchOf(rule, terms);
      if (match === undefined) continue;
      const written = this.#written(rule, match, terms);
      secure.push(...written);
      if (httpsRedirect === undefined) plainOnes.push(...written);
      else plainOnes.push({ matches: [match], filters: [toHttps(httpsRedirect)] });
    }
    const isRedirected = rules.some(({ policy }) => policy?.httpsRedirect !== undefined);
    return { secure, plain: isRedirected ? plainOnes : secure };
  }

  #matchOf({ path, type }: PathRule, { host, key }: RuleTerms): { path: object } | undefined {
    if (type === "Regex") return { path: { type: "RegularExpression", value: path } };
    const value = path.replace(/[^-A-Za-z0-9/._~!$&'()*+,;=:@]/gu, (one) =>
      encodeURIComponent(one),
    );
    if (decodedPath(value) === path) {
      return { path: { type: type === "Exact" ? "Exact" : "PathPrefix", value } };
    }
    const what = `host ${host}, path ${plain(path)}: an HTTPRoute cannot have this path`;
    this.#find(key, "without", `${what}, so there is no rule for it`);
    return undefined;
  }

  #written(
    rule: PathRule,
    match: { readonly path: object },
    terms: RuleTerms,
  ): readonly WrittenRule[] {
    const { host, key } = terms;
    const where = `host ${host}, path ${plain(rule.path)}`;
    try {
      const { rules, without } = rulesOf(rule, match, {
        ...terms,
        refOf: (service) => this.#refOf(service, terms.backends),
      });
      for (const one of without) this.#find(key, "without", `${where}: ${one}`);
      return rules;
    } catch (error) {
      if (!(error instanceof Inexpressible)) throw error;
      this.#find(key, "refused", `${where}: ${error.message}`);
      return [{ matches: [match] }];
    }
  }

  #refOf(service: string, backends: ReadonlyMap<string, Backend>): BackendRef {
    const backend = backends.get(service);
    if (backend === undefined) throw new Inexpressible("it leads to no service");
    const { namespace, name, port } = backend;
    if (typeof port === "number") return { name, port };
    const { ports = [] } = this.#options.services.get(`${namespace}/${name}`) ?? {};
    const found = ports.find((one) => one.name === port);
    if (found !== undefined) return { name, port: found.port };
    throw new Inexpressible(`port ${plain(port)} of service ${name} needs its number`);
  }

  #find(ingress: string, kind: GatewayFinding["kind"], message: string): void {
    this.#findings.set(`${ingress} ${message}`, { ingress, kind, message });
  }
}

interface Named {
  readonly namespace: string;
  readonly name: string;
}

interface WrittenRoute {
  readonly origin: Named;
  readonly hosts: string[];
  readonly rules: readonly WrittenRule[];
  readonly parents: readonly object[];
}

interface RuleTerms {
  readonly host: string;
  readonly key: string;
  readonly backends: ReadonlyMap<string, Backend>;
  /** A rule of the host is for its root alone. */
  readonly hasExactRoot: boolean;
}

interface BackendRef {
  readonly name: string;
  readonly port: number;
}

interface RuleFacts extends Pick<RuleTerms, "hasExactRoot"> {
  readonly refOf: (service: string) => BackendRef;
}

/** A rule without one of these would let requests in, or send others to an endpoint than it is to get. */
const needed: readonly (keyof RoutePolicy)[] = [
  "closed",
  "basicAuth",
  "externalAuth",
  "allowFrom",
  "denyFrom",
  "rateLimit",
  "upstreamTlsName",
  "verifyUpstream",
];

/** A rule without one of these serves the same pages. */
const spared: readonly (keyof RoutePolicy)[] = [
  "forwardedPrefix",
  "largeHeaders",
  "maxBodyBytes",
  "streamBodies",
];

function rulesOf(
  rule: PathRule,
  match: { readonly path: object },
  { refOf, hasExactRoot }: RuleFacts,
): { readonly rules: readonly WrittenRule[]; readonly without: readonly string[] } {
  const policy = rule.policy ?? {};
  const missing = needed.find((one) => policy[one] !== undefined);
  if (missing !== undefined) throw new Inexpressible(`an HTTPRoute has no ${wordOf(missing)}`);
  if (policy.protocol !== undefined && policy.protocol !== "http") {
    throw new Inexpressible(`the protocol ${policy.protocol} to endpoints needs other objects`);
  }
  const redirect = redirectOf(policy);
  if (redirect !== undefined) {
    return { rules: [{ matches: [match], filters: [redirect] }], without: [] };
  }
  const cors = corsOf(policy);
  const session = sessionOf(policy);
  const retry = retryOf(policy);
  const filters = [...rewriteOf(rule, policy), ...(cors.filter === undefined ? [] : [cors.filter])];
  const { timeouts, without: ofTimeouts } = timeoutsOf(policy);
  const path = rewrittenMatch(rule, policy, match);
  const others = {
    ...(filters.length > 0 && { filters }),
    ...(timeouts !== undefined && { timeouts }),
    ...(retry.retry !== undefined && { retry: retry.retry }),
    ...(session.session !== undefined && { sessionPersistence: session.session }),
  };
  const serving = servingRules(rule.service, policy.canaries ?? [], { match: path, others, refOf });
  // Of two rules for one path the oldest route has it: that could be this one.
  const root = rule.type === "Prefix" && hasExactRoot ? [] : appRootRule(rule, policy);
  return {
    rules: [...root, ...serving.rules],
    without: [
      ...spared.filter((one) => policy[one] !== undefined).map((one) => `no ${wordOf(one)}`),
      ...ofTimeouts,
      ...cors.without,
      ...session.without,
      ...retry.without,
      ...serving.without,
    ],
  };
}

function servingRules(
  service: string,
  [canary, ...more]: readonly Canary[],
  {
    match,
    others,
    refOf,
  }: {
    readonly match: { readonly path: object };
    readonly others: Omit<WrittenRule, "matches" | "backendRefs">;
    readonly refOf: RuleFacts["refOf"];
  },
): { readonly rules: readonly WrittenRule[]; readonly without: readonly string[] } {
  const main = refOf(service);
  const to = (refs: readonly object[], header?: object): WrittenRule => ({
    matches: [header === undefined ? match : { ...match, headers: [header] }],
    ...others,
    backendRefs: refs,
  });
  if (canary === undefined) return { rules: [to([main])], without: [] };
  const second = refOf(canary.service);
  const { header, cookie, weight = 0, weightTotal = 100 } = canary;
  const isWhole = more.length === 0 && cookie === undefined && header?.pattern === undefined;
  const byHeader =
    header === undefined || header.pattern !== undefined
      ? []
      : header.value === undefined
        ? [to([second], exact(header.name, "always")), to([main], exact(header.name, "never"))]
        : [to([second], exact(header.name, header.value))];
  const shared =
    weight <= 0
      ? [main]
      : [
          { ...main, weight: weightTotal - weight },
          { ...second, weight },
        ];
  return {
    rules: [...byHeader, to(shared)],
    without: isWhole ? [] : ["no choice of the canary by a cookie or an expression"],
  };
}

function exact(name: string, value: string): object {
  return { type: "Exact", name, value };
}

function toHttps(statusCode: number): object {
  return redirectFilter({ scheme: "https", statusCode });
}

function redirectFilter(requestRedirect: object): object {
  return { type: "RequestRedirect", requestRedirect };
}

function redirectOf({ redirect, hostRedirect }: RoutePolicy): object | undefined {
  if (hostRedirect !== undefined) {
    return redirectFilter({ hostname: hostRedirect.host, statusCode: hostRedirect.status });
  }
  if (redirect === undefined) return undefined;
  const { location, status } = redirect;
  const problem = new Inexpressible(`a redirect to ${plain(location)} needs a fixed address`);
  if (!URL.canParse(location)) throw problem;
  const { protocol, hostname, port, pathname, search, hash } = new URL(location);
  const scheme = protocol.slice(0, -1);
  const isFixed = !location.includes("$") && search === "" && hash === "";
  if (!isFixed || (scheme !== "http" && scheme !== "https")) throw problem;
  return redirectFilter({
    scheme,
    hostname,
    port: port === "" ? (scheme === "https" ? 443 : 80) : Number(port),
    path: { type: "ReplaceFullPath", replaceFullPath: pathname },
    statusCode: status,
  });
}

/** `/a(/|$)(.*)` with the rewrite `/$2` is a prefix without its text. */
const strippedPrefix = /^(\/[\w/-]*?)\(\/\|\$\)\(\.\*\)\$?$/;

function strippedBy({ path, type }: PathRule, { rewrite }: RoutePolicy): string | undefined {
  if (type !== "Regex" || rewrite === undefined || !/^\/[\w/-]*\$2$/.test(rewrite))
    return undefined;
  return strippedPrefix.exec(path)?.[1];
}

function rewrittenMatch(
  rule: PathRule,
  policy: RoutePolicy,
  match: { readonly path: object },
): { readonly path: object } {
  const prefix = strippedBy(rule, policy);
  return prefix === undefined
    ? match
    : { path: { type: "PathPrefix", value: prefix === "" ? "/" : prefix } };
}

function rewriteOf(rule: PathRule, policy: RoutePolicy): readonly object[] {
  const { rewrite, upstreamHost } = policy;
  if (upstreamHost?.includes("$") === true) {
    throw new Inexpressible(`the Host header ${plain(upstreamHost)} is not a fixed name`);
  }
  const path =
    rewrite === undefined
      ? undefined
      : strippedBy(rule, policy) !== undefined
        ? { type: "ReplacePrefixMatch", replacePrefixMatch: rewrite.slice(0, -2) }
        : { type: "ReplaceFullPath", replaceFullPath: rewrite };
  if (path?.type === "ReplaceFullPath" && rewrite?.includes("$") === true) {
    throw new Inexpressible(`the rewrite to ${plain(rewrite)} uses groups of an expression`);
  }
  if (path === undefined && upstreamHost === undefined) return [];
  const urlRewrite = {
    ...(upstreamHost !== undefined && { hostname: upstreamHost }),
    ...(path !== undefined && { path }),
  };
  return [{ type: "URLRewrite", urlRewrite }];
}

function timeoutsOf({ timeouts }: RoutePolicy): {
  readonly timeouts?: object;
  readonly without: readonly string[];
} {
  if (timeouts === undefined) return { without: [] };
  const { connectMs, sendMs, readMs } = timeouts;
  const isOne = readMs !== undefined && readMs === sendMs;
  const without = [
    ...(connectMs === undefined ? [] : ["no timeout of a connection"]),
    ...(isOne || (sendMs ?? readMs) === undefined
      ? []
      : ["no timeouts that differ for sending and reading"]),
  ];
  return isOne ? { timeouts: { backendRequest: `${readMs}ms` }, without } : { without };
}

/** As many as the API server takes. */
const maxCorsItems = 64;

const corsOrigin = /^https?:\/\/(\*\.)?[a-z0-9.-]+(:\d+)?$/i;
const corsMethod = /^(GET|HEAD|POST|PUT|DELETE|CONNECT|OPTIONS|TRACE|PATCH|\*)$/;

function corsOf({ cors }: RoutePolicy): {
  readonly filter?: object;
  readonly without: readonly string[];
} {
  if (cors === undefined) return { without: [] };
  const { allowOrigins, allowCredentials, maxAgeSeconds } = cors;
  const isForAll = allowOrigins.includes("*");
  const origins = allowOrigins.filter((one) => isForAll || corsOrigin.test(one));
  const methods = cors.allowMethods.filter((one) => corsMethod.test(one));
  const lists = { allowMethods: methods, allowHeaders: cors.allowHeaders };
  if (tooMany({ ...cors, allowOrigins: origins })) {
    return { without: [`no CORS: a list has more than ${maxCorsItems} items`] };
  }
  const filter = {
    allowOrigins: isForAll ? ["*"] : origins,
    ...Object.fromEntries(Object.entries(lists).map(([name, list]) => [name, alone(list)])),
    exposeHeaders: cors.exposeHeaders,
    // Browsers refuse credentials where an answer allows any page by `*`, as ingress-nginx has it.
    ...(allowCredentials && !isForAll && { allowCredentials }),
    maxAge: Math.max(1, maxAgeSeconds),
  };
  return {
    filter: { type: "CORS", cors: filter },
    without: [
      ...(isForAll || origins.length === allowOrigins.length
        ? []
        : ["no CORS for origins without http or https"]),
      ...(methods.length === cors.allowMethods.length ? [] : ["no CORS for methods of its own"]),
      ...(origins.some((one) => one.includes("//*"))
        ? ["a wildcard in an origin of CORS stands for any number of labels"]
        : []),
    ],
  };
}

/** An asterisk has to be alone. */
function alone(list: readonly string[]): readonly string[] {
  return list.includes("*") ? ["*"] : list;
}

function tooMany({ allowOrigins, allowHeaders, exposeHeaders }: Cors): boolean {
  return [allowOrigins, allowHeaders, exposeHeaders].some((list) => list.length > maxCorsItems);
}

function sessionOf({ balance }: RoutePolicy): {
  readonly session?: object;
  readonly without: readonly string[];
} {
  if (balance === undefined) return { without: [] };
  const { method, affinity } = balance;
  const ofMethod = method === "round-robin" ? [] : [`no load balancing by ${method}`];
  if (affinity === undefined) return { without: ofMethod };
  const { cookie, mode, maxAgeSeconds = 0, ...others } = affinity;
  const session = {
    sessionName: cookie,
    ...(maxAgeSeconds > 0 && {
      absoluteTimeout: durationOf(maxAgeSeconds),
      cookieConfig: { lifetimeType: "Permanent" },
    }),
  };
  const lost = Object.keys(others).filter((name) => name !== "path" || others.path !== "/");
  return {
    session,
    without: [
      ...ofMethod,
      ...(mode === "persistent" ? [] : ["sessions stay at their endpoint when others are added"]),
      ...(lost.length === 0 ? [] : [`a session cookie without ${lost.map(plain).join(", ")}`]),
    ],
  };
}

function durationOf(seconds: number): string {
  return `${Math.floor(seconds / 3_600)}h${Math.floor(seconds / 60) % 60}m${seconds % 60}s`;
}

function retryOf({ tries }: RoutePolicy): {
  readonly retry?: object;
  readonly without: readonly string[];
} {
  if (tries === undefined) return { without: [] };
  if (tries < 2) return { without: ["no limit to one try"] };
  return { retry: { attempts: tries - 1 }, without: [] };
}

function appRootRule({ path, type }: PathRule, { appRoot }: RoutePolicy): readonly WrittenRule[] {
  if (appRoot === undefined || path !== "/" || type === "Regex") return [];
  if (/[?#$]/.test(appRoot) || !appRoot.startsWith("/")) {
    throw new Inexpressible(`an app-root of ${plain(appRoot)} is more than a path`);
  }
  const redirected = { type: "ReplaceFullPath", replaceFullPath: appRoot };
  const filter = redirectFilter({ path: redirected, statusCode: 302 });
  return [{ matches: [{ path: { type: "Exact", value: "/" } }], filters: [filter] }];
}

/** The listeners of one namespace: one for HTTP, and one for each name with a certificate. */
class NamespaceListeners {
  /** By host name, in the order of the Ingresses. */
  readonly #secrets = new Map<string, string>();

  /** The secret that the name has already, if it is another one. */
  add(host: string, secretName: string): string | undefined {
    const known = this.#secrets.get(host);
    if (known !== undefined) return known === secretName ? undefined : known;
    this.#secrets.set(host, secretName);
    return undefined;
  }

  /** The name of the listener that shows a certificate for the host. */
  forHost(host: string): string | undefined {
    return [host, wildcardOver(host) ?? anyHost, anyHost].find((one) => this.#secrets.has(one));
  }

  parentOf(host: string, gatewayName: string): object {
    const at = [...this.#secrets.keys()].indexOf(host);
    return { name: nameOfPart(gatewayName, partOf(at)), sectionName: `https-${at + 1}` };
  }

  gateways(gatewayName: string): readonly (readonly [string, readonly object[]])[] {
    const http = { name: "http", port: 80, protocol: "HTTP" };
    const parts: [string, object[]][] = [[gatewayName, [http]]];
    for (const [at, [host, name]] of [...this.#secrets].entries()) {
      const part = partOf(at);
      parts[part] ??= [nameOfPart(gatewayName, part), []];
      parts[part]?.[1].push({
        name: `https-${at + 1}`,
        port: 443,
        protocol: "HTTPS",
        ...(host !== anyHost && { hostname: host }),
        tls: { certificateRefs: [{ name }] },
      });
    }
    return parts;
  }
}

/** The first Gateway has the listener for HTTP too. */
function partOf(at: number): number {
  return Math.floor((at + 1) / maxListeners);
}

function nameOfPart(name: string, part: number): string {
  return part === 0 ? name : `${name}-${part + 1}`;
}

function httpRoutes(routes: readonly WrittenRoute[]): readonly object[] {
  const used = new Map<string, number>();
  return routes.flatMap(({ origin, hosts, rules, parents }) =>
    chunks(hosts, maxHostnames).flatMap((some) =>
      chunks(rules, maxRules).map((few) => {
        const key = objectKey(origin);
        const count = (used.get(key) ?? 0) + 1;
        used.set(key, count);
        return {
          apiVersion,
          kind: "HTTPRoute",
          metadata: {
            name: count === 1 ? origin.name : `${origin.name}-${count}`,
            namespace: origin.namespace,
          },
          spec: {
            parentRefs: parents,
            ...(some[0] !== anyHost && { hostnames: some }),
            rules: few,
          },
        };
      }),
    ),
  );
}

function chunks<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  const count = Math.ceil(all.length / size);
  return Array.from({ length: count }, (_, at) => all.slice(at * size, (at + 1) * size));
}

const words: Readonly<Partial<Record<keyof RoutePolicy, string>>> = {
  closed: "protection like this one, which is not valid",
  basicAuth: "authentication by password",
  externalAuth: "external authentication",
  allowFrom: "list of allowed networks",
  denyFrom: "list of denied networks",
  rateLimit: "rate limit",
  upstreamTlsName: "name for TLS to endpoints",
  verifyUpstream: "verification of endpoints",
  forwardedPrefix: "X-Forwarded-Prefix",
  largeHeaders: "buffer for large headers",
  maxBodyBytes: "limit of the body size",
  streamBodies: "unbuffered request bodies",
};

function wordOf(field: keyof RoutePolicy): string {
  return words[field] ?? field;
}
