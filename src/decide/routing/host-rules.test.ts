import { describe, expect, test } from "vitest";
import {
  annotated,
  type IngressFields,
  ingress,
  path,
  routed,
} from "../../../tests/routing/short-ingress.ts";
import type { WallMs } from "../../environment/clock.ts";
import type { Ingress } from "../../kube/kinds/ingress.ts";
import { Routing } from "./routing.ts";

describe("a host under a wildcard of another namespace", () => {
  const of = (namespace: string, host: string, bornMs: number, fields: IngressFields = {}) =>
    ingress(namespace, [{ host, paths: [path("/", "web")] }], { namespace, bornMs, ...fields });
  const wild = of("a", "*.wild.example", 2);
  const wildLine = "*.wild.example Prefix / → a/web:80";
  const loginLine = "login.wild.example Prefix / → b/web:80";
  const refusal = (what: string) =>
    `b: ${what} is under *.wild.example, which belongs to namespace a (Ingress a/a takes ` +
    "precedence), so its rules are ignored";

  test("is refused where the wildcard is older", () => {
    const expected = { lines: [wildLine], problems: [refusal("host login.wild.example")] };
    const login = of("b", "login.wild.example", 3);
    expect([routed([wild, login]), routed([login, wild])]).toEqual([expected, expected]);
  });

  test("takes no host from a namespace that was there first, nor those still to come", () => {
    const refused =
      "a: host *.wild.example covers login.wild.example, which belongs to namespace b " +
      "(Ingress b/b takes precedence), so its rules are ignored";
    const [first, next] = [of("b", "login.wild.example", 1), of("b", "new.wild.example", 3)];
    const nextLine = "new.wild.example Prefix / → b/web:80";
    for (const all of [
      [wild, first, next],
      [next, first, wild],
    ]) {
      const { lines, problems } = routed(all);
      expect([[...lines].sort(), problems]).toEqual([[loginLine, nextLine], [refused]]);
    }
    // A third namespace decides nothing between the two.
    const third = of("c", "other.wild.example", 9);
    expect(routed([wild, third]).lines).toEqual([wildLine]);
  });

  test("stays with its namespace where it is of the same, or where hosts are shared", () => {
    const own = of("a", "login.wild.example", 3);
    const younger = of("b", "login.wild.example", 3);
    expect(routed([wild, own]).problems).toEqual([]);
    // The host goes to the namespace of the wildcard, however young its Ingress is.
    expect(
      routed([
        wild,
        { ...own, metadata: { ...own.metadata, creationTimestamp: 9 as WallMs } },
        younger,
      ]).lines,
    ).toEqual([wildLine, "login.wild.example Prefix / → a/web:80"]);
    expect(routed([wild, younger], [], { shareHosts: true })).toEqual({
      lines: [wildLine, loginLine],
      problems: [],
    });
  });

  test("is not one two labels below, nor is another wildcard", () => {
    for (const other of ["a.b.wild.example", "*.b.wild.example"]) {
      expect(routed([wild, of("b", other, 3)]).problems).toEqual([]);
    }
  });

  test.each([
    [
      "server-alias",
      { "server-alias": "login.wild.example" },
      "other.example",
      "login.wild.example",
    ],
    [
      "from-to-www-redirect",
      { "from-to-www-redirect": "true" },
      "wild.example",
      "www.wild.example",
    ],
  ])("is refused as another name by %s, however old its Ingress is", (asked, texts, host, name) => {
    const { lines, problems } = routed([wild, of("b", host, 1, annotated(texts))]);
    expect(lines.filter((line) => line.startsWith(name))).toEqual([]);
    expect(problems).toEqual([refusal(`${asked} ${name}`)]);
  });

  test("as another name does not take a wildcard's hosts from others", () => {
    const alias = of("a", "other.example", 1, annotated({ "server-alias": "*.wild.example" }));
    const { lines, problems } = routed([alias, of("b", "login.wild.example", 3)]);
    expect([lines.includes(loginLine), problems]).toEqual([
      true,
      [
        "a: server-alias *.wild.example covers login.wild.example, which belongs to " +
          "namespace b (Ingress b/b takes precedence), so its rules are ignored",
      ],
    ]);
  });

  test("is decided the same whatever came and went before", () => {
    const routing = new Routing({ className: "lockstep" });
    const all = [
      wild,
      of("b", "login.wild.example", 3),
      of("c", "*.wild.example", 1),
      of("d", "shop.wild.example", 4),
      ingress("a2", [{ host: "*.wild.example", paths: [path("/x", "x")] }], { namespace: "a" }),
    ];
    for (let set = 0; set < 2 ** all.length; set += 1) {
      const number = (set * 19) % 2 ** all.length;
      const ingresses = all.filter((_, index) => (number >> index) % 2 === 1);
      const asked = { ingresses, classes: [] };
      const { hosts, problems } = routing.decide(asked);
      const fresh = new Routing({ className: "lockstep" }).decide(asked);
      expect(new Map(hosts)).toEqual(fresh.hosts);
      expect(new Set(problems)).toEqual(new Set(fresh.problems));
    }
  });
});

