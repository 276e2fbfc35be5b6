import { expect, it } from "vitest";
import { gateway, gatewayClass, httpRoute } from "../../../../tests/gateway/gateway-objects.ts";
import type { Gateway } from "../../../kube/kinds/gateway.ts";
import { Routing } from "../routing.ts";
import { type GatewayFacts, GatewayFrontEnd } from "./gateway-front-end.ts";

const facts: GatewayFacts = {
  ports: { http: new Map([[80, 80]]), https: new Map() },
  labelsOf: () => ({}),
  certificate: () => ({}),
  hasService: () => true,
};

const http = { name: "http", port: 80, protocol: "HTTP" };
const open = { allowedRoutes: { namespaces: { from: "All" } } };

function routeTo(named: { namespace: string; createdAt: number }, hostname: string, edge: string) {
  return httpRoute(
    { ...named, name: "web" },
    {
      parentRefs: [{ name: "edge", namespace: edge }],
      hostnames: [hostname],
      rules: [{ backendRefs: [{ name: "web", port: 80 }] }],
    },
  );
}

function serving(hosts: object): readonly string[] | undefined {
  const { asked } = new GatewayFrontEnd().decide(
    {
      classes: [gatewayClass()],
      gateways: [
        gateway({ name: "edge", createdAt: 1 }, [{ ...http, ...open, ...hosts }]),
        gateway({ namespace: "evil", name: "edge", createdAt: 6 }, [
          { ...http, hostname: "shop.example" },
        ]),
      ],
      routes: [
        routeTo({ namespace: "shop", createdAt: 5 }, "shop.example", "infra"),
        routeTo({ namespace: "evil", createdAt: 7 }, "shop.example", "evil"),
      ],
      grants: [],
    },
    facts,
  );
  const table = new Routing({ className: "none" }).decide({
    ingresses: [],
    classes: [],
    others: asked,
  });
  const services = table.hosts.get("shop.example")?.map(({ service }) => service);
  return services?.filter((service) => service !== "");
}

it.each([
  ["for every host", {}],
  ["with a wildcard", { hostname: "*.example" }],
])("keeps a host %s from a newer listener of another namespace", (_, hosts) => {
  expect(serving(hosts)).toEqual(["shop/web:80"]);
});

it("gives a host to the closest listener of its namespace, also from routes of a wider one", () => {
  const wide = { ...http, name: "wide", hostname: "*.example" };
  const near = { ...http, name: "near", hostname: "shop.example" };
  const parentRefs = [{ name: "edge", sectionName: "wide" }];
  const rules = [{ backendRefs: [{ name: "web", port: 80 }] }];
  const hostnames = ["shop.example", "blog.example"];
  const { asked } = new GatewayFrontEnd().decide(
    {
      classes: [gatewayClass()],
      gateways: [gateway({ name: "edge" }, [wide, near])],
      routes: [httpRoute({ name: "web" }, { parentRefs, hostnames, rules })],
      grants: [],
    },
    facts,
  );
  const { hosts } = new Routing({ className: "none" }).decide({
    ingresses: [],
    classes: [],
    others: asked,
  });
  const services = (host: string) => hosts.get(host)?.map(({ service }) => service);
  expect([services("shop.example"), services("blog.example")]).toEqual([[""], ["infra/web:80"]]);
});

it("marks the names of listeners, also where a route leads all requests for them elsewhere", () => {
  const near = { ...http, name: "near", hostname: "shop.example" };
  const rules = [{ backendRefs: [{ name: "web", port: 80 }] }];
  const { asked } = new GatewayFrontEnd().decide(
    {
      classes: [gatewayClass()],
      gateways: [gateway({ name: "edge" }, [near])],
      routes: [httpRoute({ name: "web" }, { parentRefs: [{ name: "edge" }], rules })],
      grants: [],
    },
    facts,
  );
  const { hosts } = new Routing({ className: "none" }).decide({
    ingresses: [],
    classes: [],
    others: asked,
  });
  const seen = hosts.get("shop.example")?.map(({ service, when }) => [service, when?.isListener]);
  expect(seen).toEqual([
    ["infra/web:80", undefined],
    ["", true],
  ]);
});

it("keeps names under a listener's wildcard, at any depth, from newer objects of other namespaces", () => {
  const edge = (namespace: string, hostname: string, createdAt: number) =>
    gateway({ namespace, name: "edge", createdAt }, [{ ...http, ...open, hostname }]);
  const front = new GatewayFrontEnd();
  const routing = new Routing({ className: "none" });
  const holders = (...gateways: readonly Gateway[]) => {
    const objects = { classes: [gatewayClass()], gateways, routes: [], grants: [] };
    const { asked } = front.decide(objects, facts);
    const { hosts } = routing.decide({ ingresses: [], classes: [], others: asked });
    return Object.fromEntries(
      [...hosts].map(([host, rules]) => [host, rules.map(({ holder }) => holder).join()]),
    );
  };
  const wide = edge("infra", "*.example", 2);
  const others = (createdAt: number) => [
    edge("evil", "a.b.example", createdAt),
    edge("bad", "*.c.b.example", createdAt),
  ];
  const ofWide = { "*.example": "infra", "**.example": "infra" };
  const ofOthers = { "a.b.example": "evil", "*.c.b.example": "bad", "**.c.b.example": "bad" };
  expect(holders(wide, ...others(3))).toEqual(ofWide);
  expect(holders(...others(3))).toEqual(ofOthers);
  expect(holders(wide, ...others(3))).toEqual(ofWide);
  expect(holders(wide, ...others(1))).toEqual({ ...ofWide, ...ofOthers });
  // An older host under it takes the wildcard away, for all labels.
  expect(holders(wide, edge("evil", "b.example", 1))).toEqual({ "b.example": "evil" });
  expect(holders(wide)).toEqual(ofWide);
});
