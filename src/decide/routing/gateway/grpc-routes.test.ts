// GRPCRoutes as routes of the neutral model, and beside HTTPRoutes at one listener.
import { expect, it } from "vitest";
import {
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
  referenceGrant,
} from "../../../../tests/gateway/gateway-objects.ts";
import type { Gateway } from "../../../kube/kinds/gateway.ts";
import type { HttpRoute } from "../../../kube/kinds/http-route.ts";
import type { ReferenceGrant } from "../../../kube/kinds/reference-grant.ts";
import { compileHost, findRule } from "../../../outputs/nginx/route-match.ts";
import { Routing } from "../routing.ts";
import { type GatewayFacts, GatewayFrontEnd } from "./gateway-front-end.ts";

const facts: GatewayFacts = {
  ports: {
    http: new Map([[80, 80]]),
    grpc: new Map([[81, 81]]),
    https: new Map([[443, 443]]),
  },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: (_, name) => name !== "missing",
};

const http = { name: "http", port: 80, protocol: "HTTP" };
const grpc = { name: "grpc", port: 81, protocol: "HTTP" };
const tls = { certificateRefs: [{ name: "pair" }] };
const https = { name: "https", port: 443, protocol: "HTTPS", tls };

const toEdge = { parentRefs: [{ name: "edge" }] };
const to = (name: string, more: object = {}) => ({ name, port: 80, ...more });
const call = (service?: string, method?: string, type?: string) => ({
  method: { ...(type && { type }), ...(service && { service }), ...(method && { method }) },
});
/** One rule for each, with the backend of that name. */
const ruled = (matches: Readonly<Record<string, object>>) =>
  Object.entries(matches).map(([name, match]) => ({ matches: [match], backendRefs: [to(name)] }));

interface Given {
  readonly gateways?: readonly Gateway[];
  readonly routes: readonly HttpRoute[];
  readonly grants?: readonly ReferenceGrant[];
}

function decided({ gateways, routes, grants = [] }: Given, frontEnd = new GatewayFrontEnd()) {
  const listeners = [http, grpc, https];
  const decision = frontEnd.decide(
    {
      classes: [gatewayClass()],
      gateways: gateways ?? [gateway({ name: "edge" }, listeners)],
      routes,
      grants,
    },
    facts,
  );
  const table = new Routing({ className: "none" }).decide({
    ingresses: [],
    classes: [],
    others: decision.asked,
  });
  return { decision, table };
}

/** The service that gets a call, or the status that its policy answers with. */
function asker(given: Given) {
  const { table } = decided(given);
  const hosts = new Map([...table.hosts].map(([name, rules]) => [name, compileHost(rules)]));
  return (path: string, headers: Readonly<Record<string, string>> = {}, port = 81) => {
    const asked = { port, method: "POST", headers, query: {} };
    const rule = findRule((name) => hosts.get(name), "shop.example", path, asked)?.rule;
    return rule?.service || rule?.policy?.refuse;
  };
}

const acceptedOf = (given: Given, frontEnd?: GatewayFrontEnd) =>
  Object.fromEntries(
    decided(given, frontEnd).decision.routes.map(({ route, parents }) => [
      route.metadata.name,
      parents.map(({ accepted, attachments }) => [
        accepted.reason,
        ...attachments.map(({ listener }) => listener.listener.name),
      ]),
    ]),
  );