describe("between namespaces", () => {
  const own = (text: string, bornMs: number, fields = {}) =>
    ingress("own", [{ host: "a.example", paths: [path(text, "own")] }], { bornMs, ...fields });
  const strange = (bornMs: number, ...texts: readonly string[]) =>
    ingress("strange", [{ host: "a.example", paths: texts.map((text) => path(text, "strange")) }], {
      namespace: "other",
      bornMs,
    });
  const taken =
    "strange: host a.example belongs to namespace shop (Ingress shop/own takes " +
    "precedence), so its rules are ignored";

  test("the oldest Ingress that names a host has it for its namespace", () => {
    const ingresses = [own("/", 1), strange(2, "/login", "/blog")];
    const expected = { lines: ["a.example Prefix / → shop/own:80"], problems: [taken] };
    expect(routed(ingresses)).toEqual(expected);
    expect(routed([...ingresses].reverse())).toEqual(expected);
    const elsewhere = [own("/shop", 1), strange(2, "/blog")];
    expect(routed(elsewhere).problems).toEqual([taken]);
  });

  test("of two of the same second the first by namespace has it, and the other gets a problem", () => {
    const ingresses = [own("/", 1), strange(1, "/")];
    const expected = {
      lines: ["a.example Prefix / → other/strange:80"],
      problems: [
        "own: host a.example belongs to namespace other (Ingress other/strange takes " +
          "precedence), so its rules are ignored",
      ],
    };
    expect(routed(ingresses)).toEqual(expected);
    expect(routed([...ingresses].reverse())).toEqual(expected);
  });

  test("the next one has it when the first is gone", () => {
    const routing = new Routing({ className: "lockstep" });
    const [first, second] = [own("/", 1), strange(2, "/")];
    const servedBy = (ingresses: readonly Ingress[]) =>
      routing.decide({ ingresses, classes: [] }).hosts.get("a.example")?.[0]?.service;
    expect([servedBy([first, second]), servedBy([second])]).toEqual([
      "shop/own:80",
      "other/strange:80",
    ]);
  });

  test("a namespace that fills a host which others share keeps room for their rules", () => {
    const many = Array.from({ length: 9_000 }, (_, index) => path(`/loud-${index}`, "loud"));
    const more = Array.from({ length: 2_000 }, (_, index) => path(`/more-${index}`, "loud"));
    const loud = [many, more].map((paths, index) =>
      ingress(`loud-${index}`, [{ host: "", paths }], { namespace: "loud", bornMs: index }),
    );
    const quiet = ingress("quiet", [{ host: "", paths: [path("/quiet", "quiet")] }], { bornMs: 9 });
    const { lines, problems } = routed([...loud, quiet]);
    expect(lines).toHaveLength(10_000);
    expect(lines).toContain("* Prefix /quiet → shop/quiet:80");
    expect(problems).toHaveLength(1_001);
    expect(problems.filter((one) => !one.startsWith("loud-1: "))).toEqual([]);
  });

  test("when hosts are shared only the same path is a conflict", () => {
    const shared = { shareHosts: true };
    expect(routed([own("/", 1), strange(2, "/login")], [], shared)).toEqual({
      lines: ["a.example Prefix /login → other/strange:80", "a.example Prefix / → shop/own:80"],
      problems: [],
    });
    expect(routed([own("/", 1), strange(2, "/")], [], shared).problems).toEqual([
      "strange: Prefix / of host a.example belongs to Ingress shop/own, which takes " +
        "precedence",
    ]);
  });

  test("any host has no owner", () => {
    const any = ingress("own", [{ host: "", paths: [path("/", "own")] }], { bornMs: 1 });
    const more = ingress("more", [{ host: "", paths: [path("/b", "more")] }], {
      namespace: "other",
      bornMs: 2,
    });
    expect(routed([any, more]).problems).toEqual([]);
  });

  test("a default is no way around it", () => {
    const defaultBackend = { service: { name: "fallback", port: 80 } };
    const young = ingress("strange", [{ host: "a.example", paths: [] }], {
      namespace: "other",
      bornMs: 2,
      defaultBackend,
    });
    expect(routed([own("/a", 1), young])).toEqual({
      lines: ["a.example Prefix /a → shop/own:80", "* Prefix / → other/fallback:80"],
      problems: [taken],
    });
  });
});

