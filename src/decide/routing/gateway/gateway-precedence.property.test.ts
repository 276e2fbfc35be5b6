// The table of routes gives every request to the backend that the specification gives it to, for routes
// and listeners that often fit one request at once.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  gateway,
  gatewayClass,
  grpcRoute,
  httpRoute,
} from "../../../../tests/gateway/gateway-objects.ts";
import { routedAnswer } from "../../../../tests/gateway/routed-backend.ts";
import {
  type SpecifiedRequest,
  specifiedAnswer,
} from "../../../../tests/gateway/specified-routing.ts";
import type { Gateway } from "../../../kube/kinds/gateway.ts";
import { Routing } from "../routing.ts";
import { type GatewayFacts, GatewayFrontEnd } from "./gateway-front-end.ts";

/** Run by hand with more: LOCKSTEP_RUNS=20000 LOCKSTEP_SEED=7. */
const runs = Number(process.env["LOCKSTEP_RUNS"] ?? 150);

const names = ["", "a.x.example", "b.x.example", "*.x.example", "*.example", "c.a.x.example"];
const paths = ["/", "/p", "/p/q", "/p/q/r"];
const ports = [80, 443];

const facts: GatewayFacts = {
  ports: { http: new Map([[80, 80]]), https: new Map([[443, 443]]) },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: () => true,
};

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

const request: fc.Arbitrary<SpecifiedRequest> = fc.record({
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
        const edge = gatewayOf(listeners);
        const objects = { classes: [gatewayClass()], gateways: [edge], routes, grants: [] };
        const { asked: others } = new GatewayFrontEnd().decide(objects, facts);
        const routing = new Routing({ className: "lockstep" });
        const found = routedAnswer(routing.decide({ ingresses: [], classes: [], others }));
        const specified = { gateway: edge, routes, grants: [], labels: {}, hasService: () => true };
        for (const asked of requests) {
          expect([asked, found(asked)]).toEqual([asked, specifiedAnswer(specified, asked)]);
        }
      },
    ),
    { numRuns: runs },
  );
});

const callServices = ["shop.Cart", "shop.CartItems"];
const callMethods = ["Get", "GetAll"];

const call = fc.oneof(
  fc.record({
    service: fc.constantFrom(undefined, ...callServices),
    method: fc.constantFrom(undefined, ...callMethods),
  }),
  fc.record({
    type: fc.constant("RegularExpression"),
    service: fc.constantFrom(undefined, "shop.*", "shop.Cart(Items)?", ...callServices),
    method: fc.constantFrom(undefined, "Get.*", "[A-Z].*", ...callMethods),
  }),
);

const callRoute = fc.record({
  namespace: fc.constantFrom("infra", "apps"),
  createdAt: fc.integer({ min: 1, max: 3 }),
  rules: fc.array(
    fc.array(
      fc.record({
        method: call,
        headers: fc.subarray(["h1", "h2"]).chain((some) => fc.tuple(...some.map(field))),
      }),
      { minLength: 1, maxLength: 3 },
    ),
    { minLength: 1, maxLength: 3 },
  ),
});

const callRequest: fc.Arbitrary<SpecifiedRequest> = fc.record({
  host: fc.constant("a.x.example"),
  path: fc
    .tuple(fc.constantFrom(...callServices, "Other"), fc.constantFrom(...callMethods, "Set"))
    .map(([service, method]) => `/${service}/${method}`),
  port: fc.constant(443),
  method: fc.constantFrom("POST", "GET"),
  headers: fc.dictionary(fc.constantFrom("h1", "h2"), fc.constantFrom("1", "2")),
  query: fc.constant({}),
});

it("gives each call to the backend that the specification gives it to", () => {
  fc.assert(
    fc.property(
      fc.array(callRoute, { minLength: 1, maxLength: 3 }),
      fc.array(callRequest, { minLength: 1, maxLength: 12 }),
      (written, requests) => {
        const routes = written.map(({ rules, ...named }, at) =>
          grpcRoute(
            { ...named, name: `r${at}` },
            {
              parentRefs: [{ name: "edge", namespace: "infra" }],
              rules: rules.map((matches, index) => ({
                matches,
                backendRefs: [{ name: `s-${at}-${index}`, port: 80 }],
              })),
            },
          ),
        );
        const edge = gatewayOf([{ name: "https", hostname: "", port: 443 }]);
        const objects = { classes: [gatewayClass()], gateways: [edge], routes, grants: [] };
        const { asked: others } = new GatewayFrontEnd().decide(objects, facts);
        const routing = new Routing({ className: "lockstep" });
        const found = routedAnswer(routing.decide({ ingresses: [], classes: [], others }));
        const specified = { gateway: edge, routes, grants: [], labels: {}, hasService: () => true };
        for (const asked of requests) {
          expect([asked, found(asked)]).toEqual([asked, specifiedAnswer(specified, asked)]);
        }
      },
    ),
    { numRuns: runs },
  );
});

function gatewayOf(listeners: readonly Listener[]): Gateway {
  return gateway(
    { name: "edge" },
    listeners.map(({ hostname, ...one }) => ({
      ...one,
      protocol: one.port === 443 ? "HTTPS" : "HTTP",
      ...(hostname !== "" && { hostname }),
      ...(one.port === 443 && { tls: { certificateRefs: [{ name: "cert" }] } }),
      allowedRoutes: { namespaces: { from: "All" } },
    })),
  );
}
