import { describe, expect, test } from "vitest";
import { annotated, ingress, path, routed } from "../../../../tests/routing/short-ingress.ts";
import type { Ingress } from "../../../kube/kinds/ingress.ts";
import { Routing } from "../routing.ts";

describe("policies", () => {
  const one = (fields: Partial<Ingress>, text = "/a", pathType = "Prefix") => {
    const rules = [{ host: "a.example", paths: [path(text, "web", pathType)] }];
    const ingresses = [ingress("own", rules, fields)];
    const { hosts } = new Routing({ className: "lockstep" }).decide({ ingresses, classes: [] });
    const [rule] = hosts.get("a.example") ?? [];
    return { type: rule?.type, policy: rule?.policy };
  };

  test("requests are sent to https where the Ingress has TLS for the host", () => {
    const tls = (...hosts: readonly string[]) => ({ tls: [{ hosts, secretName: "s" }] });
    const redirected = { type: "Prefix", policy: { httpsRedirect: 308 } };
    const plain = { type: "Prefix", policy: undefined };
    expect(one(tls("A.example"))).toEqual(redirected);
    expect(one(tls("*.example"))).toEqual(redirected);
    expect(one(tls())).toEqual(redirected);
    expect(one(tls("b.example"))).toEqual(plain);
    expect(one({ ...tls("a.example"), ...annotated({ "ssl-redirect": "false" }) })).toEqual(plain);
    expect(one(annotated({ "ssl-redirect": "true" }))).toEqual(plain);
    expect(one(annotated({ "force-ssl-redirect": "true" }))).toEqual(redirected);
  });

  test("and not where that is switched off for all, unless the Ingress asks for it", () => {
    const rules = [{ host: "a.example", paths: [path("/", "web")] }];
    const tls = [{ hosts: ["a.example"], secretName: "s" }];
    const routing = new Routing({ className: "lockstep", sslRedirect: false });
    const decide = (fields: Partial<Ingress>) =>
      routing.decide({ ingresses: [ingress("a", rules, { tls, ...fields })], classes: [] });
    const policyOf = (fields: Partial<Ingress>) =>
      decide(fields).hosts.get("a.example")?.[0]?.policy;
    expect(policyOf({})).toBeUndefined();
    expect(policyOf(annotated({ "ssl-redirect": "true" }))).toEqual({ httpsRedirect: 308 });
  });

  test("a path is an expression when it looks like one and is rewritten, or when that is asked", () => {
    const rewrite = annotated({ "rewrite-target": "/x/$1" });
    const specific = "ImplementationSpecific";
    expect(one(rewrite, "/a/(.*)", specific)).toEqual({
      type: "Regex",
      policy: { rewrite: "/x/$1" },
    });
    expect(one(rewrite, "/a/(.*)")).toEqual({ type: "Regex", policy: { rewrite: "/x/$1" } });
    expect(one(rewrite, "/a", specific)).toEqual({ type: "Prefix", policy: { rewrite: "/x/" } });
    expect(one(rewrite, "/a", "Exact")).toEqual({ type: "Exact", policy: { rewrite: "/x/" } });
    expect(one({}, "/a/(.*)", specific)).toEqual({ type: "Prefix", policy: undefined });
    expect(one(annotated({ "use-regex": "true" }), "/a", specific).type).toBe("Regex");
  });

  test("an application root is meant for the host, whatever paths the Ingress has of it", () => {
    const app = annotated({ "app-root": "/app" });
    const rules = [
      { host: "a.example", paths: [path("/app", "web"), path("/api", "api")] },
      { host: "b.example", paths: [path("/", "web"), path("/api", "api")] },
      { host: "c.example", paths: [path("/", "web", "Exact")] },
    ];
    const routing = new Routing({ className: "lockstep" });
    const { hosts } = routing.decide({ ingresses: [ingress("own", rules, app)], classes: [] });
    const roots = [...hosts].flatMap(([host, found]) =>
      found
        .filter((rule) => rule.path === "/")
        .map(({ type, policy }) => [host, type, policy?.appRoot]),
    );
    expect(roots).toEqual([
      ["a.example", "Exact", "/app"],
      ["b.example", "Prefix", "/app"],
      ["c.example", "Exact", "/app"],
    ]);
    const other = [{ host: "a.example", paths: [path("/", "other", "Exact")] }];
    expect(routed([ingress("own", rules, app), ingress("late", other, { bornMs: 9 })])).toEqual({
      lines: expect.arrayContaining(["a.example Exact / → shop/other:80"]),
      problems: [],
    });
  });

  test("an Ingress has a bounded number of expressions, right and wrong ones together", () => {
    const texts = Array.from({ length: 70 }, (_, index) => (index % 2 === 0 ? `/a${index}` : "/("));
    const paths = [...texts.map((text) => path(text, "web")), path("/exact", "web", "Exact")];
    const rules = [{ host: "a.example", paths }];
    const found = routed([ingress("own", rules, annotated({ "use-regex": "true" }))]);
    expect([found.lines.length, found.problems.length]).toEqual([33, 38]);
    expect(found.problems.at(-1)).toBe(
      "own: spec.rules[0].http.paths[69]: the Ingress has more than 64 expressions, " +
        "so the path is ignored",
    );
  });

  test("an Ingress full of errors gets a bounded number of problems", () => {
    const unknown = Array.from({ length: 5_000 }, (_, index) => [`unknown-${index}`, "x"]);
    const rules = [{ host: "a.example", paths: [path("/", "web")] }];
    const found = routed([ingress("own", rules, annotated(Object.fromEntries(unknown)))]);
    expect([found.lines.length, found.problems.length]).toEqual([1, 101]);
    expect(found.problems.at(-1)).toBe("own: 4900 more problems are not listed");
  });

  test("a session cookie is for the path of its rule", () => {
    const cookie = annotated({ affinity: "cookie" });
    const pathOf = (text: string, fields: Partial<Ingress> = cookie) =>
      one(fields, text, "ImplementationSpecific").policy?.balance?.affinity?.path;
    expect(pathOf("/shop/")).toBe("/shop");
    expect(pathOf("/a;b")).toBe("/");
    expect(pathOf("/a.*", annotated({ affinity: "cookie", "use-regex": "true" }))).toBe("/");
    const own = annotated({ affinity: "cookie", "session-cookie-path": "/own" });
    expect(pathOf("/shop", own)).toBe("/own");
  });
});

