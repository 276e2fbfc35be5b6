// HTTPRoutes with anything in every string: whatever Lockstep makes of them, the proxy takes it, and it
// never becomes a rule that the proxy would refuse with the whole host.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type GatewayFacts,
  GatewayFrontEnd,
} from "../src/decide/routing/gateway/gateway-front-end.ts";
import { Routing } from "../src/decide/routing/routing.ts";
import type { HttpRoute } from "../src/kube/kinds/http-route.ts";
import { policyText, pushedHost } from "../src/outputs/nginx/host-entry.ts";
import {
  gateway,
  gatewayClass,
  httpRoute,
  referenceGrant,
} from "../tests/gateway/gateway-objects.ts";
import { withoutNginx } from "./proxy-world.ts";
import { runLua } from "./run-lua.ts";

const routeCount = 500;

const nasty = fc.constantFrom(
  "a\r\nX-Evil: 1",
  "a;\n}\nserver { listen 1; }",
  "\0",
  "\ud800",
  "$request_uri",
  "%2e%2e%2f",
  "%",
  "/%0a",
  "//evil.example/",
  "/../x",
  "/a\\..\\b",
  "(a+)+$",
  "(",
  "]] ngx.exit(200) --[[",
  "Host",
  "Content-Length",
  "X-Forwarded-For",
  "__proto__",
  "é".repeat(3_000),
  "a".repeat(5_000),
);

/** Mostly what is valid there: a rule with one bad field is refused as a whole. */
const or = (...valid: readonly string[]) =>
  fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...valid) },
    { weight: 1, arbitrary: nasty },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
  );

const path = or("/", "/p", "/p/q/", "/%41", "/(a|b)+").chain((one) =>
  fc.constantFrom(one, one.startsWith("/") ? one : `/${one}`),
);
const header = fc.oneof(
  { weight: 5, arbitrary: or("X-A", "x-b", "Accept") },
  { weight: 1, arbitrary: fc.constantFrom("Host", "content-length", "X\r\nEvil", "X Y") },
);
const headerValue = fc.oneof(
  { weight: 5, arbitrary: or("1", "text") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("1\r\nX-Evil: 1", "1\0", "é".repeat(4_000), "a".repeat(5_000)),
  },
);
const value = fc.record({ name: header, value: headerValue });
const typed = fc.record({
  name: header,
  value: or("1", "a+"),
  type: fc.constantFrom("Exact", "RegularExpression"),
});
const few = { maxLength: 1 };
const changes = fc.record(
  { set: fc.array(value, few), add: fc.array(value, few), remove: fc.array(header, few) },
  { requiredKeys: [] },
);
const pathChange = fc.oneof(
  path.map((one) => ({ type: "ReplaceFullPath", replaceFullPath: one })),
  path.map((one) => ({ type: "ReplacePrefixMatch", replacePrefixMatch: one })),
);
const host = or("a.example", "b.example");
const redirect = fc.record(
  { scheme: or("https"), hostname: host, path: pathChange, port: fc.constantFrom(0, 80, 99_999) },
  { requiredKeys: [] },
);
const cors = fc.record(
  {
    allowOrigins: fc.array(or("*", "https://*.example:8443", "null"), few),
    allowMethods: fc.array(or("*", "GET"), few),
    allowHeaders: fc.array(header, few),
    exposeHeaders: fc.array(header, few),
    allowCredentials: fc.boolean(),
    maxAge: fc.constantFrom(5, -1),
  },
  { requiredKeys: [] },
);
const mirror = fc.record(
  {
    backendRef: fc.record({ name: or("web"), port: fc.constantFrom(80, 0, 70_000) }),
    percent: fc.constantFrom(0, 7, 100, -1),
    fraction: fc.record({ numerator: fc.nat(), denominator: fc.constantFrom(0, 3, -5) }),
  },
  { requiredKeys: ["backendRef"] },
);
const headerFilter = fc.oneof(
  changes.map((one) => ({ type: "RequestHeaderModifier", requestHeaderModifier: one })),
  changes.map((one) => ({ type: "ResponseHeaderModifier", responseHeaderModifier: one })),
);
const filter = fc.oneof(
  headerFilter,
  headerFilter,
  redirect.map((one) => ({ type: "RequestRedirect", requestRedirect: one })),
  fc
    .record({ hostname: host, path: pathChange }, { requiredKeys: [] })
    .map((one) => ({ type: "URLRewrite", urlRewrite: one })),
  cors.map((one) => ({ type: "CORS", cors: one })),
  mirror.map((one) => ({ type: "RequestMirror", requestMirror: one })),
);
const match = fc.record(
  {
    path: fc.record({
      type: fc.constantFrom("Exact", "PathPrefix", "RegularExpression"),
      value: path,
    }),
    method: or("GET"),
    headers: fc.array(typed, few),
    queryParams: fc.array(typed, few),
  },
  { requiredKeys: ["path"] },
);
const backend = fc.record({
  name: or("web"),
  namespace: or("x", "infra"),
  port: fc.constantFrom(80, 0, 70_000),
  weight: fc.nat({ max: 10 }),
  filters: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(headerFilter, few)),
});
const rule = fc.record({
  matches: fc.array(match, { maxLength: 3 }),
  filters: fc.array(filter, few),
  backendRefs: fc.array(backend, { maxLength: 3 }),
  sessionPersistence: fc.record(
    {
      sessionName: or("session"),
      type: or("Cookie"),
      absoluteTimeout: or("1h"),
      cookieConfig: fc.record({ lifetimeType: or("Permanent", "Session") }),
    },
    { requiredKeys: [] },
  ),
  retry: fc.record(
    {
      codes: fc.array(fc.constantFrom(500, 503, 404, 0, -1, 1e9), { maxLength: 3 }),
      attempts: fc.constantFrom(1, 0, -1, 1e9),
      backoff: or("0s", "1s"),
    },
    { requiredKeys: [] },
  ),
  timeouts: fc.record({ request: or("1s", "99999h"), backendRequest: or("500ms") }),
});

