// Requests that are made to keep the proxy busy, or to mean something else behind it than before it,
// with real nginx: each is answered at once or refused, and the others are served meanwhile.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import type { RoutePolicy } from "../src/decide/route-policy.ts";
import { freePort } from "../src/lab/free-port.ts";
import { openBlackHole } from "./black-hole.ts";
import { headerOf, lineOf, PolicyWorld, rule, serviceOf } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";
import { askHttp2, type Fields } from "./raw-http2.ts";

const http2Address = "127.0.0.4";

/** Bombs: each took PCRE seconds, or for ever. */
const bombs = [
  `/(?:${".*z|".repeat(100)}a)*b`,
  `/.*(?:${".*z|".repeat(100)}y)`,
  `/(?:${"[^z]*z|".repeat(60)}a)*b`,
  "/(?:a|a)*(?:.*z|.*y|.*x)b",
  "/(a+)+b",
  "/(?:a*a*b|a)*c",
];

/** By what a header must match, a host whose requests then go elsewhere. */
const patterns = ["(^|;) ?beta=1(;|$)", "(^|;\\s*)beta=(1|on|yes)(;|$)", "^.*beta=1", "beta"];
const headerBombs = [`(?:${".*z|".repeat(100)}a)*b`, "(a|a)*(.*z|.*y)b", "(a*)*b", "[^z]*zb"];
const canaries = Object.fromEntries(
  [...patterns, ...headerBombs].map((pattern, at) => [
    `canary-${at}`,
    [rule("/", "open", { canaries: [{ service: "other", header: { name: "X-T", pattern } }] })],
  ]),
);

const affinity: RoutePolicy = {
  balance: {
    method: "round-robin",
    affinity: { cookie: "c", mode: "balanced", sameSite: "None", conditionalSameSiteNone: true },
  },
};

