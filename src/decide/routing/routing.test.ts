import { describe, expect, test } from "vitest";
import {
  annotated,
  ingress,
  ingressClass,
  path,
  routed,
} from "../../../tests/routing/short-ingress.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import type { IngressClass } from "../../kube/kinds/ingress-class.ts";
import { describeOrigin } from "./route.ts";
import { Routing } from "./routing.ts";

test("one Ingress becomes hosts, rules and backends", () => {
  const rules = [{ host: "Shop.example", paths: [path("/", "web", "Prefix", "http")] }];
  const asked = { ingresses: [ingress("a", rules)], classes: [] };
  expect(new Routing({ className: "lockstep" }).decide(asked)).toEqual({
    hosts: new Map([["shop.example", [{ path: "/", type: "Prefix", service: "shop/web:http" }]]]),
    owners: new Map([["shop.example", { namespace: "shop", createdAtMs: 0 }]]),
    sameAs: new Map(),
    backends: new Map([["shop/web:http", { namespace: "shop", name: "web", port: "http" }]]),
    problems: [],
  });
});

test("the longer path comes first, an exact one before a prefix, and a prefix has no slash at its end", () => {
  const paths = [
    path("/", "root"),
    path("/cart/", "cart"),
    path("/cart", "exact", "Exact"),
    path("/cart/", "slash", "Exact"),
    path("/cart/items", "items"),
    path("", "whole", "ImplementationSpecific"),
  ];
  expect(routed([ingress("a", [{ host: "", paths }])])).toEqual({
    lines: [
      "* Prefix /cart/items → shop/items:80",
      "* Exact /cart/ → shop/slash:80",
      "* Exact /cart → shop/exact:80",
      "* Prefix /cart → shop/cart:80",
      "* Prefix / → shop/root:80",
    ],
    problems: ["a: Prefix / of host * belongs to Ingress shop/a, which takes precedence"],
  });
});

describe("classes", () => {
  const rules = [{ host: "a.example", paths: [path("/", "web")] }];
  const served = ["a.example Prefix / → shop/web:80"];
  const ours = "lockstep.dev/ingress";
  const annotation = { "kubernetes.io/ingress.class": "lockstep" };
  const table: readonly (readonly [string, Partial<Ingress>, readonly IngressClass[], boolean])[] =
    [
      ["the configured name needs no class object", {}, [], true],
      ["another name is not ours", { ingressClassName: "nginx" }, [], false],
      [
        "any class with our controller is ours",
        { ingressClassName: "edge" },
        [ingressClass("edge", ours)],
        true,
      ],
      [
        "a class of the configured name that another controller serves is not",
        {},
        [ingressClass("lockstep", "example.com/other")],
        false,
      ],
      [
        "the annotation counts when the spec names none",
        { ingressClassName: undefined, annotations: annotation },
        [],
        true,
      ],
      [
        "the spec counts before the annotation",
        { ingressClassName: "nginx", annotations: annotation },
        [],
        false,
      ],
      ["an Ingress without a class is not served", { ingressClassName: undefined }, [], false],
      [
        "unless our class is the default",
        { ingressClassName: undefined },
        [ingressClass("lockstep", ours, { isDefault: true })],
        true,
      ],
      [
        "another's default is not ours",
        { ingressClassName: undefined },
        [
          ingressClass("lockstep", ours),
          ingressClass("nginx", "k8s.io/ingress-nginx", { isDefault: true }),
        ],
        false,
      ],
    ];
  test.each(table)("%s", (_, fields, classes, isServed) => {
    expect(routed([ingress("a", rules, fields)], classes)).toEqual({
      lines: isServed ? served : [],
      problems: [],
    });
  });
});

test("a shadow sees the configured class, also if another controller serves it", () => {
  const rules = [{ host: "a.example", paths: [path("/", "web")] }];
  const asked = [ingress("a", rules, { ingressClassName: "nginx" })];
  const classes = [ingressClass("nginx", "k8s.io/ingress-nginx")];
  const served = { lines: ["a.example Prefix / → shop/web:80"], problems: [] };
  const options = { className: "nginx", ofAnyController: true };
  expect(routed(asked, classes, options)).toEqual(served);
  expect(routed(asked, classes, { className: "nginx" })).toEqual({ lines: [], problems: [] });
  expect(routed(asked, classes, { ofAnyController: true })).toEqual({ lines: [], problems: [] });
});

