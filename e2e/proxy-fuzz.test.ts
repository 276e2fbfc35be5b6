// Pushes that were never meant: whatever is written to the control socket, nginx answers with a code
// of its own, keeps what it had, and every host that it took can be asked without an error.

import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { describe, expect, it } from "vitest";
import type { PathRule } from "../src/decide/decision.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { isThorough } from "../src/simulation/seeds.ts";
import { hostsBody, PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const rounds = isThorough(process.env) ? 1_500 : 400;

const fuzzed: readonly PathRule[] = [
  { path: "/exact", type: "Exact", service: "s" },
  {
    path: "/",
    type: "Prefix",
    service: "echo",
    policy: { rewrite: "/x$1", appRoot: "/start" },
  },
  {
    path: "/r/(?<rest>.*)",
    type: "Regex",
    service: "echo",
    policy: {
      httpsRedirect: 308,
      redirect: { location: "https://x.example$request_uri", status: 301 },
      upstreamHost: "up.example:80",
      upstreamTlsName: "up.example",
      protocol: "http",
      verifyUpstream: false,
      maxBodyBytes: 1000,
      timeouts: { connectMs: 1000, sendMs: 1000, readMs: 1000 },
      tries: 2,
    },
  },
  {
    path: "/policies",
    type: "Prefix",
    service: "echo",
    policy: {
      balance: {
        method: "hash",
        hashBy: [{ text: "a" }, { variable: "request_uri" }],
        affinity: { cookie: "c", mode: "balanced", path: "/", maxAgeSeconds: 1, secure: true },
      },
      canaries: [
        {
          service: "s",
          header: { name: "x-canary", pattern: "a+" },
          cookie: "canary",
          weight: 1,
          weightTotal: 2,
          requestHeaders: { set: [{ name: "X-A", value: "1" }] },
        },
      ],
      tries: 3,
      retryOn: [500, 503],
      mirrors: [{ service: "s", weight: 1, weightTotal: 3 }],
      ownHeaders: { responseHeaders: { remove: ["X-B"] } },
      allowFrom: ["127.0.0.0/8", "::1"],
      rateLimit: { requestsPerSecond: 1000, burst: 5000 },
      basicAuth: { users: "d/users file", realm: "x" },
      externalAuth: {
        service: "s",
        host: "$host",
        path: "/auth?x=$escaped_request_uri",
        method: "GET",
        responseHeaders: ["X-User"],
        signIn: "https://$host/start",
      },
      cors: {
        allowOrigins: ["https://*.example"],
        allowMethods: ["GET"],
        allowHeaders: ["X-A"],
        exposeHeaders: [],
        allowCredentials: true,
        maxAgeSeconds: 1,
      },
    },
  },
];

/** Something of every field there is. */
const whole = {
  ...(JSON.parse(hostsBody({ fuzzed })) as object),
  services: {
    s: {
      tiers: [1, 1],
      addresses: ["127.0.77.251", "::1"],
      ports: [9, 9],
      slots: [901, 902],
      names: ["c/d/p", "c/::1"],
      weights: [1, 2],
    },
  },
  serverNames: { "a.example": "d/tls" },
  users: { "d/users file": [["ann", "{PLAIN}x"]] },
};

/** The replacements. */
const strange: readonly unknown[] = [
  null,
  true,
  false,
  0,
  -1,
  0.5,
  1e308,
  -1e308,
  2 ** 53,
  "",
  "\0",
  "/\r\nX: y",
  "$1\u0024{2}$host",
  "/(a+)+$",
  "(",
  "/[",
  "/(?<x>a)(?<x>b)",
  "/\\",
  "x".repeat(5000),
  "ü\ud800",
  "__proto__",
  "127.0.0.1",
  "*",
  "0.0.0.0/0",
  [],
  {},
  [[]],
  [null],
  { a: { b: { c: {} } } },
  Array.from({ length: 2000 }, () => "x"),
];

const texts: readonly string[] = [
  "",
  "null",
  "[]",
  "{",
  '{"hosts":{"fuzzed":null},"hosts":{"fuzzed":[]}}',
  '{"hosts":{"fuzzed":[{"path":"/","type":"Exact","type":"Prefix","service":"echo"}]}}',
  `{"hosts":${"[".repeat(5000)}${"]".repeat(5000)}}`,
  `{"hosts":${'{"a":'.repeat(900)}1${"}".repeat(900)}}`,
  '{"services":{"s":{"tiers":[NaN],"addresses":[],"ports":[],"slots":[],"names":[]}}}',
  '{"services":{"s":{"tiers":[1e999],"addresses":[],"ports":[],"slots":[],"names":[]}}}',
  '{"services":{"s":{"tiers":[0x10],"addresses":[],"ports":[],"slots":[],"names":[]}}}',
  `{"hosts":{"${"h".repeat(70_000)}":[]}}`,
  `{"unknown":{}}`,
  "\0\0\0",
  "\xff\xfe{}",
];

describe.skipIf(withoutNginx !== false)("a push that was never meant", () => {
  const world = PolicyWorld.forFile();

  it("is refused or taken as a whole, and harms nothing", async () => {
    const { proxy } = world();
    await world().echo("echo");
    await world().hosts({ kept: [rule("/", "echo")] });
    const before = await proxy.control().state();
    const random = new SeededRandom({ seed: 1, name: "pushes" });
    const answers: Record<string, number> = {};
    for (let round = 0; round < rounds; round += 1) {
      const text = texts[round] ?? hostileText(random);
      const push = await send(
        proxy.socketPath,
        pathOf(random),
        headersOf(before.bootId, random),
        text,
      );
      const key = `${push.status} ${push.code}`;
      answers[key] = (answers[key] ?? 0) + 1;
      if (push.status !== 200) continue;
      for (const target of ["/", "/exact", "/r/a", "/policies/x?y", "/a/../b"]) {
        const headers = { origin: "https://a.example", cookie: "canary=x; c=y", "x-canary": "a" };
        const { status } = await world().ask("fuzzed", target, { headers });
        expect([text, target, status === 500]).toEqual([text, target, false]);
      }
    }
    // Without a code where nginx itself cannot read the request.
    const known = [
      "200 ",
      "400 ",
      "400 MALFORMED",
      "404 UNKNOWN",
      "409 BOOT",
      "409 EPOCH",
      "409 LOAD",
    ];
    expect(Object.keys(answers).filter((key) => !known.includes(key))).toEqual([]);
    expect(answers["200 "]).toBeGreaterThan(rounds / 50);
    expect((await world().ask("kept")).status).toBe(200);
    const after = await proxy.control().state();
    expect([after.bootId, after.workerPids]).toEqual([before.bootId, before.workerPids]);
    const errors = readFileSync(`${proxy.prefix}/logs/error.log`, "utf8")
      .split("\n")
      .filter((line) => /lua|exited|alert|emerg/.test(line) && !line.includes("RLIMIT_NOFILE"));
    expect(errors).toEqual([]);
  }, 60_000);

  it("changes nothing when it is refused", async () => {
    const { proxy } = world();
    await world().hosts({ fuzzed: [rule("/", "echo")] });
    const { version, bootId } = await proxy.control().state();
    const bad = { path: "no slash", type: "Prefix", service: "echo" };
    const good = { path: "/", type: "Exact", service: "none" };
    const headers = pusherHeaders(bootId);
    for (const hosts of [
      { fuzzed: [good], other: [bad] },
      { fuzzed: [good, bad] },
      { fuzzed: [{ ...good, policy: { closed: true } }] },
      { fuzzed: [{ ...good, policy: null }] },
      { fuzzed: [{ ...good, canaries: null }] },
      { fuzzed: [{ ...good, path: "/a;b", isCookiePath: true }] },
      { fuzzed: true },
      {
        fuzzed: Array.from({ length: 129 }, (_, at) => ({
          ...good,
          path: `/${at}`,
          type: "Regex",
        })),
      },
    ]) {
      const text = JSON.stringify({ hosts });
      const { status, code } = await send(proxy.socketPath, "/changes", headers, text);
      expect([status, code]).toEqual([400, "MALFORMED"]);
    }
    expect((await proxy.control().state()).version).toBe(version);
    expect((await world().ask("fuzzed", "/x")).status).toBe(200);
  });
});

/** The whole, with a few things in it replaced, left out or repeated; or bytes of it changed. */
function hostileText(random: SeededRandom): string {
  const copy: unknown = structuredClone(whole);
  const changes = 1 + Math.floor(random.next() * 3);
  for (let change = 0; change < changes; change += 1) mutate(copy, random);
  const text = JSON.stringify(copy);
  if (random.next() < 0.8) return text;
  const at = Math.floor(random.next() * text.length);
  const piece = String.fromCharCode(Math.floor(random.next() * 256));
  const length = Math.floor(random.next() * 4);
  return text.slice(0, at) + piece.repeat(length) + text.slice(at + length);
}

function mutate(value: unknown, random: SeededRandom): void {
  let at: unknown = value;
  for (;;) {
    if (typeof at !== "object" || at === null) return;
    const keys = Object.keys(at);
    const key = keys[Math.floor(random.next() * keys.length)];
    if (key === undefined) return;
    const child: unknown = Reflect.get(at, key);
    if (typeof child === "object" && child !== null && random.next() < 0.85) {
      at = child;
      continue;
    }
    const other = structuredClone(strange[Math.floor(random.next() * strange.length)]);
    if (random.next() < 0.2) Reflect.deleteProperty(at, key);
    else if (random.next() < 0.1) Reflect.set(at, `${key}x`, child);
    else Reflect.set(at, key, other);
    return;
  }
}

function pathOf(random: SeededRandom): string {
  const paths = ["/loads/1", "/loads/999999999999999999999", "/loads/-1", "/changes/", "/%00"];
  return random.next() < 0.9 ? "/changes" : (paths[Math.floor(random.next() * 5)] ?? "/");
}

function pusherHeaders(bootId: string): Record<string, string> {
  return { "x-lockstep-boot": bootId, "x-lockstep-owner": "policies", "x-lockstep-epoch": "1" };
}

function headersOf(bootId: string, random: SeededRandom): Record<string, string> {
  const headers = pusherHeaders(bootId);
  if (random.next() < 0.9) return headers;
  const names = Object.keys(headers);
  const name = names[Math.floor(random.next() * names.length)] ?? "";
  const values = ["", "nan", "inf", "-1", "0x1", "1e9", "9".repeat(400), "x".repeat(400)];
  return { ...headers, [name]: values[Math.floor(random.next() * values.length)] ?? "" };
}

function send(
  socketPath: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  text: string,
): Promise<{ readonly status: number; readonly code: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ socketPath, method: "PUT", path, headers }, (response) => {
      let body = "";
      response.on("data", (chunk: Uint8Array) => {
        body += Buffer.from(chunk).toString("utf8");
      });
      response.on("end", () => {
        const code = /"code":"([A-Z_]+)"/.exec(body)?.[1] ?? "";
        resolve({ status: response.statusCode ?? 0, code });
      });
    });
    request.on("error", reject);
    request.end(Buffer.from(text, "latin1"));
  });
}