const program = `
  local host_entry = require("lockstep.host_entry")
  local policy_entry = require("lockstep.policy_entry")
  local problems = {}
  local function try(parse, value, what)
    local fine, problem = pcall(parse, value)
    if not fine then
      problems[#problems + 1] = what .. (type(problem) == "table" and problem.problem or problem)
    end
  end
  for _, case in ipairs(cases) do
    try(host_entry.parse, case.rules, "rules: ")
    for _, policy in pairs(case.policies) do
      try(policy_entry.parse, policy, "policy: ")
    end
  end
  cases = { count = #cases, problems = #problems > 0 and problems or cjson.null }
`;

const facts: GatewayFacts = {
  ports: { http: new Map([[80, 80]]), https: new Map() },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: () => true,
};

it.skipIf(withoutNginx !== false)(
  "makes nothing of an HTTPRoute that the proxy would refuse",
  () => {
    const specs = fc.sample(fc.array(rule, { minLength: 1, maxLength: 3 }), {
      numRuns: routeCount,
      seed: 7,
    });
    const routes = specs.map((rules, at) =>
      httpRoute(
        { name: `r${at}` },
        { parentRefs: [{ name: "edge" }], hostnames: [`h${at}.example`], rules },
      ),
    );
    const cases = routes.map(pushed);
    const policies = cases.flatMap((one) => Object.values(one.policies));
    // Enough of them are served that the proxy has something to judge.
    const fields = new Set(policies.flatMap((one) => Object.keys(one ?? {})));
    for (const field of [
      "requestHeaders",
      "responseHeaders",
      "partRedirect",
      "pathRewrite",
      "cors",
      "ownHeaders",
      "mirrors",
      "retryOn",
      "balance",
    ]) {
      expect(fields).toContain(field);
    }
    const answer = runLua(JSON.stringify(cases), program);
    expect(answer).toEqual({ count: routeCount, problems: null });
  },
);

function pushed(route: HttpRoute): {
  readonly rules: readonly object[];
  readonly policies: Readonly<Record<string, object>>;
} {
  const edge = gateway({ name: "edge" }, [{ name: "http", port: 80, protocol: "HTTP" }]);
  const anything = {
    from: [{ group: "gateway.networking.k8s.io", kind: "HTTPRoute", namespace: "infra" }],
  };
  const grants = [
    referenceGrant({ namespace: "x", name: "all" }, { ...anything, to: [{ kind: "Service" }] }),
  ];
  const objects = { classes: [gatewayClass()], gateways: [edge], routes: [route], grants };
  const { asked: others } = new GatewayFrontEnd().decide(objects, facts);
  const { hosts } = new Routing({ className: "lockstep" }).decide({
    ingresses: [],
    classes: [],
    others,
  });
  const [rules = []] = [...hosts.values()];
  const { rules: own, policies } = pushedHost(rules, "infra");
  const texts = [...policies].map(([key, policy]) => [key, JSON.parse(policyText(policy))]);
  return { rules: own, policies: Object.fromEntries(texts) };
}