test("a default backend serves what its own hosts leave open, and yields to every rule", () => {
  const defaultBackend = { service: { name: "fallback", port: 80 } };
  const older = ingress("older", [{ host: "a.example", paths: [path("/api", "api")] }], {
    defaultBackend,
    bornMs: 1,
  });
  const younger = ingress("younger", [{ host: "", paths: [path("/", "catch-all")] }], {
    bornMs: 2,
  });
  expect(routed([older, younger])).toEqual({
    lines: [
      "a.example Prefix /api → shop/api:80",
      "a.example Prefix / → shop/fallback:80",
      "* Prefix / → shop/catch-all:80",
    ],
    problems: [],
  });
});

test("parameters of our classes are ignored, with a problem that says so", () => {
  const parameters = { hasParameters: true };
  const classes = [
    ingressClass("lockstep", "lockstep.dev/ingress", parameters),
    ingressClass("other", "example.com/other", parameters),
  ];
  expect(routed([], classes)).toEqual({
    lines: [],
    problems: [
      "lockstep: spec.parameters: parameters of a class are not supported, so they are ignored",
    ],
  });
});

test("Ingresses, their canaries and the default backend are served at the ports of Ingresses alone", () => {
  const rules = [{ host: "a.example", paths: [path("/x", "web")] }];
  const canary = annotated({ canary: "true", "canary-weight": "10" });
  const beside = [{ host: "a.example", paths: [path("/x", "next")] }];
  const asked = {
    ingresses: [ingress("a", rules), ingress("b", beside, canary)],
    classes: [],
  };
  const defaultBackend = { namespace: "edge", name: "lost", port: 80 };
  const options = { className: "lockstep", defaultBackend, ingressPorts: [80, 443] };
  const { hosts, problems } = new Routing(options).decide(asked);
  const seen = [...hosts].map(([host, found]) => [
    host,
    found.map(({ service, when, policy }) => [service, when, policy?.canaries?.length]),
  ]);
  const when = { ports: [80, 443] };
  expect(Object.fromEntries(seen)).toEqual({
    "a.example": [["shop/web:80", when, 1]],
    "*": [["edge/lost:80", when, undefined]],
  });
  expect(problems).toEqual([]);
});

test("the default backend of all is asked last, and is there without any Ingress", () => {
  const defaultBackend = { namespace: "edge", name: "sorry", port: 80 };
  expect(routed([], [], { defaultBackend }).lines).toEqual(["* Prefix / → edge/sorry:80"]);
  const routing = new Routing({ className: "lockstep", defaultBackend });
  const [rule] = routing.decide({ ingresses: [], classes: [] }).hosts.get("*") ?? [];
  const origin = rule && routing.originOf("*", rule);
  expect(origin && describeOrigin(origin)).toBe("setting --default-backend");
  const own = ingress("own", [], { defaultBackend: { service: { name: "fallback", port: 80 } } });
  expect(routed([own], [], { defaultBackend })).toEqual({
    lines: ["* Prefix / → shop/fallback:80"],
    problems: [],
  });
});

describe("conflicts", () => {
  const claim = (name: string, bornMs: number, target: string) =>
    ingress(name, [{ host: "a.example", paths: [path("/", target)] }], { bornMs });

  test("the oldest object has the path, in whatever order they come, and the others get a problem", () => {
    const [old, young] = [claim("z-old", 1, "first"), claim("a-young", 2, "second")];
    const expected = {
      lines: ["a.example Prefix / → shop/first:80"],
      problems: [
        "a-young: Prefix / of host a.example belongs to Ingress shop/z-old, which takes " +
          "precedence",
      ],
    };
    expect(routed([old, young])).toEqual(expected);
    expect(routed([young, old])).toEqual(expected);
  });

  test("of two that are as old the first by name has it", () => {
    expect(routed([claim("b", 1, "second"), claim("a", 1, "first")]).lines).toEqual([
      "a.example Prefix / → shop/first:80",
    ]);
  });
});

