// Gateways, routes, grants, labels and services that change: after each change the table of routes gives
// every request to the backend that the specification gives it to, and the decision that keeps what it
// knew is the one that is made from nothing.
import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type GatewayFacts,
  GatewayFrontEnd,
  type GatewayObjects,
} from "../../src/decide/routing/gateway/gateway-front-end.ts";
import { Routing } from "../../src/decide/routing/routing.ts";
import type { Gateway } from "../../src/kube/kinds/gateway.ts";
import type { HttpRoute } from "../../src/kube/kinds/http-route.ts";
import type { ReferenceGrant } from "../../src/kube/kinds/reference-grant.ts";
import { gateway, gatewayClass, grpcRoute, httpRoute, referenceGrant } from "./gateway-objects.ts";
import { routedAnswer } from "./routed-backend.ts";
import { type SpecifiedRequest, specifiedAnswer } from "./specified-routing.ts";

/** Run by hand with more: LOCKSTEP_RUNS=20000 LOCKSTEP_SEED=7. */
const runs = Number(process.env["LOCKSTEP_RUNS"] ?? 60);

const own = "infra";
const namespaces = [own, "apps", "shop"];
const hostnames = ["a.x.example", "b.x.example", "*.x.example", "*.example"];
const paths = ["/", "/p", "/p/q"];
const ports = [80, 443, 9000];
const grpcPort = 81;
const callServices = ["shop.Cart", "shop.CartItems"];
const callMethods = ["Get", "GetAll"];
const calls = callServices.flatMap((one) => callMethods.map((method) => `/${one}/${method}`));
const services = namespaces.flatMap((namespace) =>
  ["one", "two"].map((one) => `${namespace}/${one}`),
);
const teams = [{ team: "red" }, { team: "blue" }];

const allowed = fc.oneof(
  fc.constantFrom({ from: "All" }, { from: "Same" }),
  fc.constantFrom(...teams).map((matchLabels) => ({ from: "Selector", selector: { matchLabels } })),
);

const listeners = fc.uniqueArray(
  fc.record({
    hostname: fc.constantFrom("", ...hostnames),
    port: fc.constantFrom(...ports, grpcPort),
    namespaces: allowed,
  }),
  { minLength: 1, maxLength: 4, selector: ({ hostname, port }) => `${hostname} ${port}` },
);

const edge = listeners.map((some) =>
  gateway(
    { name: "edge", namespace: own },
    some.map(({ hostname, port, namespaces: allowing }, at) => ({
      name: `l${at}`,
      port,
      protocol: port === 443 ? "HTTPS" : "HTTP",
      ...(hostname !== "" && { hostname }),
      ...(port === 443 && { tls: { certificateRefs: [{ name: "cert" }] } }),
      allowedRoutes: { namespaces: allowing },
    })),
  ),
);

const ofServices = { group: "", kind: "Service" };
const ofImports = { group: "multicluster.x-k8s.io", kind: "ServiceImport" };

const backend = fc
  .record({
    of: fc.constantFrom(ofServices, ofServices, ofImports),
    name: fc.constantFrom("one", "two"),
    namespace: fc.constantFrom(undefined, ...namespaces),
    port: fc.constant(80),
  })
  .map(({ of, ...named }) => ({ ...of, ...named }));

const rule = fc.record({
  filters: fc.array(
    backend.map((backendRef) => ({ type: "RequestMirror", requestMirror: { backendRef } })),
    { maxLength: 2 },
  ),
  matches: fc.array(
    fc.record(
      {
        path: fc.record({
          type: fc.constantFrom("Exact", "PathPrefix"),
          value: fc.constantFrom(...paths),
        }),
        method: fc.constantFrom("GET", "POST"),
      },
      { requiredKeys: ["path"] },
    ),
    { minLength: 1, maxLength: 2 },
  ),
  backendRefs: backend.map((one) => [one]),
});

const routeNames = ["r0", "r1", "r2", "r3"];