it("makes each match a POST to a service and a method, for endpoints with gRPC", () => {
  const rules = ruled({
    both: call("shop.Cart", "Add"),
    service: call("shop.Cart"),
    method: call(undefined, "Add"),
    expression: call("shop\\..*", "Get|List", "RegularExpression"),
    any: { headers: [{ name: "v", value: "2" }] },
  });
  const { table } = decided({ routes: [grpcRoute({ name: "calls" }, { ...toEdge, rules })] });
  const when = { ports: [81, 443], method: "POST" };
  const policy = { protocol: "grpc" };
  const served = (name: string) => ({ policy, service: `infra/${name}:80` });
  const element = (name: string, value: string) => ({ name, value });
  const pattern = (name: string, text: string) => ({ name, pattern: `^(?:${text})$` });
  expect(table.hosts.get("*")).toEqual([
    {
      path: "/shop.Cart/Add",
      type: "Exact",
      when,
      ...served("both"),
    },
    { path: "/shop.Cart", type: "Prefix", when, ...served("service") },
    {
      path: "/",
      type: "Prefix",
      when: { ...when, elements: [pattern("1", "shop\\..*"), pattern("2", "Get|List")] },
      ...served("expression"),
    },
    {
      path: "/",
      type: "Prefix",
      when: { ...when, elements: [element("2", "Add")] },
      ...served("method"),
    },
    {
      path: "/",
      type: "Prefix",
      when: { ...when, headers: [element("v", "2")] },
      ...served("any"),
    },
  ]);
});

it("prefers the longer service, then the longer method, then more headers, then the older route", () => {
  const v2 = { headers: [{ name: "v", value: "2" }] };
  const older = ruled({ method: call(undefined, "AddManyAndMore"), all: {} });
  const younger = ruled({
    service: call("a.B"),
    both: call("a.B", "Add"),
    versioned: { ...call("a.B", "Add"), ...v2 },
    short: call("a.*", undefined, "RegularExpression"),
    long: call("a\\.C.*", undefined, "RegularExpression"),
    later: {},
  });
  const ask = asker({
    routes: [
      grpcRoute({ name: "younger", createdAt: 2 }, { ...toEdge, rules: younger }),
      grpcRoute({ name: "older", createdAt: 1 }, { ...toEdge, rules: older }),
    ],
  });
  expect([
    ask("/a.B/Add"),
    ask("/a.B/Add", { v: "2" }),
    ask("/a.B/AddManyAndMore"),
    ask("/a.Cs/AddManyAndMore"),
    ask("/a.D/AddManyAndMore"),
    ask("/x.Y/AddManyAndMore"),
    ask("/x.Y/Other"),
  ]).toEqual(
    ["both", "versioned", "service", "long", "short", "method", "all"].map(
      (name) => `infra/${name}:80`,
    ),
  );
});

it("answers with UNAVAILABLE for backends and filters that it does not have", () => {
  const rules = [
    { matches: [call("a", "Missing")], backendRefs: [to("missing")] },
    { matches: [call("a", "Apart")], backendRefs: [to("web", { namespace: "apart" })] },
    { matches: [call("a", "Granted")], backendRefs: [to("web", { namespace: "open" })] },
    {
      matches: [call("a", "Redirect")],
      filters: [{ type: "RequestRedirect", requestRedirect: { hostname: "evil.example" } }],
      backendRefs: [to("web")],
    },
    {
      matches: [call("a", "Mirror")],
      filters: [{ type: "RequestMirror", requestMirror: { backendRef: to("web") } }],
      backendRefs: [to("web")],
    },
    { matches: [call("a/b", "Add"), call("a", "Add", "Other")], backendRefs: [to("web")] },
  ];
  const from = (kind: string) => [{ group: "gateway.networking.k8s.io", kind, namespace: "infra" }];
  const grant = (namespace: string, kind: string) =>
    referenceGrant({ namespace, name: "g" }, { from: from(kind), to: [{ kind: "Service" }] });
  const given = {
    routes: [grpcRoute({ name: "calls" }, { ...toEdge, rules })],
    grants: [grant("apart", "HTTPRoute"), grant("open", "GRPCRoute")],
  };
  const ask = asker(given);
  const methods = ["Missing", "Apart", "Granted", "Redirect", "Mirror", "Add"];
  expect(methods.map((method) => ask(`/a/${method}`))).toEqual([
    503,
    503,
    "open/web:80",
    503,
    503,
    undefined,
  ]);
  expect(decided(given).decision.routes[0]?.rules).toMatchObject({
    refused: [
      'spec.rules[3]: filter "RequestRedirect" is not supported, so its requests are answered with UNAVAILABLE',
      'spec.rules[4]: filter "RequestMirror" is not supported, so its requests are answered with UNAVAILABLE',
      'spec.rules[5].matches[0]: method: "a/b" is not a name, so it matches nothing',
      'spec.rules[5].matches[1]: method: the type "Other" is not supported, so it matches nothing',
    ],
    references: [{ reason: "BackendNotFound" }, { reason: "RefNotPermitted" }],
  });
});