describe("hosts with and without www", () => {
  const www = annotated({ "from-to-www-redirect": "true" });
  const rulesOf = (...hosts: readonly string[]) =>
    hosts.map((host) => ({ host, paths: [path("/a", "web"), path("/b", "web")] }));
  const redirects = (...ingresses: readonly Ingress[]) => {
    const routing = new Routing({ className: "lockstep" });
    const { hosts, problems } = routing.decide({ ingresses, classes: [] });
    const lines = [...hosts].flatMap(([host, rules]) =>
      rules
        .filter(({ policy }) => policy?.hostRedirect !== undefined)
        .map(({ path: text, type, policy }) => `${host} ${type} ${text} ${JSON.stringify(policy)}`),
    );
    return { lines, problems: problems.map(({ message }) => message) };
  };
  const to = (host: string) => `Prefix / {"hostRedirect":{"host":"${host}","status":308}}`;

  test("each leads to the one that the Ingress names, and asks for nothing else", () => {
    const tls = [{ hosts: ["shop.example"], secretName: "s" }];
    const named = rulesOf("shop.example", "www.mall.example", "*.wild.example", "");
    const asked = { ...annotated({ "from-to-www-redirect": "true", "limit-rps": "1" }), tls };
    expect(redirects(ingress("own", named, asked))).toEqual({
      lines: [`www.shop.example ${to("shop.example")}`, `mall.example ${to("www.mall.example")}`],
      problems: [],
    });
  });

  test("an Ingress that has the name as a host keeps it", () => {
    const own = ingress("own", rulesOf("shop.example"), www);
    const both = ingress("both", rulesOf("a.example", "www.a.example"), www);
    const late = ingress("late", rulesOf("www.shop.example"), { bornMs: 9, namespace: "other" });
    const holder = (host: string, who: string) =>
      `from-to-www-redirect ${host}: this is a host of Ingress ${who}, so it is ignored`;
    expect(redirects(own, late, both)).toEqual({
      lines: [],
      problems: [
        holder("www.shop.example", "other/late"),
        holder("a.example", "shop/both"),
        holder("www.a.example", "shop/both"),
      ],
    });
  });

  test("a canary has none, nor has a name that is too long", () => {
    const canary = annotated({ "from-to-www-redirect": "true", canary: "true" });
    const long = `${"a".repeat(60)}.`.repeat(4).concat("example");
    const main = ingress("main", rulesOf("shop.example", long), {});
    const found = redirects(
      main,
      ingress("next", rulesOf("shop.example"), canary),
      ingress("long", rulesOf(long), { ...www, bornMs: 1 }),
    );
    expect(found.lines).toEqual([]);
  });
});
