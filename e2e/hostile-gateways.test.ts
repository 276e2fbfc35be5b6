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

const routeCount = 300;

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

const text = fc.oneof(
  nasty,
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom("/", "x", "/p"),
);
const slashed = text.map((one) => `/${one}`);
const anyPath = fc.oneof(text, slashed);
const value = fc.record({ name: text, value: text });
const typed = fc.record({
  name: text,
  value: text,
  type: fc.constantFrom("Exact", "RegularExpression", "Other"),
});
const changes = fc.record(
  { set: fc.array(value), add: fc.array(value), remove: fc.array(text) },
  { requiredKeys: [] },
);
const pathChange = fc.oneof(
  anyPath.map((one) => ({ type: "ReplaceFullPath", replaceFullPath: one })),
  anyPath.map((one) => ({ type: "ReplacePrefixMatch", replacePrefixMatch: one })),
);
const filter = fc.oneof(
  changes.map((one) => ({ type: "RequestHeaderModifier", requestHeaderModifier: one })),
  changes.map((one) => ({ type: "ResponseHeaderModifier", responseHeaderModifier: one })),
  fc
    .record(
      { scheme: text, hostname: text, path: pathChange, port: fc.integer() },
      { requiredKeys: [] },
    )
    .map((one) => ({ type: "RequestRedirect", requestRedirect: one })),
  fc
    .record({ hostname: text, path: pathChange }, { requiredKeys: [] })
    .map((one) => ({ type: "URLRewrite", urlRewrite: one })),
  text.map((type) => ({ type })),
);
const rule = fc.record({
  matches: fc.array(
    fc.record(
      {
        path: fc.record({
          type: fc.constantFrom("Exact", "PathPrefix", "RegularExpression", "Other"),
          value: anyPath,
        }),
        method: text,
        headers: fc.array(typed, { maxLength: 2 }),
        queryParams: fc.array(typed, { maxLength: 2 }),
      },
      { requiredKeys: ["path"] },
    ),
    { maxLength: 3 },
  ),
  filters: fc.array(filter, { maxLength: 2 }),
  backendRefs: fc.array(
    fc.record({ name: text, namespace: text, port: fc.integer(), weight: fc.nat() }),
    { maxLength: 3 },
  ),
  timeouts: fc.record({ request: text, backendRequest: fc.constantFrom("1s", "99999h") }),
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
    expect(cases.some(({ rules }) => rules.length > 0)).toBe(true);
    const answer = runLua(JSON.stringify(cases), program);
    expect(answer).toEqual({ count: routeCount, problems: null });
  },
);

function pushed(route: HttpRoute): {
  readonly rules: readonly object[];
  readonly policies: object;
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
