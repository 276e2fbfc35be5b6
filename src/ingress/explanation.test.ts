import { expect, test } from "vitest";
import type { PathRule } from "../decide/decision.ts";
import type { RouteOrigin } from "../decide/routing/route.ts";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import { type ExplainedTables, explain, type Question } from "./explanation.ts";

const endpoint = (state: TruthEndpoint["state"], address = "10.0.0.1"): TruthEndpoint => ({
  address,
  port: 80,
  cluster: "c",
  state,
  reason: "as it is",
  rule: "a rule",
  pod: "ready",
  published: "ready",
});

const origin: RouteOrigin = { kind: "Ingress", namespace: "shop", name: "web", createdAtMs: 0 };

const web = "shop/web:80";

function tables(
  hosts: Readonly<Record<string, readonly PathRule[]>>,
  endpoints: Readonly<Record<string, readonly TruthEndpoint[]>> = { [web]: [endpoint("active")] },
): ExplainedTables {
  return {
    hosts: new Map(Object.entries(hosts)),
    originOf: () => origin,
    ports: { http: 8080, https: 8443, grpc: 8081 },
    listenerPorts: {
      http: new Map([
        [80, 8080],
        [9000, 9000],
      ]),
      https: new Map([[443, 8443]]),
      grpc: new Map([[8081, 8081]]),
    },
    problems: [
      { origin, message: "an annotation is ignored" },
      {
        origin: { ...origin, name: "other" },
        message: "host lost.example belongs to another",
        reason: "HostTaken",
      },
    ],
    portOf: (service) => ({
      service,
      problems:
        service === "shop/none:80" ? ["service shop/none does not exist in any cluster"] : [],
      endpoints: endpoints[service] ?? [],
    }),
    leftAlone: ({ host }) =>
      host === "left.example" ? ["Ingress shop/left has this host and path"] : [],
  };
}

const question = (host: string, path = "/", more: Partial<Question> = {}): Question => ({
  host,
  path,
  isSecure: false,
  headers: {},
  ...more,
});

const rule = (path: string, more: Partial<PathRule> = {}): PathRule => ({
  path,
  type: "Prefix",
  service: web,
  ...more,
});

test("names the rule, whose it is, what it asks for and who would serve", () => {
  const wanted = rule("/cart", { policy: { rewrite: "/", maxBodyBytes: 0 } });
  const shown = explain(
    question("a.example", "/cart/1"),
    tables({ "a.example": [wanted, rule("/")] }),
  );
  expect(shown).toEqual({
    verdict: "served by 1 endpoint of shop/web:80",
    status: undefined,
    host: "a.example",
    rule: wanted,
    origin: "Ingress shop/web",
    asks: ["path sent to the endpoint: /", "maximum body size: unlimited"],
    services: [
      {
        service: web,
        because: "chosen by the route",
        problems: [],
        endpoints: [endpoint("active")],
      },
    ],
    near: [],
    problems: ["an annotation is ignored"],
  });
});

test.each<[string, readonly TruthEndpoint[], number | undefined, string]>([
  ["all are out", [endpoint("out")], 503, `no endpoint of ${web}: it has no usable endpoint`],
  [
    "all are leaving",
    [endpoint("draining"), endpoint("out")],
    undefined,
    `served by 1 endpoint (last resort) of ${web}`,
  ],
  [
    "some are held",
    [endpoint("held"), endpoint("active", "10.0.0.2"), endpoint("suspect", "10.0.0.3")],
    undefined,
    `served by 2 endpoints of ${web}, 1 on standby`,
  ],
  [
    "another cluster stands in",
    [endpoint("active"), { ...endpoint("active", "10.1.0.1"), priority: 1 }],
    undefined,
    `served by 1 endpoint of ${web}, 1 on standby`,
  ],
])("says who is left when %s", (_, endpoints, status, verdict) => {
  const shown = explain(
    question("a.example"),
    tables({ "a.example": [rule("/")] }, { [web]: endpoints }),
  );
  expect({ status: shown.status, verdict: shown.verdict }).toEqual({ status, verdict });
});

test("a service that is nowhere is named with the reason", () => {
  const rules = [rule("/", { service: "shop/none:80" })];
  const { status, verdict } = explain(question("a.example"), tables({ "a.example": rules }));
  expect({ status, verdict }).toEqual({
    status: 503,
    verdict: "no endpoint of shop/none:80: service shop/none does not exist in any cluster",
  });
});

test.each<[string, PathRule["policy"], Partial<Question>, number | undefined]>([
  ["without TLS where it is wanted", { httpsRedirect: 308 }, {}, 308],
  ["with TLS where it is wanted", { httpsRedirect: 308 }, { isSecure: true }, undefined],
  ["of a route that has moved", { redirect: { location: "https://b", status: 301 } }, {}, 301],
  ["of another name of a host", { hostRedirect: { host: "b.example", status: 308 } }, {}, 308],
  ["for the root of an application", { appRoot: "/app" }, {}, 302],
  ["of a route that is closed", { closed: true, httpsRedirect: 308 }, {}, 503],
  ["where no client is allowed", { allowFrom: [] }, {}, 403],
  ["where some may come in", { allowFrom: ["10.0.0.0/8"] }, {}, undefined],
  ["below the root of an application", { appRoot: "/app" }, { path: "/x" }, undefined],
])("a request %s", (_, policy, more, status) => {
  const rules = [rule("/", policy === undefined ? {} : { policy })];
  const shown = explain(question("a.example", "/", more), tables({ "a.example": rules }));
  expect(shown.status).toBe(status);
});