const attached = {
  createdAt: fc.integer({ min: 1, max: 3 }),
  namespace: fc.constantFrom(...namespaces),
  parent: fc.record({
    name: fc.constantFrom("edge", "edge", "edge", "another"),
    sectionName: fc.constantFrom(undefined, undefined, "l0", "l1"),
    port: fc.constantFrom(undefined, undefined, ...ports, grpcPort),
  }),
  hostnames: fc.subarray(hostnames, { maxLength: 2 }),
};

const ofHttp = fc
  .record({
    ...attached,
    name: fc.constantFrom(...routeNames),
    rules: fc.array(rule, { minLength: 1, maxLength: 2 }),
  })
  .map(({ parent, hostnames: names, rules, ...named }) =>
    httpRoute(named, { parentRefs: [{ ...parent, namespace: own }], hostnames: names, rules }),
  );

const call = fc.oneof(
  fc.record({
    type: fc.constantFrom("Exact", undefined),
    service: fc.constantFrom(undefined, ...callServices),
    method: fc.constantFrom(undefined, ...callMethods),
  }),
  fc.record({
    type: fc.constant("RegularExpression"),
    service: fc.constantFrom(undefined, "shop.*", "shop.Cart(Items)?"),
    method: fc.constantFrom(undefined, "Get.*", "[A-Z].*"),
  }),
);

const callRule = fc.record({
  matches: fc.array(
    fc.record({
      method: call,
      headers: fc.constantFrom([], [{ name: "v", value: "2" }]),
    }),
    { minLength: 1, maxLength: 2 },
  ),
  backendRefs: backend.map((one) => [one]),
});

const ofGrpc = fc
  .record({
    ...attached,
    name: fc.constantFrom("g0", "g1", "g2"),
    rules: fc.array(callRule, { minLength: 1, maxLength: 2 }),
  })
  .map(({ parent, hostnames: names, rules, ...named }) =>
    grpcRoute(named, { parentRefs: [{ ...parent, namespace: own }], hostnames: names, rules }),
  );

const route = fc.oneof(ofHttp, ofGrpc);

const grant = fc
  .record({
    namespace: fc.constantFrom(...namespaces),
    from: fc.record({
      group: fc.constantFrom("gateway.networking.k8s.io", "gateway.networking.k8s.io", ""),
      kind: fc.constantFrom("HTTPRoute", "GRPCRoute", "Gateway"),
      namespace: fc.constantFrom(...namespaces),
    }),
    to: fc
      .record({
        of: fc.constantFrom(ofServices, ofServices, ofImports, { group: "", kind: "Secret" }),
        name: fc.constantFrom(undefined, "one"),
      })
      .map(({ of, name }) => ({ ...of, name })),
  })
  .map(({ namespace, from, to }) =>
    referenceGrant({ namespace, name: "grant" }, { from: [from], to: [to] }),
  );

type Labels = Readonly<Record<string, Readonly<Record<string, string>>>>;

interface World {
  readonly gateway: Gateway;
  readonly routes: readonly HttpRoute[];
  /** One in a namespace. */
  readonly grants: readonly ReferenceGrant[];
  readonly labels: Labels;
  /** Services, and ServiceImports by `importKey`. */
  readonly absent: ReadonlySet<string>;
}

/** The kind itself, which is not installed while it is absent. */
const importsKey = "ServiceImports";

const importKey = (name: string) => `ServiceImport ${name}`;

type Step = (world: World) => World;