describe("who is being deleted", () => {
  const born = (name: string, bornMs: number, fields: IngressFields, deletedAtMs?: number) => {
    const one = ingress(name, [{ host: "a.example", paths: [path("/", name)] }], {
      bornMs,
      namespace: name,
      ...fields,
    });
    if (deletedAtMs === undefined) return one;
    return { ...one, metadata: { ...one.metadata, deletionTimestamp: deletedAtMs as WallMs } };
  };

  test("serves on while no other Ingress wants its rules", () => {
    expect(routed([born("old", 1, {}, 9)]).lines).toEqual(["a.example Prefix / → old/old:80"]);
  });

  test("yields its hosts to the oldest who stays", () => {
    const ingresses = [born("old", 1, {}, 9), born("young", 3, {}), born("new", 2, {})];
    expect(routed(ingresses).lines).toEqual(["a.example Prefix / → new/new:80"]);
  });

  test("yields a path with its rule even to a default", () => {
    const rules = (name: string) => [{ host: "", paths: [path("/", name)] }];
    const defaultBackend = { service: { name: "young", port: 80 } };
    const young = born("young", 2, { rules: [], defaultBackend });
    const served = (deletedAtMs?: number) =>
      routed([born("old", 1, { rules: rules("old") }, deletedAtMs), young]).lines;
    expect([served(), served(9)]).toEqual([
      ["* Prefix / → old/old:80"],
      ["* Prefix / → young/young:80"],
    ]);
  });

  test("yields a host even to an Ingress that has it as an alias", () => {
    const young = born("young", 2, {
      rules: [{ host: "b.example", paths: [path("/", "young")] }],
      ...annotated({ "server-alias": "a.example" }),
    });
    const served = (deletedAtMs?: number) => routed([born("old", 1, {}, deletedAtMs), young]).lines;
    const own = "b.example Prefix / → young/young:80";
    expect(served()).toEqual(["a.example Prefix / → old/old:80", own]);
    expect(served(9)).toEqual(["a.example Prefix / → young/young:80", own]);
  });
});

describe("canaries", () => {
  const rules = (service: string) => [{ host: "a.example", paths: [path("/", service)] }];
  const canaryOf = (name: string, fields = {}, more: Readonly<Record<string, string>> = {}) =>
    ingress(name, rules(name), {
      ...annotated({ canary: "true", "canary-weight": "10", ...more }),
      ...fields,
    });
  const decide = (ingresses: readonly Ingress[]) => {
    const table = new Routing({ className: "lockstep" }).decide({ ingresses, classes: [] });
    return {
      rules: [...table.hosts.values()].flat(),
      backends: [...table.backends.keys()].sort(),
      problems: table.problems.map(({ origin, message }) => `${origin.name}: ${message}`),
    };
  };

  test("one stands beside the rule of the same host and path, however old it is", () => {
    const main = ingress("main", rules("main"), { bornMs: 5, ...annotated({ "limit-rps": "1" }) });
    expect(decide([canaryOf("next", {}, { "limit-rps": "9" }), main])).toEqual({
      rules: [
        {
          path: "/",
          type: "Prefix",
          service: "shop/main:80",
          policy: {
            rateLimit: { requestsPerSecond: 1, burst: 5 },
            canaries: [{ service: "shop/next:80", weight: 10, weightTotal: 100 }],
          },
        },
      ],
      backends: ["shop/main:80", "shop/next:80"],
      problems: [],
    });
  });

  test("a rule has one canary, the oldest, of its own namespace", () => {
    const main = ingress("main", rules("main"));
    const found = decide([
      main,
      canaryOf("second", { bornMs: 2 }),
      canaryOf("first", { bornMs: 1 }),
      canaryOf("strange", { bornMs: 0, namespace: "other" }),
    ]);
    expect(found.rules[0]?.policy?.canaries?.map(({ service }) => service)).toEqual([
      "shop/first:80",
    ]);
    expect(found.problems).toEqual([
      "strange: canary for Prefix / of host a.example: its namespace has no main rule for " +
        "this host and path, so it is ignored",
      "second: canary for Prefix / of host a.example: Ingress shop/first is already its " +
        "canary, so it is ignored",
    ]);
  });

  test("it need not repeat that paths are expressions", () => {
    const paths = (service: string) => [
      { host: "a.example", paths: [path("/a(/.*)?", service, "ImplementationSpecific")] },
    ];
    const main = ingress("main", paths("main"), annotated({ "rewrite-target": "/$1" }));
    const next = ingress("next", paths("next"), annotated({ canary: "true" }));
    expect(decide([main, next]).rules).toEqual([
      {
        path: "/a(/.*)?",
        type: "Regex",
        service: "shop/main:80",
        policy: {
          rewrite: "/$1",
          canaries: [{ service: "shop/next:80", weight: 0, weightTotal: 100 }],
        },
      },
    ]);
  });
});

