// Where a route's policy sends requests, and in which form, by real nginx.
import { beforeAll, describe, expect, it } from "vitest";
import { headerOf, lineOf, PolicyWorld, rule, serviceOf } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a route's policy", () => {
  const world = PolicyWorld.forFile(async () => ({ publicHttpsPort: 8443 }));

  beforeAll(async () => {
    const echoing = ["root", "api", "version", "exact", "rewritten", "stable", "canary"];
    for (const name of echoing) await world().echo(name);
  });

  it("chooses by the longest text among prefixes and expressions", async () => {
    await world().hosts({
      "regex.example": [
        rule("/", "root"),
        rule("/api", "api"),
        rule("/api/v(\\d+)/", "version", undefined, "Regex"),
        rule("/api/v1/", "exact", undefined, "Exact"),
      ],
    });
    const paths = ["/", "/api", "/api/v2/x", "/API/V3/", "/api/vx/", "/api/v1/", "/x/api/v2/"];
    const found: string[] = [];
    for (const path of paths) found.push(serviceOf(await world().ask("regex.example", path)));
    expect(found).toEqual(["root", "api", "version", "version", "api", "exact", "root"]);
  });

  it("follows a host's new rules from the next request on, whatever the old ones were", async () => {
    await world().hosts({ "*.turns.example": [rule("/", "version")] });
    const turns = [
      [rule("/", "root")],
      [rule("/", "api")],
      [rule("/", "api"), rule("/x", "exact")],
      [rule("/", "root", { rewrite: "/fixed" })],
      [rule("/", "root")],
      null,
    ];
    const found: string[][] = [];
    for (const rules of turns) {
      await world().hosts({ "a.turns.example": rules });
      const answers = [];
      // The first finds out where everything of the host leads; those after it go by that.
      for (const target of ["/x", "/x", "/x;y"])
        answers.push(await world().ask("a.turns.example", target));
      found.push(answers.map((answer) => `${serviceOf(answer)} ${lineOf(answer)}`));
    }
    const lines = (service: string, ...targets: readonly string[]) =>
      targets.map((target) => `${service} GET ${target} HTTP/1.1`);
    expect(found).toEqual([
      lines("root", "/x", "/x", "/x;y"),
      lines("api", "/x", "/x", "/x;y"),
      [...lines("exact", "/x", "/x"), "The path is ambiguous because it contains parameters. "],
      lines("root", "/fixed", "/fixed", "/fixed"),
      lines("root", "/x", "/x", "/x;y"),
      lines("version", "/x", "/x", "/x;y"),
    ]);
    await world().hosts({ "*.turns.example": [rule("/", "canary")] });
    expect(serviceOf(await world().ask("a.turns.example"))).toBe("canary");
  });

  it("rewrites the path with what its groups matched, and keeps the query", async () => {
    await world().hosts({
      "rewrite.example": [
        rule("/", "rewritten", { rewrite: "/fixed/$1" }),
        rule("/app(/|$)(.*)", "rewritten", { rewrite: "/$2" }, "Regex"),
        rule(
          "/u/(?<user>[^/]+)/(.*)",
          "rewritten",
          { rewrite: "/of/\u0024{user}?rest=$2" },
          "Regex",
        ),
        rule("/drop/(.*)", "rewritten", { rewrite: "/$1?" }, "Regex"),
        rule("/dots/(.)x(.)/(.*)", "rewritten", { rewrite: "/$1$2/$3" }, "Regex"),
        rule("/slip/(.*)", "rewritten", { rewrite: "/x/..$1" }, "Regex"),
      ],
    });
    const lines: Record<string, string> = {};
    for (const target of [
      "/x?a=1",
      "/app",
      "/app/a%20b/c%3Fd%25?q=%20&r",
      "/app//double",
      "/u/al%0D%0Aice/x&y=z?q=1",
      "/drop/all?q=1",
    ]) {
      lines[target] = lineOf(await world().ask("rewrite.example", target));
    }
    expect(lines).toEqual({
      "/x?a=1": "GET /fixed/$1?a=1 HTTP/1.1",
      "/app": "GET / HTTP/1.1",
      "/app/a%20b/c%3Fd%25?q=%20&r": "GET /a%20b/c%3Fd%25?q=%20&r HTTP/1.1",
      "/app//double": "GET /double HTTP/1.1",
      "/u/al%0D%0Aice/x&y=z?q=1": "GET /of/al%0D%0Aice?rest=x%26y%3Dz&q=1 HTTP/1.1",
      "/drop/all?q=1": "GET /all HTTP/1.1",
    });
    const slip = await world().ask("rewrite.example", "/slip/%5cetc");
    expect(slip.status).toBe(400);
    const dots = await world().ask("rewrite.example", "/dots/.x./etc/passwd");
    expect([dots.status, dots.body]).toEqual([
      400,
      "The rewritten path would contain a dot segment.\n",
    ]);
  });

  it("redirects, to https, from the root, or everything", async () => {
    const to = "https://new.example$request_uri";
    await world().hosts({
      "secure.example": [rule("/", "root", { httpsRedirect: 308 })],
      "root.example": [rule("/", "root", { appRoot: "/start?x" })],
      "old.example": [rule("/", "root", { redirect: { location: to, status: 301 } })],
      "slashes.example": [
        rule("/", "root", { redirect: { location: "/$request_uri", status: 302 } }),
      ],
      "literal.example": [
        rule("/", "root", { redirect: { location: "/$uri$host/\u0024{scheme}$", status: 307 } }),
      ],
    });
    const asked: Record<string, unknown> = {};
    for (const [host, target] of [
      ["secure.example", "/a%20b?c=d"],
      ["root.example", "/"],
      ["root.example", "/other"],
      ["old.example", "/x?y"],
      ["slashes.example", "/evil.example/"],
      ["literal.example", "/"],
    ] as const) {
      const { status, headers } = await world().ask(host, target);
      asked[`${host}${target}`] = [status, headers.location];
    }
    expect(asked).toEqual({
      "secure.example/a%20b?c=d": [308, "https://secure.example:8443/a%20b?c=d"],
      "root.example/": [302, "/start?x"],
      "root.example/other": [200, undefined],
      "old.example/x?y": [301, "https://new.example/x?y"],
      "slashes.example/evil.example/": [302, "/evil.example/"],
      "literal.example/": [307, "/$uriliteral.example/http$"],
    });
  });

  it("gives a canary what its header, its cookie or its share decide", async () => {
    await world().service("empty-canary", []);
    const header = { name: "X-Canary" };
    await world().hosts({
      "canary.example": [
        rule("/", "stable", {
          canaries: [{ service: "canary", header, cookie: "canary", weight: 0 }],
        }),
        rule("/value", "stable", {
          canaries: [{ service: "canary", header: { ...header, value: "yes" }, weight: 0 }],
        }),
        rule("/pattern", "stable", {
          canaries: [{ service: "canary", header: { ...header, pattern: "^(a|b)+$" } }],
        }),
        rule("/empty", "stable", {
          canaries: [{ service: "empty-canary", weight: 100, weightTotal: 100 }],
        }),
        rule("/share", "stable", {
          canaries: [{ service: "canary", weight: 3, weightTotal: 10 }],
        }),
      ],
    });
    const to = async (target: string, headers: Record<string, string> = {}) =>
      serviceOf(await world().ask("canary.example", target, { headers }));
    expect([
      await to("/"),
      await to("/", { "x-canary": "always" }),
      await to("/", { "x-canary": "never", cookie: "canary=always" }),
      await to("/", { "x-canary": "other", cookie: "canary=always" }),
      await to("/", { cookie: "a=b; canary=always" }),
      await to("/value", { "x-canary": "yes" }),
      await to("/value", { "x-canary": "always" }),
      await to("/pattern", { "x-canary": "abba" }),
      await to("/pattern", { "x-canary": "abc" }),
      await to("/empty"),
    ]).toEqual([
      "stable",
      "canary",
      "stable",
      "canary",
      "canary",
      "canary",
      "stable",
      "canary",
      "stable",
      "stable",
    ]);
    const shares: Record<string, number> = {};
    for (let count = 0; count < 100; count += 1) {
      const service = await to("/share");
      shares[service] = (shares[service] ?? 0) + 1;
    }
    // The golden ratio puts 31 of the first 100 into the first three tenths.
    expect(shares).toEqual({ stable: 69, canary: 31 });
  });

  it.each(["balanced", "persistent"] as const)(
    "keeps the %s sessions of a canary on their side",
    async (mode) => {
      const host = `${mode}.example`;
      await world().hosts({
        [host]: [
          rule("/", "stable", {
            balance: { method: "round-robin", affinity: { cookie: "session", mode } },
            canaries: [
              { service: "canary", header: { name: "x-canary" }, weight: 50, weightTotal: 100 },
            ],
          }),
        ],
      });
      const sides = new Set<string>();
      for (let session = 0; session < 24; session += 1) {
        const first = await world().ask(host);
        const cookie = first.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
        const again = new Set<string>();
        for (let count = 0; count < 3; count += 1) {
          again.add(serviceOf(await world().ask(host, "/", { headers: { cookie } })));
        }
        expect([...again]).toEqual([serviceOf(first)]);
        const asked = { cookie, "x-canary": "always" };
        expect(serviceOf(await world().ask(host, "/", { headers: asked }))).toBe("canary");
        sides.add(serviceOf(first));
      }
      expect([...sides].sort()).toEqual(["canary", "stable"]);
    },
  );

  it.each(["balanced", "persistent"] as const)(
    "keeps %s sessions that a header began at a canary there, whatever its share",
    async (mode) => {
      const host = `forced-${mode}.example`;
      await world().hosts({
        [host]: [
          rule("/", "stable", {
            balance: { method: "round-robin", affinity: { cookie: "session", mode } },
            canaries: [{ service: "canary", header: { name: "x-canary" }, weight: 1 }],
          }),
        ],
      });
      const ask = async (headers: Record<string, string>) => {
        const answer = await world().ask(host, "/", { headers });
        const cookie = answer.headers["set-cookie"]?.[0]?.split(";")[0] ?? "";
        return { service: serviceOf(answer), cookie };
      };
      // An unknown cookie counts as none.
      for (const known of ["", "session=other", "session=c0123"]) {
        const { service, cookie } = await ask({ "x-canary": "always", cookie: known });
        expect([service, cookie]).toEqual(["canary", expect.stringMatching(/^session=[ce]/)]);
        const later = await Promise.all([1, 2, 3, 4].map(() => ask({ cookie })));
        expect(later).toEqual(Array.from({ length: 4 }, () => ({ service: "canary", cookie: "" })));
        const away = await ask({ cookie, "x-canary": "never" });
        expect(away.service).toBe("stable");
      }
    },
  );

  it("tells the endpoint the host it asks for", async () => {
    await world().hosts({
      "seen.example": [rule("/", "root", { upstreamHost: "inside.example:81" })],
    });
    const answer = await world().ask("seen.example");
    expect(headerOf(answer, "host")).toBe("inside.example:81");
  });

  it("ends an expression that takes too long, without another rule taking its place", async () => {
    await world().hosts({
      "bomb.example": [
        rule("/", "root"),
        rule("/(a+)+$", "api", undefined, "Regex"),
        rule("/(.*)*(.*)*(.*)*x", "api", undefined, "Regex"),
      ],
    });
    const answers: unknown[] = [];
    for (const path of ["/", "/aaa", `/${"a".repeat(40)}!`, `/${"a".repeat(4000)}`]) {
      const { status, body } = await world().ask("bomb.example", path);
      answers.push(status === 200 ? body.split("\n")[0] : [status, body]);
    }
    const limited = [500, "Matching this path against the routes of this host takes too long.\n"];
    expect(answers).toEqual(["root", "api", limited, limited]);
  });
});
