// Requests that a route's policy lets in, and the answers for the others, by real nginx.
import { connect } from "node:http2";
import { beforeAll, describe, expect, it } from "vitest";
import type { Cors } from "../src/decide/route-policy.ts";
import { PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const mib = 1024 * 1024;
const http2Address = "127.0.0.4";

/** The proxies that nginx trusts. */
const trustedNetwork = "127.9.0.0/16";

describe.skipIf(withoutNginx !== false)("a route", () => {
  const world = PolicyWorld.forFile(async ({ port }) => {
    const listen = [
      { address: "127.0.0.1", port },
      { address: http2Address, port, http2: true },
    ];
    return { listen, trustedProxies: [trustedNetwork] };
  });

  beforeAll(async () => {
    await world().echo("root");
    const backend = await world().proxy.backend("body");
    await world().service("body", [backend.peer]);
    await world().hosts({
      "default.example": [rule("/", "body")],
      "small.example": [rule("/", "body", { maxBodyBytes: 1000 })],
      "middle.example": [rule("/", "body", { maxBodyBytes: 2 * mib })],
      "any.example": [rule("/", "body", { maxBodyBytes: 0 })],
    });
  });

  it("believes a trusted proxy about TLS and about who the client is, and no other client", async () => {
    await world().hosts({
      "secure.example": [rule("/", "root", { httpsRedirect: 308, allowFrom: ["10.0.0.0/8"] })],
    });
    const headers = { "x-forwarded-proto": "https", "x-forwarded-for": "10.1.2.3" };
    const elsewhere = { ...headers, "x-forwarded-for": "11.1.2.3" };
    const statuses: number[] = [];
    for (const asked of [
      { from: "127.9.0.1", headers },
      { from: "127.9.0.1", headers: elsewhere },
      { from: "127.9.0.1" },
      { from: "127.0.0.1", headers },
    ]) {
      statuses.push((await world().ask("secure.example", "/", asked)).status);
    }
    expect(statuses).toEqual([200, 403, 308, 308]);
  });

  it("limits the body by its length, and by counting when it says none", async () => {
    const post = async (host: string, bytes: number, chunked = false) => {
      const body = Buffer.alloc(bytes, "x");
      const { status } = await world().ask(host, "/", { method: "POST", body, chunked });
      return status;
    };
    expect([
      await post("default.example", 2 * mib),
      await post("default.example", 2 * mib, true),
      await post("small.example", 1000),
      await post("small.example", 1001),
      await post("small.example", 1000, true),
      await post("small.example", 1001, true),
      await post("small.example", 1.5 * mib, true),
      await post("middle.example", 2 * mib, true),
      await post("middle.example", 2 * mib + 1, true),
      await post("any.example", 2 * mib, true),
    ]).toEqual([200, 200, 200, 413, 200, 413, 413, 200, 413, 200]);
  });

  it("limits the body of HTTP/2 as well, whether it says how long it is or not", async () => {
    const client = connect(`http://${http2Address}:${world().proxy.port}`);
    const post = (host: string, bytes: number, method = "POST", headers = {}): Promise<number> =>
      new Promise((resolve, reject) => {
        const head = { ":authority": host, ":method": method, ":path": "/", ...headers };
        const stream = client.request(head, { endStream: bytes === 0 });
        stream.on("response", (answer) => resolve(Number(answer[":status"])));
        stream.on("error", reject);
        stream.resume();
        if (bytes > 0) stream.end(Buffer.alloc(bytes, "x"));
      });
    try {
      expect([
        await post("small.example", 1000),
        await post("small.example", 1001),
        await post("small.example", 1001, "POST", { "content-length": "1001" }),
        await post("small.example", 0, "GET"),
        await post("middle.example", 2 * mib),
        await post("middle.example", 2 * mib + 1),
        await post("any.example", 3 * mib),
        await post("default.example", 3 * mib),
      ]).toEqual([200, 413, 413, 200, 200, 413, 200, 200]);
    } finally {
      client.close();
    }
  });

  it("takes more than the usual limit only where the route says so", async () => {
    const backend = await world().proxy.backend("large", (exchange) => {
      exchange.respond(200).end(Buffer.from("large"));
    });
    await world().service("large", [backend.peer]);
    await world().hosts({
      "large.example": [rule("/", "large", { maxBodyBytes: 101 * mib })],
      "usual.example": [rule("/", "large")],
    });
    const statuses: Record<string, string> = {};
    for (const [host, bytes] of [
      ["usual.example", 100 * mib + 1],
      ["large.example", 101 * mib + 1],
    ] as const) {
      const head = `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${bytes}\r\n\r\n`;
      statuses[host] = (await world().raw(head, { answers: 1 })).slice(0, 12);
    }
    const body = Buffer.alloc(101 * mib);
    const fits = await world().ask("large.example", "/", { method: "POST", body });
    expect([statuses, fits.status, fits.body]).toEqual([
      { "usual.example": "HTTP/1.1 413", "large.example": "HTTP/1.1 413" },
      200,
      "large",
    ]);
  });

  it("does not ask for a body that it would refuse", async () => {
    const lines = ["Host: small.example", "Expect: 100-continue", "Connection: close"];
    const statuses: string[] = [];
    for (const length of [3, 1001]) {
      const head = ["POST / HTTP/1.1", ...lines, `Content-Length: ${length}`, "", ""].join("\r\n");
      statuses.push((await world().raw(head, { answers: 1 })).slice(0, 12));
    }
    expect(statuses).toEqual(["HTTP/1.1 100", "HTTP/1.1 413"]);
  });

  it("lets in only the networks it names", async () => {
    await world().hosts({
      "allow.example": [
        rule("/", "root", { allowFrom: ["127.0.8.0/21", "127.1.1.1", "fd00::/8", "::1"] }),
      ],
    });
    const statuses: number[] = [];
    for (const from of ["127.0.8.1", "127.0.15.255", "127.0.16.0", "127.1.1.1", "127.1.1.2"]) {
      statuses.push((await world().ask("allow.example", "/", { from })).status);
    }
    expect(statuses).toEqual([200, 200, 403, 200, 403]);
    const refused = await world().ask("allow.example");
    expect([refused.headers["content-type"], refused.body]).toEqual([
      "text/plain; charset=utf-8",
      "Requests from this address are not allowed here.\n",
    ]);
  });

  it("limits how often one address may come, and each for itself", async () => {
    const rateLimit = { requestsPerSecond: 0.001, burst: 2 };
    await world().hosts({ "limit.example": [rule("/", "root", { rateLimit })] });
    const statuses: Record<string, number[]> = {};
    for (const from of ["127.0.0.5", "127.0.0.6"]) {
      const own: number[] = [];
      for (let count = 0; count < 5; count += 1) {
        own.push((await world().ask("limit.example", "/", { from })).status);
      }
      statuses[from] = own;
    }
    expect(statuses).toEqual({
      "127.0.0.5": [200, 200, 200, 429, 429],
      "127.0.0.6": [200, 200, 200, 429, 429],
    });
    const { headers } = await world().ask("limit.example", "/", { from: "127.0.0.5" });
    expect(headers["retry-after"]).toBe("1");
    // Pushed again, with another rule beside it, it is still the same route.
    await world().hosts({
      "limit.example": [rule("/", "root", { rateLimit }), rule("/x", "root")],
    });
    expect((await world().ask("limit.example", "/", { from: "127.0.0.5" })).status).toBe(429);
  });

  it("answers preflights, and puts its own headers in place of the endpoint's", async () => {
    await world().echo("own-cors", "Access-Control-Allow-Origin: https://own\r\nVary: Accept\r\n");
    const cors: Cors = {
      allowOrigins: ["https://shop.example", "https://*.shop.example:8443"],
      allowMethods: ["GET", "PUT"],
      allowHeaders: ["Authorization", "X-Token"],
      exposeHeaders: ["X-Total"],
      allowCredentials: true,
      maxAgeSeconds: 600,
    };
    await world().hosts({
      "cors.example": [
        rule("/", "own-cors", { cors }),
        rule("/any", "own-cors", { cors: { ...cors, allowOrigins: ["*"], exposeHeaders: [] } }),
      ],
    });
    const ask = async (method: string, target: string, origin?: string) => {
      const headers = origin === undefined ? {} : { origin };
      const answer = await world().ask("cors.example", target, { method, headers });
      const shown = Object.entries(answer.headers).filter(
        ([name]) => name.startsWith("access-control") || name === "vary",
      );
      return { status: answer.status, ...Object.fromEntries(shown) };
    };
    const own = {
      "access-control-allow-credentials": "true",
      "access-control-allow-headers": "Authorization, X-Token",
      "access-control-allow-methods": "GET, PUT",
      "access-control-expose-headers": "X-Total",
      "access-control-max-age": "600",
    };
    const origin = "https://a.shop.example:8443";
    expect(await ask("OPTIONS", "/", "https://SHOP.example")).toEqual({
      status: 204,
      ...own,
      "access-control-allow-origin": "https://SHOP.example",
      vary: "Origin",
    });
    expect(await ask("GET", "/", origin)).toEqual({
      status: 200,
      ...own,
      "access-control-allow-origin": origin,
      vary: "Accept, Origin",
    });
    const untouched = { status: 200, "access-control-allow-origin": "https://own", vary: "Accept" };
    for (const other of [
      "https://a.b.shop.example:8443",
      "https://shop.example.evil",
      "https://.shop.example:8443",
      undefined,
    ]) {
      expect(await ask("GET", "/", other)).toEqual(untouched);
    }
    expect(await ask("OPTIONS", "/", "https://evil.example")).toEqual(untouched);
    expect(await ask("GET", "/any", "https://x.example")).toMatchObject({
      "access-control-allow-origin": "*",
      vary: "Accept",
    });
  });

  it("answers preflights as the Gateway API asks for it", async () => {
    await world().echo("shared-pages");
    const cors: Cors = {
      dialect: "gateway",
      allowOrigins: ["https://*.shop.example", "http://one.example:80"],
      allowMethods: ["GET"],
      allowHeaders: [],
      exposeHeaders: [],
      allowCredentials: false,
      maxAgeSeconds: 5,
    };
    const any = { allowOrigins: ["*"], allowMethods: ["*"], allowHeaders: ["*"] };
    const credentials = { ...cors, ...any, exposeHeaders: ["*"], allowCredentials: true };
    await world().hosts({
      "pages.example": [
        rule("/", "shared-pages", { cors }),
        rule("/any", "shared-pages", { cors: { ...cors, ...any } }),
        rule("/credentials", "shared-pages", { cors: credentials }),
        rule("/moved", "shared-pages", { cors, partRedirect: { status: 302, port: 81 } }),
      ],
    });
    const ask = async (target: string, origin: string, method?: string, asked?: string) => {
      const headers: Record<string, string> = { origin };
      if (method !== undefined) headers["access-control-request-method"] = method;
      if (asked !== undefined) headers["access-control-request-headers"] = asked;
      const { status, headers: answered } = await world().ask("pages.example", target, {
        method: method === undefined ? "GET" : "OPTIONS",
        headers,
      });
      const own = Object.entries(answered).flatMap(([name, value]) =>
        name.startsWith("access-control-") ? [`${name.slice(15)}: ${String(value)}`] : [],
      );
      return [status, ...own.sort()];
    };
    const of = (origin: string) => ["allow-methods: GET", `allow-origin: ${origin}`, "max-age: 5"];
    for (const origin of ["https://a.shop.example", "https://a.b.shop.example"]) {
      expect(await ask("/", origin, "GET")).toEqual([204, ...of(origin)]);
      expect(await ask("/", origin)).toEqual([200, ...of(origin)]);
      expect(await ask("/moved", origin)).toEqual([302, ...of(origin)]);
    }
    expect(await ask("/", "http://one.example", "GET")).toEqual([204, ...of("http://one.example")]);
    for (const origin of ["https://shop.example", "http://a.shop.example", "https://a.example"]) {
      expect(await ask("/", origin, "GET")).toEqual([204]);
      expect(await ask("/", origin)).toEqual([200]);
    }
    const page = "https://page.example";
    expect(await ask("/any", page, "PUT", "X-A, X-B")).toEqual([
      204,
      "allow-headers: *",
      "allow-methods: *",
      "allow-origin: *",
      "max-age: 5",
    ]);
    const withCredentials = [
      "allow-credentials: true",
      "max-age: 5",
      `allow-origin: ${page}`,
    ].sort();
    expect(await ask("/credentials", page, "PUT", "X-A, X-B")).toEqual([
      204,
      ...[...withCredentials, "allow-headers: X-A, X-B", "allow-methods: PUT"].sort(),
    ]);
    expect(await ask("/credentials", page)).toEqual([200, ...withCredentials]);
    const options = { method: "OPTIONS", headers: { origin: page } };
    expect((await world().ask("pages.example", "/", options)).status).toBe(200);
  });

  it("is closed when it asks for protection that there is not", async () => {
    await world().hosts({ "closed.example": [rule("/", "root", { closed: true })] });
    const { status, body } = await world().ask("closed.example");
    expect([status, body]).toEqual([
      503,
      "This route is closed because its access protection cannot be set up.\n",
    ]);
  });

  it("says in the access log why it answered itself", async () => {
    const { proxy } = world();
    await world().ask("nowhere.example", "/logged?reason");
    const { files } = proxy.environment;
    let line = "";
    await proxy.until(async () => {
      const log = Buffer.from((await files.read(`${proxy.prefix}/logs/access.log`)) ?? []);
      const lines = log.toString("utf8").split("\n");
      line = lines.find((one) => one.includes("/logged?reason")) ?? "";
      return line !== "";
    });
    expect(JSON.parse(line)).toMatchObject({ status: 404, reason: "no route", service: "" });
  });
});