test.each<[string, Readonly<Record<string, string>>, readonly string[]]>([
  ["wanted by its header", { "x-canary": "always" }, ["shop/new:80"]],
  ["not wanted by its header", { "x-canary": "never" }, [web]],
  ["left to chance", {}, [web, "shop/new:80"]],
  ["wanted by its cookie", { cookie: "a=b; canary=always" }, ["shop/new:80"]],
])("a canary gets a request that is %s", (_, headers, services) => {
  const canary = {
    service: "shop/new:80",
    header: { name: "X-Canary" },
    cookie: "canary",
    weight: 10,
  };
  const rules = [rule("/", { policy: { canaries: [canary] } })];
  const shown = explain(question("a.example", "/", { headers }), tables({ "a.example": rules }));
  expect(shown.services.map(({ service }) => service)).toEqual(services);
});

test("an unknown host is answered with similar ones", () => {
  const { status, verdict, near } = explain(
    question("shop.exmaple"),
    tables({ "shop.example": [rule("/")], "far.away": [rule("/")] }),
  );
  expect({ status, verdict, near }).toEqual({
    status: 404,
    verdict: "no served Ingress or route has the host shop.exmaple",
    near: ["shop.example"],
  });
});

test("an unknown path is answered with the existing ones", () => {
  const hosts = { "a.example": [rule("/cart")], "*.example": [rule("/x", { type: "Exact" })] };
  const { status, verdict, near } = explain(question("a.example", "/car"), tables(hosts));
  expect({ status, verdict, near }).toEqual({
    status: 404,
    verdict: "no path of host a.example or *.example matches /car",
    near: ["Prefix /cart", "Exact /x"],
  });
});

test("a host that was lost to another is answered with who says so", () => {
  expect(explain(question("lost.example"), tables({})).problems).toEqual([
    "Ingress shop/other: host lost.example belongs to another",
  ]);
});

test("a host that only an Ingress of another class has is answered with that", () => {
  const shown = explain(question("left.example"), tables({ "lift.example": [rule("/")] }));
  expect(shown.verdict).toBe("no served Ingress or route has the host left.example");
  expect(shown.problems).toEqual(["Ingress shop/left has this host and path"]);
  expect(shown.near).toEqual([]);
});

test("so is one that falls to a route for any host, and none that our class has", () => {
  const fallen = explain(question("left.example"), tables({ "*": [rule("/")] }));
  expect(fallen.problems).toEqual([
    "Ingress shop/left has this host and path",
    "an annotation is ignored",
  ]);
  const ours = explain(question("left.example"), tables({ "left.example": [rule("/")] }));
  expect(ours.problems).toEqual(["an annotation is ignored"]);
});

test("a host that an Ingress was refused is explained where a wildcard serves it instead", () => {
  const served = tables({ "*.example": [rule("/")] });
  expect(explain(question("lost.example"), served).problems).toEqual([
    "an annotation is ignored",
    "Ingress shop/other: host lost.example belongs to another",
  ]);
  expect(explain(question("ost.example"), served).problems).toEqual(["an annotation is ignored"]);
});

test("a rule of one listener's port is for requests of its scheme", () => {
  const hosts = {
    "web.example": [
      rule("/", { service: "", policy: { refuse: 404 }, when: { ports: [8080] } }),
      rule("/", { when: { ports: [8443] } }),
    ],
  };
  const { status } = explain(question("web.example"), tables(hosts));
  const secure = explain(question("web.example", "/", { isSecure: true }), tables(hosts));
  expect([status, secure.services.map(({ service }) => service)]).toEqual([404, [web]]);
});

test("a gRPC call is a POST that comes to the port for gRPC, or over TLS", () => {
  const call = { method: "POST" };
  const elements = [{ name: "1", pattern: "^(?:shop\\..*)$" }];
  const hosts = {
    "web.example": [
      rule("/shop.Cart/Add", { type: "Exact", when: { ...call, ports: [8081] } }),
      rule("/", { when: { ...call, ports: [8443], elements } }),
    ],
  };
  const pathOf = (path: string, more: Partial<Question> = {}, without: object = {}) => {
    const served = { ...tables(hosts), ...without };
    const { rule: found, verdict } = explain(question("web.example", path, more), served);
    return found?.path ?? verdict;
  };
  const unmatched = "no path of host web.example matches /shop.Cart/Add";
  expect([
    pathOf("/shop.Cart/Add", { isCall: true }),
    pathOf("/shop.Cart/Add", { isCall: true, isSecure: true }),
    pathOf("/shop.Cart/Add"),
    pathOf("/shop.Cart/Add", { isSecure: true }),
    pathOf("/shop.Cart/Add", { isCall: true }, { ports: { http: 8080, https: 8443 } }),
  ]).toEqual([
    "/shop.Cart/Add",
    "/",
    unmatched,
    unmatched,
    "this ingress has no --grpc-port, so calls need TLS: ask for grpcs://",
  ]);
});

test("a port that a listener may name is asked for itself, and another one leads to the usual one", () => {
  const served = tables({ "web.example": [rule("/", { when: { ports: [9000] } })] });
  const statusAt = (port?: number) =>
    explain(question("web.example", "/", { port }), served).status;
  expect([statusAt(9000), statusAt(), statusAt(80), statusAt(8081)]).toEqual([
    undefined,
    404,
    404,
    404,
  ]);
});