it("serves gRPC where HTTP/2 is: with TLS, and at a port of its own without it", () => {
  const asks = (kind: string) => ({ allowedRoutes: { kinds: [{ kind }] } });
  const listeners = [
    http,
    grpc,
    https,
    { ...http, name: "wrong-http", hostname: "a.example", ...asks("GRPCRoute") },
    { ...grpc, name: "no-grpc", hostname: "a.example", ...asks("HTTPRoute") },
    { ...https, name: "only-grpc", hostname: "a.example", ...asks("GRPCRoute") },
  ];
  const { decision } = decided({ gateways: [gateway({ name: "edge" }, listeners)], routes: [] });
  const seen = decision.gateways[0]?.listeners.map(({ listener, kinds, conditions }) => [
    listener.name,
    kinds,
    conditions.find(({ type }) => type === "ResolvedRefs")?.reason,
  ]);
  expect(seen).toEqual([
    ["http", ["HTTPRoute"], "ResolvedRefs"],
    ["grpc", ["HTTPRoute", "GRPCRoute"], "ResolvedRefs"],
    ["https", ["HTTPRoute", "GRPCRoute"], "ResolvedRefs"],
    ["wrong-http", [], "InvalidRouteKinds"],
    ["no-grpc", ["HTTPRoute"], "ResolvedRefs"],
    ["only-grpc", ["GRPCRoute"], "ResolvedRefs"],
  ]);
  const routes = [
    httpRoute({ name: "pages", createdAt: 2 }, toEdge),
    grpcRoute({ name: "calls", createdAt: 1 }, toEdge),
  ];
  expect(acceptedOf({ routes })).toEqual({
    pages: [["Accepted", "http"]],
    calls: [["Accepted", "grpc", "https"]],
  });
});

it("attaches routes of one kind alone to a listener where their hosts meet: those of the oldest", () => {
  const named = (name: string, createdAt: number, ...hostnames: readonly string[]) =>
    [
      { name, createdAt },
      { parentRefs: [{ name: "edge", sectionName: "https" }], hostnames },
    ] as const;
  const wide = httpRoute(...named("wide", 2, "*.example"));
  const exact = grpcRoute(...named("exact", 3, "shop.example"));
  const apart = grpcRoute(...named("apart", 3, "shop.test"));
  const accepted = [["Accepted", "https"]];
  const taken = [["HostTaken"]];
  const frontEnd = new GatewayFrontEnd();
  const see = (...routes: readonly HttpRoute[]) => acceptedOf({ routes }, frontEnd);
  expect(see(wide, exact, apart)).toEqual({ wide: accepted, exact: taken, apart: accepted });
  // One that lost takes no host itself.
  const third = httpRoute(...named("third", 4, "shop.example", "blog.example"));
  expect(see(wide, exact, third)).toEqual({ wide: accepted, exact: taken, third: accepted });
  expect(see(exact, third)).toEqual({ exact: accepted, third: taken });
  const first = grpcRoute(...named("first", 1, "a.b.example"));
  expect(see(wide, exact, first)).toEqual({ wide: taken, exact: accepted, first: accepted });
  expect(see(wide, exact)).toEqual({ wide: accepted, exact: taken });
  const every = grpcRoute(...named("every", 1));
  expect(see(wide, every)).toEqual({ wide: taken, every: accepted });
});
