// A slow reading of the specification of the Gateway API: which backend a request is for. The most
// specific listener of the port takes it, then of the routes attached to that listener the most specific:
// an HTTPRoute by host, path, method, headers and query, a GRPCRoute by host, service, method and headers;
// then the oldest and the first by name. Routes of one kind only are attached there for a host.
import type { Gateway, GatewayListener } from "../../src/kube/kinds/gateway.ts";
import type {
  BackendReference,
  HttpRoute,
  HttpRouteMatch,
} from "../../src/kube/kinds/http-route.ts";
import type { ReferenceGrant } from "../../src/kube/kinds/reference-grant.ts";

export interface SpecifiedObjects {
  readonly gateway: Gateway;
  /** With one parent and rules with matches and one backend each. */
  readonly routes: readonly HttpRoute[];
  readonly grants: readonly ReferenceGrant[];
  /** By namespace. */
  readonly labels: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** `namespace/name`. */
  readonly hasService: (service: string) => boolean;
  /** The same of a ServiceImport; there is none when absent. */
  readonly hasImport?: (name: string) => boolean;
  /** Ports without TLS where clients begin with HTTP/2; none when absent. */
  readonly grpcPorts?: readonly number[];
}

export interface SpecifiedRequest {
  readonly host: string;
  readonly path: string;
  readonly port: number;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
}

export interface SpecifiedAnswer {
  /** `namespace/name:port` of the service, with `.import` of a ServiceImport; or the status of the answer. */
  readonly backend: string | 404 | 500 | 503;
  /** The services that get a copy of the request. */
  readonly copies: readonly string[];
}

export function specifiedAnswer(
  objects: SpecifiedObjects,
  asked: SpecifiedRequest,
): SpecifiedAnswer {
  const best = specifiedRule(objects, asked);
  if (best === undefined) return { backend: 404, copies: [] };
  const serviceOf = (reference: BackendReference | undefined) => {
    if (reference === undefined) return undefined;
    const own = best.one.metadata.namespace;
    const namespace = reference.namespace ?? own;
    const service = `${namespace}/${reference.name}`;
    const isAllowed =
      namespace === own || isGranted(objects.grants, best.one, { ...reference, namespace });
    if (!isAllowed) return undefined;
    if (reference.kind === "Service") {
      return objects.hasService(service) ? `${service}:${reference.port}` : undefined;
    }
    return objects.hasImport?.(service) ? `${service}:${reference.port}.import` : undefined;
  };
  const backend = serviceOf(best.rule.backendRefs[0]);
  // An answer of the proxy itself needs no copies.
  const refusal = best.one.kind === "GRPCRoute" ? 503 : 500;
  if (backend === undefined) return { backend: refusal, copies: [] };
  const copies = best.rule.filters.flatMap(({ mirror }) => serviceOf(mirror?.backend) ?? []);
  return { backend, copies };
}

function specifiedRule(objects: SpecifiedObjects, asked: SpecifiedRequest) {
  const { gateway, routes } = objects;
  const [chosen] = gateway.listeners
    .filter(({ port, hostname }) => port === asked.port && isUnder(asked.host, hostname))
    .sort((a, b) => specificity(b.hostname) - specificity(a.hostname));
  if (chosen === undefined) return undefined;
  const candidates = routes.flatMap((one) => {
    if (!isServed(objects, one, chosen)) return [];
    const fitting = hostsAt(one, chosen)
      .filter((name) => isUnder(asked.host, name))
      .map(specificity);
    if (fitting.length === 0) return [];
    const host = Math.max(...fitting);
    return one.rules.flatMap((rule, index) =>
      rule.matches
        .filter((each) => isMatch(each, asked) && isCalled(each, asked))
        .map((each, at) => ({ one, rule, host, each, order: index * 100 + at })),
    );
  });
  const [best] = candidates.sort(
    (a, b) =>
      b.host - a.host ||
      Number(b.each.pathType === "Exact") - Number(a.each.pathType === "Exact") ||
      b.each.path.length - a.each.path.length ||
      compareCalls(a.each, b.each) ||
      Number(b.each.method !== undefined) - Number(a.each.method !== undefined) ||
      b.each.headers.length - a.each.headers.length ||
      b.each.queryParams.length - a.each.queryParams.length ||
      createdAt(a.one) - createdAt(b.one) ||
      compare(nameOf(a.one), nameOf(b.one)) ||
      a.order - b.order,
  );
  return best;
}