describe.skipIf(withoutNginx !== false)("a request meant to harm", () => {
  const world = PolicyWorld.forFile(async ({ port }) => ({
    listen: [
      { address: "127.0.0.1", port },
      { address: http2Address, port, http2: true },
    ],
  }));

  beforeAll(async () => {
    for (const name of ["open", "admin", "other"]) await world().echo(name);
    await world().hosts({
      h: [rule("/", "open"), rule("/admin", "admin")],
      "other.example": [rule("/", "other")],
      session: [rule("/", "open", affinity)],
      rewritten: [rule("/app(.*)", "open", { rewrite: "/inside/$1" }, "Regex")],
      repeated: [rule("/(.*)", "open", { rewrite: `/${"$1".repeat(500)}` }, "Regex")],
      asked: [rule("/(.*)", "open", { rewrite: `/?${"$1".repeat(500)}` }, "Regex")],
      moved: [rule("/", "open", redirectTo(`/${"$request_uri".repeat(80)}`))],
      guarded: [rule("/", "open"), rule("/(?:a|a)*b", "admin", undefined, "Regex")],
      ...Object.fromEntries(
        bombs.map((path, at) => [`bomb-${at}`, [rule(path, "open", undefined, "Regex")]]),
      ),
      ...canaries,
      "bomb-all": bombs.map((path) => rule(path, "open", undefined, "Regex")),
    });
  });

  it("takes no time by what a client calls itself", async () => {
    const texts = ["iP; CPU OS 12", "Macintosh;Mac OS X 10_14", "Chrom", "Version/Safari/"];
    const agents = [...texts, texts.join("")].map((text) =>
      text.repeat(Math.floor(15_000 / text.length)),
    );
    const asked = agents.map((agent) =>
      world().ask("session", "/", { headers: { "user-agent": agent } }),
    );
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(agents.map(() => 200));
  }, 30_000);

  it("takes no time by a path that an expression would look at for ever", async () => {
    const hosts = [...bombs.map((_, at) => `bomb-${at}`), "bomb-all"];
    const paths = ["a".repeat(16_000), `${"a".repeat(20)}${"c".repeat(15_000)}`, "a".repeat(500)];
    const asked = hosts.flatMap((host) => paths.map((path) => world().ask(host, `/${path}`)));
    const others = Array.from({ length: 50 }, () => world().ask("h"));
    expect(new Set((await Promise.all(others)).map(serviceOf))).toEqual(new Set(["open"]));
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    // Some do match, and some do not after as many steps as there may be.
    expect(new Set(statuses)).toEqual(new Set([200, 404, 500]));
  }, 30_000);

  it("takes no time by a header, though ordinary expressions find what they look for", async () => {
    const servedBy = async (at: number, value: string): Promise<string> =>
      serviceOf(await world().ask(`canary-${at}`, "/", { headers: { "x-t": value } }));
    const filler = "name=value; ".repeat(160);
    for (const at of patterns.keys()) {
      expect([at, await servedBy(at, `${filler}beta=1`)]).toEqual([at, "other"]);
      expect([at, await servedBy(at, `${filler}bet=1`)]).toEqual([at, "open"]);
    }
    for (const at of headerBombs.keys()) {
      for (const length of [15_000, 2_000, 200]) {
        const value = `${"a".repeat(length)}cb`;
        expect(await servedBy(patterns.length + at, value)).toMatch(/^(open|other)$/);
      }
    }
  }, 30_000);

  it("passes no rule because it takes too long to compare", async () => {
    const slow = `${"a".repeat(500)}cb`;
    expect((await world().ask("guarded", "/aab")).body).toMatch(/^admin\n/);
    expect((await world().ask("guarded", `/${slow}`)).status).toBe(500);
    expect((await world().ask("guarded", `/;/${slow}`)).status).toBe(500);
  });

  it("is rewritten to no dot segment, whatever a program takes for one", async () => {
    const targets = [
      "/app../x",
      "/app..;/x",
      "/app.;v=1/x",
      "/app..%3b/x",
      "/app%2e%2e;",
      "/app..",
    ];
    const asked = targets.map((target) => world().ask("rewritten", target));
    expect((await Promise.all(asked)).map(({ status }) => status)).toEqual(targets.map(() => 400));
    expect(lineOf(await world().ask("rewritten", "/app..x;v=1"))).toBe(
      "GET /inside/..x;v=1 HTTP/1.1",
    );
  });

  it("is never made many times as long", async () => {
    for (const host of ["repeated", "asked", "moved"]) {
      expect((await world().ask(host, `/${"a".repeat(8_000)}`)).status).toBe(400);
    }
    expect(lineOf(await world().ask("repeated", "/a"))).toBe(`GET /${"a".repeat(500)} HTTP/1.1`);
  });

  it("has one meaning in HTTP/2 as well", async () => {
    const fields = (path: string, host = "h"): Fields => [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", path],
      [":authority", host],
    ];
    const [, ...withoutMethod] = fields("/x");
    const cases: readonly (readonly [Fields, string])[] = [
      [fields("/x/../admin"), "admin GET /admin"],
      [fields("/x", "OTHER.example:81"), "other GET /x"],
      [[...fields("/x"), ["upgrade", "websocket"]], "open GET /x"],
      [[...fields("/x"), ["x_forwarded_for", "6.6.6.6"]], "open GET /x"],
      [fields("admin"), "400"],
      [fields(""), "400"],
      [fields("*"), "400"],
      [fields("http://other.example/x"), "400"],
      [fields("/x HTTP/1.1"), "400"],
      [fields("/x", "h other.example"), "400"],
      [[...fields("/x"), ["host", "other.example"]], "400"],
      [[...fields("/x"), [":path", "/admin"]], "400"],
      [[...fields("/x"), [":authority", "other.example"]], "400"],
      [[...fields("/x"), ["content-length", "5"]], "400"],
      [[...fields("/x"), ["transfer-encoding", "chunked"], ["content-length", "0"]], "400"],
      [[[":method", "GET /admin HTTP/1.1"], ...withoutMethod], "400"],
      [[[":method", "CONNECT"], ...withoutMethod], "405"],
      [fields("/x\r\nHost: other.example"), "reset"],
      [fields("/x", "h\r\nX-Evil: 1"), "reset"],
      [[...fields("/x"), ["x", "1\r\nX-Evil: 1"]], "reset"],
      [[...fields("/x"), ["x", "1\nX-Evil: 1"]], "reset"],
      [[...fields("/x"), ["x: 1\r\nx-evil", "1"]], "reset"],
      [[...fields("/x"), ["X-Upper", "1"]], "reset"],
    ];
    const place = { host: http2Address, port: world().proxy.port };
    for (const [asked, expected] of cases) {
      expect([asked, outcomeOf(await askHttp2(place, asked))]).toEqual([asked, expected]);
    }
    const upgrade = [...fields("/x"), ["upgrade", "websocket"]] as const;
    expect(await askHttp2(place, upgrade)).not.toMatch(/^(Upgrade|Connection):/m);
  });

  it("is about the host of its request line, and the endpoint gets no other", async () => {
    const seen = async (target: string, host: string) => {
      const head = `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
      const [, body = ""] = (await world().raw(head)).split("\r\n\r\n");
      const answer = { status: 0, headers: {}, body };
      return [serviceOf(answer), headerOf(answer, "Host"), headerOf(answer, "X-Forwarded-Host")];
    };
    expect(await seen("/", "H:8080")).toEqual(["open", "H:8080", "H:8080"]);
    expect(await seen("http://h/", "h:8080")).toEqual(["open", "h:8080", "h:8080"]);
    expect(await seen("http://h/", "other.example")).toEqual(["open", "h", "h"]);
    expect(await seen("http://h:8080/", "other.example")).toEqual(["open", "h", "h"]);
    expect(await seen("http://other.example/", "h")).toEqual([
      "other",
      "other.example",
      "other.example",
    ]);
  });

  it("makes no endpoint suspect that others use, by asking it wrongly or hastily", async () => {
    const suspects = async (): Promise<number> =>
      (await world().proxy.control().suspects(undefined)).suspects.length;
    const place = "127.0.77.222";
    const hole = await openBlackHole(place, await freePort(world().proxy.environment, place));
    onTestFinished(() => hole.close());
    await world().service("silent", [`${hole.address}:${hole.port}`]);
    await world().service("plain", [(await world().proxy.backend("plain")).peer]);
    await world().hosts({
      wrongly: [rule("/", "plain", { protocol: "https" })],
      hastily: [rule("/", "silent", { timeouts: { connectMs: 1 } })],
      patiently: [rule("/", "silent")],
    });
    for (const host of ["wrongly", "hastily"]) {
      expect([502, 504]).toContain((await world().ask(host)).status);
      expect([host, await suspects()]).toEqual([host, 0]);
    }
    // By now it is known what the connection by TLS has failed of.
    expect((await world().ask("wrongly")).status).toBe(502);
    expect(await suspects()).toBe(0);
    expect((await world().ask("patiently")).status).toBe(504);
    expect(await suspects()).toBe(1);
  });

  it("leaves no error behind", async () => {
    const log = readFileSync(`${world().proxy.prefix}/logs/error.log`, "utf8");
    const errors = log.split("\n").filter((line) => /lua|exited|alert|emerg/.test(line));
    expect(errors.filter((line) => !line.includes("RLIMIT_NOFILE"))).toEqual([]);
  });
});

/** `service GET /path`, the status of one of nginx's own pages, or how the stream was ended. */
function outcomeOf(said: string): string {
  const [, status] = /<title>(\d{3}) /.exec(said) ?? [];
  const [service = "", line = ""] = said.split("\n");
  return status ?? `${service} ${line.trim().replace(" HTTP/1.1", "")}`.trim();
}

function redirectTo(location: string): RoutePolicy {
  return { redirect: { location, status: 302 } };
}
