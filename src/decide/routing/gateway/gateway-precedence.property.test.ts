// The table of routes gives every request to the backend that the specification gives it to, as found by
// a slow reading of the specification: the most specific listener of the port, then the routes attached
// to it by the specificity of their host, path, method, headers and query, then by age and name.
import fc from "fast-check";
import { expect, it } from "vitest";
import { gateway, gatewayClass, httpRoute } from "../../../../tests/gateway/gateway-objects.ts";
import type { HttpRoute, HttpRouteMatch } from "../../../kube/kinds/http-route.ts";
import { type AskedRequest, compileHost, findRule } from "../../../outputs/nginx/route-match.ts";
import { Routing } from "../routing.ts";
import { type GatewayFacts, GatewayFrontEnd } from "./gateway-front-end.ts";

const names = ["", "a.x.example", "b.x.example", "*.x.example", "*.example", "c.a.x.example"];
const paths = ["/", "/p", "/p/q", "/p/q/r"];
const ports = [80, 443];

const facts: GatewayFacts = {
  ports: { http: new Map([[80, 80]]), https: new Map([[443, 443]]) },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: () => true,
};

interface Request extends AskedRequest {
  readonly host: string;
  readonly path: string;
}

interface Listener {
  readonly name: string;
  readonly hostname: string;
  readonly port: number;
}

const listener = fc.record({
  hostname: fc.constantFrom(...names),
  port: fc.constantFrom(...ports),
});

const field = (name: string) =>
  fc.record({ name: fc.constant(name), value: fc.constantFrom("1", "2") });

const match = fc.record(
  {
    path: fc.record({
      type: fc.constantFrom("Exact", "PathPrefix"),
      value: fc.constantFrom(...paths),
    }),
    method: fc.constantFrom("GET", "POST"),
    headers: fc.subarray(["h1", "h2"]).chain((some) => fc.tuple(...some.map(field))),
    queryParams: fc.subarray(["q1", "q2"]).chain((some) => fc.tuple(...some.map(field))),
  },
  { requiredKeys: ["path"] },
);

const route = fc.record({
  namespace: fc.constantFrom("infra", "apps"),
  createdAt: fc.integer({ min: 1, max: 3 }),
  sectionName: fc.constantFrom(undefined, "l0", "l1", "l2"),
  hostnames: fc.subarray(names.slice(1), { maxLength: 2 }),
  rules: fc.array(fc.array(match, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
});

/** Of routes that differ in nothing but what comes after the path. */
const alikeMatch = fc.record(
  {
    path: fc.constant({ type: "PathPrefix", value: "/p" }),
    method: fc.constantFrom("GET", "POST"),
    headers: fc.subarray(["h1", "h2"]).chain((some) => fc.tuple(...some.map(field))),
    queryParams: fc.subarray(["q1", "q2"]).chain((some) => fc.tuple(...some.map(field))),
  },
  { requiredKeys: ["path"] },
);

const alikeRoute = fc.record({
  namespace: fc.constantFrom("infra", "apps"),
  createdAt: fc.integer({ min: 1, max: 3 }),
  sectionName: fc.constant(undefined),
  hostnames: fc.constant([]),
  rules: fc.array(fc.array(alikeMatch, { minLength: 1, maxLength: 3 }), {
    minLength: 1,
    maxLength: 3,
  }),
});

const request: fc.Arbitrary<Request> = fc.record({
  host: fc.constantFrom("a.x.example", "b.x.example", "c.a.x.example", "y.example", "other"),
  path: fc.constantFrom(...paths, "/p", "/pq", "/p/"),
  port: fc.constantFrom(...ports),
  method: fc.constantFrom("GET", "POST", "PUT"),
  headers: fc.dictionary(fc.constantFrom("h1", "h2"), fc.constantFrom("1", "2")),
  query: fc.dictionary(fc.constantFrom("q1", "q2"), fc.constantFrom("1", "2")),
});

it("gives each request to the backend that the specification gives it to", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(listener, {
        minLength: 1,
        maxLength: 3,
        selector: ({ hostname, port }) => `${hostname} ${port}`,
      }),
      fc.oneof(
        fc.array(route, { minLength: 1, maxLength: 4 }),
        fc.array(alikeRoute, { minLength: 1, maxLength: 3 }),
      ),
      fc.array(request, { minLength: 1, maxLength: 12 }),
      (some, written, requests) => {
        const listeners = some.map((one, at): Listener => ({ ...one, name: `l${at}` }));
        const routes = written.map(({ sectionName, hostnames, rules, ...named }, at) =>
          httpRoute(
            { ...named, name: `r${at}` },
            {
              parentRefs: [{ name: "edge", namespace: "infra", sectionName }],
              hostnames,
              rules: rules.map((matches, index) => ({
                matches,
                backendRefs: [{ name: `s-${at}-${index}`, port: 80 }],
              })),
            },
          ),
        );
        const decide = decided(listeners, routes);
        for (const asked of requests) {
          expect([asked, decide(asked)]).toEqual([asked, specified(listeners, routes, asked)]);
        }
      },
    ),
    { numRuns: 150 },
  );
});