/** Puts it in the place of the one that it replaces, as a store does. */
function withOne<T extends { readonly metadata: { readonly uid: string } }>(
  all: readonly T[],
  one: T,
): readonly T[] {
  const at = all.findIndex(({ metadata }) => metadata.uid === one.metadata.uid);
  return at === -1 ? [...all, one] : all.with(at, one);
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 4,
    arbitrary: route.map(
      (one): Step =>
        (world) => ({ ...world, routes: withOne(world.routes, one) }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 5 }).map(
      (gone): Step =>
        (world) => ({ ...world, routes: world.routes.filter((_, at) => at !== gone) }),
    ),
  },
  {
    weight: 1,
    arbitrary: edge.map(
      (one): Step =>
        (world) => ({ ...world, gateway: one }),
    ),
  },
  {
    weight: 2,
    arbitrary: grant.map(
      (one): Step =>
        (world) => ({ ...world, grants: withOne(world.grants, one) }),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 2 }).map(
      (gone): Step =>
        (world) => ({ ...world, grants: world.grants.filter((_, at) => at !== gone) }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(fc.constantFrom(...namespaces), fc.constantFrom({}, ...teams)).map(
      ([namespace, own]): Step =>
        (world) => ({
          ...world,
          labels: { ...world.labels, [namespace]: own },
        }),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(...services, ...services.map(importKey), importsKey).map(
      (service): Step =>
        (world) => {
          const absent = new Set(world.absent);
          if (!absent.delete(service)) absent.add(service);
          return { ...world, absent };
        },
    ),
  },
);

const request: fc.Arbitrary<SpecifiedRequest> = fc.record({
  host: fc.constantFrom("a.x.example", "b.x.example", "c.a.x.example", "y.example", "other"),
  path: fc.constantFrom(...paths, "/pq", ...calls),
  port: fc.constantFrom(...ports, grpcPort),
  method: fc.constantFrom("GET", "POST"),
  headers: fc.constantFrom({}, { v: "2" }),
  query: fc.constant({}),
});

it("gives each request to the backend of the specification after every change", () => {
  fc.assert(
    fc.property(
      edge,
      fc.array(route, { minLength: 1, maxLength: 4 }),
      fc.array(step, { maxLength: 8 }),
      fc.array(request, { minLength: 4, maxLength: 12 }),
      (first, routes, steps, requests) => {
        const frontEnd = new GatewayFrontEnd();
        const routing = new Routing({ className: "lockstep" });
        let world: World = {
          gateway: first,
          routes: routes.reduce(withOne<HttpRoute>, []),
          grants: [],
          labels: {},
          absent: new Set(),
        };
        for (const change of [(same: World) => same, ...steps]) {
          world = change(world);
          const { gateway: edgeNow, routes: now, grants, labels, absent } = world;
          const objects: GatewayObjects = {
            classes: [gatewayClass()],
            gateways: [edgeNow],
            routes: now,
            grants,
          };
          const hasService = (service: string) => !absent.has(service);
          const areInstalled = !absent.has(importsKey);
          const hasImport = (name: string) => areInstalled && !absent.has(importKey(name));
          const facts: GatewayFacts = {
            ports: proxyPorts,
            labelsOf: (namespace) => labels[namespace] ?? {},
            certificate: () => ({}),
            hasService: (namespace, name) => hasService(`${namespace}/${name}`),
            importOf: (namespace, name) =>
              areInstalled
                ? { isThere: hasImport(`${namespace}/${name}`), appProtocols: undefined }
                : undefined,
          };
          const decision = frontEnd.decide(objects, facts);
          expect(decision).toEqual(new GatewayFrontEnd().decide(objects, facts));
          const { asked: others } = decision;
          const found = routedAnswer(routing.decide({ ingresses: [], classes: [], others }));
          for (const asked of requests) {
            const objectsNow = { ...world, hasService, hasImport, grpcPorts: [grpcPort] };
            const specified = specifiedAnswer(objectsNow, asked);
            expect([asked, found(asked)]).toEqual([asked, specified]);
          }
        }
      },
    ),
    { numRuns: runs },
  );
});

const proxyPorts: GatewayFacts["ports"] = {
  http: new Map([
    [80, 80],
    [9000, 9000],
  ]),
  grpc: new Map([[grpcPort, grpcPort]]),
  https: new Map([[443, 443]]),
};