test("what is wrong with an object is reported and harms nothing else", () => {
  const bad = ingress("bad", [
    { host: "not a host", paths: [path("/", "lost")] },
    { host: "*.example.com", paths: [path("/", "wildcard")] },
    { host: "a.*.com", paths: [path("/", "lost")] },
    {
      host: "b.example",
      paths: [
        path("relative", "lost"),
        path("/regex", "lost", "Regex"),
        { path: "/r", pathType: "Prefix", backend: { service: undefined } },
        {
          path: "/p",
          pathType: "Prefix",
          backend: { service: { name: "web", port: undefined } },
        },
        path("/x'; drop {}\n", "literal", "Exact"),
      ],
    },
  ]);
  const good = ingress("good", [{ host: "c.example", paths: [path("/", "web")] }]);
  expect(routed([bad, good])).toEqual({
    lines: [
      "*.example.com Prefix / → shop/wildcard:80",
      "b.example Exact /x'; drop {}\n → shop/literal:80",
      "c.example Prefix / → shop/web:80",
    ],
    problems: [
      "bad: spec.rules[0].host: this is not a host name, so the rule is ignored",
      "bad: spec.rules[2].host: this is not a host name, so the rule is ignored",
      "bad: spec.rules[3].http.paths[0]: path does not begin with a slash, so the path is ignored",
      'bad: spec.rules[3].http.paths[1]: pathType is "Regex", which is not a Kubernetes pathType, ' +
        "so the path is ignored",
      "bad: spec.rules[3].http.paths[2]: backend is a resource; only services are supported, " +
        "so the path is ignored",
      "bad: spec.rules[3].http.paths[3]: backend has no port, so the path is ignored",
    ],
  });
});

test("every rule has an owner, whatever its path looks like", () => {
  const texts = ["/", "/a b", "/über", `/${"long/".repeat(100)}x`];
  const paths = texts.map((text) => path(text, "web"));
  const routing = new Routing({ className: "lockstep" });
  const ingresses = [ingress("own", [{ host: "a.example", paths }])];
  const rules = routing.decide({ ingresses, classes: [] }).hosts.get("a.example") ?? [];
  expect(rules.map((rule) => routing.originOf("a.example", rule)?.name)).toEqual(
    texts.map(() => "own"),
  );
});

test("what is kept from one decision to the next makes no difference", () => {
  const claim = (name: string, host: string, bornMs: number, fields = {}) =>
    ingress(name, [{ host, paths: [path("/", name)] }], { bornMs, ...fields });
  const a = claim("a", "a.example", 1);
  const b = claim("b", "a.example", 2);
  const c = claim("c", "c.example", 3, annotated({ "server-alias": "a.example" }));
  const strange = claim("d", "a.example", 0, { namespace: "other" });
  const routing = new Routing({ className: "lockstep" });
  const steps = [[a, b, c], [b, c], [c], [c, strange, b], [], [strange], [a, b, c]];
  for (const ingresses of steps) {
    const after = routing.decide({ ingresses, classes: [] });
    const fresh = new Routing({ className: "lockstep" }).decide({ ingresses, classes: [] });
    expect(after.hosts).toEqual(fresh.hosts);
    expect(after.backends).toEqual(fresh.backends);
    expect(new Set(after.problems)).toEqual(new Set(fresh.problems));
  }
  const before = new Map(routing.decide({ ingresses: [a, b, c], classes: [] }).hosts);
  const again = routing.decide({ ingresses: [a, b, { ...c }], classes: [] });
  expect(again.hosts.get("a.example")).toBe(before.get("a.example"));
  expect(again.hosts.get("c.example")).toBe(before.get("c.example"));
  expect([...routing.changes.hosts]).toEqual([]);
});

test("a decision says which hosts and backends it changed, and no others", () => {
  const claim = (name: string, host: string, target: string) =>
    ingress(name, [{ host, paths: [path("/", target)] }], { bornMs: 1 });
  const defaultBackend = { namespace: "edge", name: "sorry", port: 80 };
  const routing = new Routing({ className: "lockstep", defaultBackend });
  const changed = (...ingresses: Ingress[]) => {
    routing.decide({ ingresses, classes: [] });
    const { hosts, backends } = routing.changes;
    return [[...hosts], backends.joined, backends.left];
  };
  const a = claim("a", "a.example", "web");
  const b = claim("b", "b.example", "web");
  expect(changed(a)).toEqual([["*", "a.example"], ["edge/sorry:80", "shop/web:80"], []]);
  expect(changed(a, b)).toEqual([["b.example"], [], []]);
  expect(changed(b)).toEqual([["a.example"], [], []]);
  const moved = claim("b", "b.example", "other");
  expect(changed(moved)).toEqual([["b.example"], ["shop/other:80"], ["shop/web:80"]]);
  expect(changed(moved)).toEqual([[], [], []]);
});