describe("aliases", () => {
  const aliased = ingress("own", [{ host: "a.example", paths: [path("/", "own")] }], {
    bornMs: 1,
    ...annotated({ "server-alias": "b.example,c.example,a.example" }),
  });

  test("lead where the hosts of the Ingress lead", () => {
    expect(routed([aliased])).toEqual({
      lines: ["a", "b", "c"].map((host) => `${host}.example Prefix / → shop/own:80`),
      problems: [],
    });
  });

  test("are the first hundred of a longer list", () => {
    const names = Array.from({ length: 101 }, (_, n) => `n${n}.example`);
    const { lines, problems } = routed([
      ingress("many", [{ host: "a.example", paths: [path("/", "own")] }], {
        ...annotated({ "server-alias": names.join() }),
      }),
    ]);
    expect(lines).toHaveLength(101);
    expect(problems).toEqual([expect.stringMatching(/server-alias: only the first 100 names/)]);
  });

  test("multiply the rules of their Ingress up to a bound", () => {
    const names = Array.from({ length: 100 }, (_, n) => `n${n}.example`);
    const many = (count: number) => {
      const paths = Array.from({ length: count }, (_, n) => path(`/${n}`, "own"));
      const fields = annotated({ "server-alias": names.join() });
      return routed([ingress("many", [{ host: "a.example", paths }], fields)]).lines;
    };
    expect(many(50)).toHaveLength(50 + 5_000);
    expect(many(51)).toHaveLength(51);
  });

  test("yield to an Ingress that has the name as a host, however young", () => {
    const real = ingress("real", [{ host: "b.example", paths: [path("/x", "real")] }], {
      bornMs: 9,
      namespace: "other",
    });
    expect(routed([aliased, real])).toEqual({
      lines: [
        "a.example Prefix / → shop/own:80",
        "b.example Prefix /x → other/real:80",
        "c.example Prefix / → shop/own:80",
      ],
      problems: [
        "own: server-alias b.example: this is a host of Ingress other/real, so it is " + "ignored",
      ],
    });
  });
});

describe("a host that several namespaces have rules of", () => {
  const regexes = annotated({ "use-regex": "true" });
  const flood = (count: number, fields: IngressFields = {}) =>
    Array.from({ length: count }, (_, n) => {
      const paths = Array.from({ length: 60 }, (_one, p) => path(`/flood-${n}-${p}`, "flood"));
      const own = { namespace: "flood", bornMs: 1, ...fields };
      return ingress(`flood-${n}`, [{ host: "", paths }], own);
    });
  const quiet = (fields: IngressFields = {}) =>
    ingress("quiet", [{ host: "", paths: [path("/quiet", "quiet")] }], { bornMs: 2, ...fields });
  const served = (ingresses: readonly Ingress[]) => {
    const { lines, problems } = routed(ingresses);
    return [lines.length, lines.some((line) => line.includes("shop/quiet")), problems.length > 0];
  };

  test("has room for those of each, however many rules one has", () => {
    expect(served([...flood(200), quiet()])).toEqual([10_000, true, true]);
  });

  test("and however many expressions, or bytes", () => {
    const [expressions] = [flood(4, regexes)];
    expect(served([...expressions, quiet(regexes)])).toEqual([128, true, true]);
    const paths = Array.from({ length: 400 }, (_, n) => path(`/${"x".repeat(4_000)}${n}`, "flood"));
    const long = Array.from({ length: 3 }, (_, n) =>
      ingress(
        `long-${n}`,
        [{ host: "", paths: paths.map((one) => ({ ...one, path: `${one.path}-${n}` })) }],
        {
          namespace: "flood",
          bornMs: 1,
        },
      ),
    );
    const [lines, isServed] = served([...long, quiet()]);
    expect(lines).toBeLessThan(600);
    expect(isServed).toBe(true);
    // Both want all of it, and have half of it each.
    const others = paths.map((one) => ({ ...one, path: `${one.path}-other` }));
    const other = ingress("other", [{ host: "", paths: others }], { bornMs: 2 });
    expect(served([...long, other])[0]).toBeLessThan(600);
  });
});

test("one Ingress has no more rules than its share of bytes, and gets a problem that names the missing ones", () => {
  const paths = Array.from({ length: 1_000 }, (_, n) => path(`/${"x".repeat(4_000)}${n}`, "web"));
  const { lines, problems } = routed([ingress("large", [{ host: "a.example", paths }])]);
  expect(lines.length).toBeGreaterThan(400);
  expect(lines.length).toBeLessThan(600);
  expect(problems[0]).toMatch(
    /the Ingress has more than 2097152 bytes of rules, so it is ignored$/,
  );
});