/** By the product: the front end, the table and the proxy's twin. */
function decided(listeners: readonly Listener[], routes: readonly HttpRoute[]) {
  const edge = gateway(
    { name: "edge" },
    listeners.map(({ hostname, ...one }) => ({
      ...one,
      protocol: one.port === 443 ? "HTTPS" : "HTTP",
      ...(hostname !== "" && { hostname }),
      ...(one.port === 443 && { tls: { certificateRefs: [{ name: "cert" }] } }),
      allowedRoutes: { namespaces: { from: "All" } },
    })),
  );
  const objects = { classes: [gatewayClass()], gateways: [edge], routes, grants: [] };
  const { asked: others } = new GatewayFrontEnd().decide(objects, facts);
  const routing = new Routing({ className: "lockstep" });
  const { hosts } = routing.decide({ ingresses: [], classes: [], others });
  const compiled = new Map([...hosts].map(([name, rules]) => [name, compileHost(rules)]));
  return (asked: Request): string | undefined => {
    const rule = findRule((name) => compiled.get(name), asked.host, asked.path, asked)?.rule;
    return rule === undefined || rule.policy?.refuse !== undefined ? undefined : rule.service;
  };
}

/** By the specification; undefined for a request that no route takes. */
function specified(
  listeners: readonly Listener[],
  routes: readonly HttpRoute[],
  asked: Request,
): string | undefined {
  const [chosen] = listeners
    .filter(({ port, hostname }) => port === asked.port && isUnder(asked.host, hostname))
    .sort((a, b) => specificity(b.hostname) - specificity(a.hostname));
  if (chosen === undefined) return undefined;
  const candidates = routes.flatMap((one) => {
    const { sectionName } = one.parentRefs[0] ?? {};
    if (sectionName !== undefined && sectionName !== chosen.name) return [];
    const hostnames = one.hostnames.length === 0 ? [""] : one.hostnames;
    const fitting = hostnames
      .filter((name) => isUnder(asked.host, name))
      .map((name) => Math.max(specificity(name), specificity(chosen.hostname)));
    if (fitting.length === 0) return [];
    const host = Math.max(...fitting);
    return one.rules.flatMap((rule, index) =>
      rule.matches
        .filter((each) => isMatch(each, asked))
        .map((each, at) => ({ one, rule, host, each, order: index * 100 + at })),
    );
  });
  const [best] = candidates.sort(
    (a, b) =>
      b.host - a.host ||
      Number(b.each.pathType === "Exact") - Number(a.each.pathType === "Exact") ||
      b.each.path.length - a.each.path.length ||
      Number(b.each.method !== undefined) - Number(a.each.method !== undefined) ||
      b.each.headers.length - a.each.headers.length ||
      b.each.queryParams.length - a.each.queryParams.length ||
      createdAt(a.one) - createdAt(b.one) ||
      compare(nameOf(a.one), nameOf(b.one)) ||
      a.order - b.order,
  );
  const [backend] = best?.rule.backendRefs ?? [];
  return best && backend && `${best.one.metadata.namespace}/${backend.name}:${backend.port}`;
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
  asked: Request,
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

function createdAt({ metadata }: HttpRoute): number {
  return metadata.creationTimestamp ?? 0;
}

function nameOf({ metadata: { namespace, name } }: HttpRoute): string {
  return `${namespace}/${name}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