/** Whether no older route of the other kind has one of its hosts at this listener. */
function isServed(objects: SpecifiedObjects, route: HttpRoute, listener: GatewayListener): boolean {
  const served: HttpRoute[] = [];
  const attached = objects.routes
    .filter((one) => isAttached(objects, one, listener))
    .sort((a, b) => createdAt(a) - createdAt(b) || compare(nameOf(a), nameOf(b)));
  for (const one of attached) {
    const isTaken = served
      .filter(({ kind }) => kind !== one.kind)
      .flatMap((other) => hostsAt(other, listener))
      .some((host) =>
        hostsAt(one, listener).some((own) => isUnder(own, host) || isUnder(host, own)),
      );
    if (!isTaken) served.push(one);
  }
  return served.includes(route);
}

/** Of the route and the listener both: of two names, one under the other, the longer one. */
function hostsAt({ hostnames }: HttpRoute, { hostname }: GatewayListener): readonly string[] {
  if (hostnames.length === 0) return [hostname];
  return hostnames.flatMap((name) => {
    if (isUnder(name, hostname)) return [name];
    return isUnder(hostname, name) ? [hostname] : [];
  });
}

function isAttached(
  { gateway, labels, grpcPorts = [] }: SpecifiedObjects,
  route: HttpRoute,
  listener: GatewayListener,
): boolean {
  const [parent] = route.parentRefs;
  const own = route.metadata.namespace;
  if (parent === undefined || parent.name !== gateway.metadata.name) return false;
  if ((parent.namespace ?? own) !== gateway.metadata.namespace) return false;
  if (parent.sectionName !== undefined && parent.sectionName !== listener.name) return false;
  if (parent.port !== undefined && parent.port !== listener.port) return false;
  // Without TLS only some ports of the proxy have HTTP/2, which gRPC needs.
  const hasHttp2 = listener.protocol === "HTTPS" || grpcPorts.includes(listener.port);
  if (route.kind === "GRPCRoute" && !hasHttp2) return false;
  if (listener.from === "All") return true;
  if (listener.from === "Same") return own === gateway.metadata.namespace;
  const wanted = Object.entries(listener.selector?.matchLabels ?? {});
  return wanted.every(([key, value]) => labels[own]?.[key] === value);
}

function isGranted(
  grants: readonly ReferenceGrant[],
  from: HttpRoute,
  to: BackendReference,
): boolean {
  return grants
    .filter(({ metadata }) => metadata.namespace === to.namespace)
    .some(
      (grant) =>
        grant.from.some(
          (one) =>
            one.group === "gateway.networking.k8s.io" &&
            one.kind === from.kind &&
            one.namespace === from.metadata.namespace,
        ) &&
        grant.to.some(
          (one) =>
            one.group === to.group &&
            one.kind === to.kind &&
            (one.name === undefined || one.name === to.name),
        ),
    );
}

function isUnder(host: string, name: string): boolean {
  return name === "" || name === host || (name.startsWith("*.") && host.endsWith(name.slice(1)));
}

/** Any host, then wildcards, then names, each by its length. */
function specificity(name: string): number {
  if (name === "") return 0;
  return name.startsWith("*.") ? name.length : 1_000 + name.length;
}

function isMatch(
  { pathType, path, method, headers, queryParams }: HttpRouteMatch,
  asked: SpecifiedRequest,
): boolean {
  const elements = (text: string) => text.split("/").filter((one) => one !== "");
  const isPrefix = elements(path).every((one, at) => elements(asked.path)[at] === one);
  return (
    (pathType === "Exact" ? path === asked.path : isPrefix) &&
    (method === undefined || method === asked.method) &&
    headers.every(({ name, value }) => asked.headers[name] === value) &&
    queryParams.every(({ name, value }) => asked.query[name] === value)
  );
}

/** A call is a request for `/SERVICE/METHOD`. */
function isCalled({ call }: HttpRouteMatch, { path }: SpecifiedRequest): boolean {
  if (call === undefined) return true;
  const [, service, method, ...more] = path.split("/");
  const fits = (wanted: string | undefined, text: string) =>
    wanted === undefined ||
    (call.type === "Exact" ? wanted === text : new RegExp(`^(?:${wanted})$`).test(text));
  if (service === undefined || method === undefined || more.length > 0) return false;
  return fits(call.service, service) && fits(call.method, method);
}

/** The service, then the method: exact before an expression before none, the longer before the shorter. */
function compareCalls({ call: a }: HttpRouteMatch, { call: b }: HttpRouteMatch): number {
  const rank = (call: HttpRouteMatch["call"], text: string | undefined) =>
    text === undefined ? 0 : text.length + (call?.type === "Exact" ? 1_000 : 0);
  return rank(b, b?.service) - rank(a, a?.service) || rank(b, b?.method) - rank(a, a?.method);
}

function createdAt({ metadata }: HttpRoute): number {
  return metadata.creationTimestamp ?? 0;
}

function nameOf({ metadata: { namespace, name } }: HttpRoute): string {
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
