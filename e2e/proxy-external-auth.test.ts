// External authentication by real nginx: the request to the auth service, its answers, and that no
// request passes without one.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { connect } from "node:http2";
import { createServer as createTcpServer } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ExternalAuth, RoutePolicy } from "../src/decide/route-policy.ts";
import { headerOf, PolicyWorld, rule, serviceOf } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const http2Address = "127.0.0.4";
const authAddress = "127.0.77.201";
/** No process listens there. */
const deadPeer = "127.0.77.202:9";

const servers: { close(): unknown }[] = [];

async function listening(server: Server | ReturnType<typeof createTcpServer>): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, authAddress, resolve));
  servers.push(server);
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no address");
  return `${authAddress}:${address.port}`;
}

describe.skipIf(withoutNginx !== false)("a route with external authentication", () => {
  const world = PolicyWorld.forFile(async ({ port }) => ({
    listen: [
      { address: "127.0.0.1", port },
      { address: http2Address, port, http2: true },
    ],
  }));
  let decide: (request: IncomingMessage, response: ServerResponse) => void;
  let seen: IncomingMessage[] = [];

  const guarded = async (host: string, auth: Partial<ExternalAuth>, policy: RoutePolicy = {}) => {
    const externalAuth = { host: "auth.tools.svc", path: "/check", ...auth };
    await world().hosts({ [host]: [rule("/", "web", { ...policy, externalAuth })] });
  };
  const byService: Partial<ExternalAuth> = { service: "tools/auth:80" };

  beforeAll(async () => {
    await world().echo("web");
    const peer = await listening(
      createServer((request, response) => {
        seen.push(request);
        decide(request, response);
      }),
    );
    await world().service("tools/auth:80", [peer]);
    await world().service("tools/half:80", [deadPeer, peer]);
    await world().service("tools/dead:80", [deadPeer]);
    const strange = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("HTTP/1.1 2000 what\r\n\r\n");
    });
    const endless = createTcpServer((socket) => {
      socket.on("error", () => undefined);
      socket.write(`HTTP/1.1 200 OK\r\nX-Long: ${"x".repeat(200 * 1024)}`);
    });
    await world().service("tools/strange:80", [await listening(strange)]);
    await world().service("tools/endless:80", [await listening(endless)]);
  });

  beforeEach(() => {
    seen = [];
    decide = (_, response) => response.writeHead(200).end("yes");
  });

  afterAll(() => {
    for (const server of servers) server.close();
  });

  it("passes what is permitted, and tells who decides what was asked for", async () => {
    await guarded("told.example", byService);
    const answer = await world().ask("told.example", "/a?b=c", {
      method: "POST",
      body: "all of it",
      headers: {
        cookie: "session=1",
        authorization: "Bearer x",
        "x-forwarded-for": "192.0.2.1",
        "x-original-url": "https://elsewhere.example/",
        "x-forwarded-uri": "/public",
        "X-Forwarded-Method": "GET",
        "x-own": "kept",
      },
    });
    expect([answer.status, serviceOf(answer)]).toEqual([200, "web"]);
    const { method, url, headers } = seen[0] ?? {};
    expect([seen.length, method, url]).toEqual([1, "GET", "/check"]);
    expect({ ...headers, "x-request-id": typeof headers?.["x-request-id"] }).toEqual({
      host: "auth.tools.svc",
      connection: "close",
      cookie: "session=1",
      authorization: "Bearer x",
      "x-own": "kept",
      "x-request-id": "string",
      "x-real-ip": "127.0.0.1",
      "x-forwarded-for": "127.0.0.1",
      "x-forwarded-host": "told.example",
      "x-forwarded-proto": "http",
      "x-forwarded-uri": "/a?b=c",
      "x-original-url": "http://told.example/a?b=c",
      "x-original-uri": "/a?b=c",
      "x-original-method": "POST",
      "x-scheme": "http",
      "x-auth-request-redirect": "/a?b=c",
      "x-lockstep-auth": "1",
    });
  });

  it("asks with the method and address that the route has", async () => {
    await guarded("form.example", {
      ...byService,
      path: "/check?for=$escaped_request_uri&at=$host",
      method: "HEAD",
      requestRedirect: "/home",
    });
    const { status } = await world().ask("form.example", "/a?b=c&d");
    const { method, url, headers } = seen[0] ?? {};
    expect([status, method, url, headers?.["x-auth-request-redirect"]]).toEqual([
      200,
      "HEAD",
      "/check?for=%2Fa%3Fb%3Dc%26d&at=form.example",
      "/home",
    ]);
  });

  it("gives the endpoint the headers that were asked for, and never the client's own", async () => {
    await guarded("headers.example", { ...byService, responseHeaders: ["X-User", "X-Groups"] });
    decide = (_, response) => response.writeHead(204, { "x-user": "ann", "x-other": "no" }).end();
    const answer = await world().ask("headers.example", "/", {
      headers: { "x-user": "root", "x-groups": "wheel" },
    });
    const names = ["x-user", "x-groups", "x-other"];
    expect(names.map((name) => headerOf(answer, name))).toEqual(["ann", undefined, undefined]);
  });

  it("refuses on request, with the challenge and cookies of the auth service", async () => {
    await guarded("refused.example", byService);
    const found: unknown[] = [];
    for (const status of [401, 403]) {
      decide = (_, response) => {
        const headers = { "www-authenticate": "Bearer", "set-cookie": ["a=1", "b=2"] };
        response.writeHead(status, headers).end("no");
      };
      const answer = await world().ask("refused.example");
      const { "www-authenticate": challenge, "set-cookie": cookies } = answer.headers;
      found.push([answer.status, challenge, cookies, answer.body]);
    }
    const cookies = ["a=1", "b=2"];
    expect(found).toEqual([
      [401, "Bearer", cookies, "Sign-in is required.\n"],
      [403, undefined, cookies, "This request is not permitted.\n"],
    ]);
  });

  it("redirects a client without a session to the sign-in page, with the way back", async () => {
    const signIn = "https://$host/start?rd=$pass_access_scheme://$http_host$escaped_request_uri";
    await guarded("sign.example", { ...byService, signIn });
    decide = (_, response) => response.writeHead(401).end();
    const { status, headers } = await world().ask("sign.example", "/a?b=c");
    expect([status, headers.location]).toEqual([
      302,
      "https://sign.example/start?rd=http://sign.example%2Fa%3Fb%3Dc",
    ]);
    decide = (_, response) => response.writeHead(403).end();
    expect((await world().ask("sign.example")).status).toBe(403);
  });

  it("gives clients the cookies of who decides, beside those of the endpoint's session", async () => {
    const affinity = { cookie: "session", mode: "balanced" } as const;
    await guarded("cookies.example", byService, {
      balance: { method: "round-robin", affinity },
      // Then the request goes over to another location.
      largeHeaders: true,
    });
    decide = (_, response) => response.writeHead(200, { "set-cookie": ["a=1", "b=2"] }).end();
    const { headers } = await world().ask("cookies.example");
    const names = headers["set-cookie"]?.map((cookie) => cookie.split("=")[0]);
    expect(names?.toSorted()).toEqual(["a", "b", "session"]);
  });

  it("lets no request pass without a clear answer", async () => {
    const services = ["tools/dead:80", "tools/strange:80", "tools/endless:80", "tools/missing:80"];
    const found: Record<string, unknown> = {};
    for (const service of services) {
      await guarded("unclear.example", { service });
      found[service] = (await world().ask("unclear.example")).status;
    }
    await guarded("unclear.example", byService);
    for (const status of [199, 302, 400, 404, 500]) {
      decide = (_, { socket }) => socket?.end(`HTTP/1.1 ${status} x\r\n\r\n`);
      found[status] = (await world().ask("unclear.example")).status;
    }
    const keys = [...services, 199, 302, 400, 404, 500];
    expect(found).toEqual(Object.fromEntries(keys.map((key) => [key, 503])));
  });

  it("asks another endpoint where one takes no connection, and skips it from then on", async () => {
    await guarded("half.example", { service: "tools/half:80" });
    const statuses: number[] = [];
    for (let number = 0; number < 4; number += 1) {
      statuses.push((await world().ask("half.example")).status);
    }
    expect([statuses, seen.length]).toEqual([[200, 200, 200, 200], 4]);
  });

  it("finds who decides by a host and path of the routes themselves", async () => {
    const namespaces = ["tools"];
    const externalAuth = { host: "$host", path: "/oauth2/auth", namespaces };
    await world().hosts({
      "own.example": [
        rule("/", "web", { externalAuth }),
        rule("/oauth2", "tools/auth:80"),
        rule("/else", "web", { externalAuth: { host: "nobody.example", path: "/", namespaces } }),
        rule("/shut", "web", { externalAuth: { host: "$host", path: "/closed", namespaces } }),
        rule("/closed", "tools/auth:80", { closed: true }),
      ],
    });
    const statuses: number[] = [];
    for (const target of ["/", "/oauth2/start", "/else", "/shut"]) {
      statuses.push((await world().ask("own.example", target)).status);
    }
    expect(statuses).toEqual([200, 200, 503, 503]);
    expect(seen.map(({ url, headers }) => [url, headers.host])).toEqual([
      ["/oauth2/auth", "own.example"],
      ["/oauth2/start", "own.example"],
    ]);
  });

  it("keeps the policy of the route that is asked, and asks none that it cannot keep", async () => {
    const auth = "tools/auth:80";
    const namespaces = ["tools"];
    const policies: Readonly<Record<string, RoutePolicy>> = {
      "/open": { upstreamHost: "inner.example" },
      "/listed": { allowFrom: ["127.0.0.9/32"] },
      "/denied": { denyFrom: ["127.0.0.1/32"] },
      "/limited": { rateLimit: { requestsPerSecond: 0.001, burst: 0 } },
      "/password": { basicAuth: { users: "tools/none", realm: "x" } },
      "/asking": { externalAuth: { service: auth, host: "a", path: "/" } },
      "/self": { externalAuth: { host: "sso.example", path: "/self", namespaces } },
      "/away": { redirect: { location: "/", status: 302 } },
      "/proved": { protocol: "https", verifyUpstream: true },
    };
    await world().hosts({
      "sso.example": Object.entries(policies).map(([path, policy]) => rule(path, auth, policy)),
      "*": [rule("/any", "other/auth:80")],
    });
    await world().service("other/auth:80", [deadPeer]);
    const statusAt = async (path: string, from = "127.0.0.1") => {
      const externalAuth = { host: "sso.example", path, namespaces };
      await world().hosts({ "app.example": [rule("/", "web", { externalAuth })] });
      return (await world().ask("app.example", "/", { from })).status;
    };
    const found: Record<string, number> = {};
    for (const path of Object.keys(policies)) found[path] = await statusAt(path);
    expect(found).toEqual({
      "/open": 200,
      "/listed": 403,
      "/denied": 403,
      "/limited": 200,
      "/password": 503,
      "/asking": 503,
      "/self": 503,
      "/away": 503,
      "/proved": 503,
    });
    expect(seen.map(({ url, headers }) => [url, headers.host])).toEqual([
      ["/open", "inner.example"],
      ["/limited", "sso.example"],
    ]);
    expect([await statusAt("/limited"), await statusAt("/listed", "127.0.0.9")]).toEqual([
      429, 200,
    ]);
  });

  it("asks no route of a namespace that it may not, nor by a path that could mean another", async () => {
    const auth = "tools/auth:80";
    await world().hosts({
      "sso.example": [rule("/", auth), rule("/admin", auth, { allowFrom: ["192.0.2.1/32"] })],
      "foreign.example": [rule("/", "other/auth:80")],
    });
    await world().service("other/auth:80", [deadPeer]);
    const statusAt = async (host: string, path: string, target = "/", namespaces = ["tools"]) => {
      const externalAuth = { host, path, namespaces };
      await world().hosts({ "app.example": [rule("/", "web", { externalAuth })] });
      return (await world().ask("app.example", target)).status;
    };
    expect([
      await statusAt("sso.example", "/", "/", ["shop"]),
      await statusAt("sso.example", "/", "/", []),
      await statusAt("sso.example", "/", "/", ["*"]),
      await statusAt("sso.example", "/%61dmin"),
      await statusAt("sso.example", "/x/../admin"),
      await statusAt("sso.example", "/x/..%5cadmin"),
      await statusAt("sso.example", "/x/%2e%2e/admin"),
      await statusAt("sso.example", "//admin"),
      await statusAt("sso.example", "/admin;x"),
      await statusAt("sso.example", "/x$request_uri", "/y/..%2fadmin"),
    ]).toEqual([503, 503, 200, 403, 503, 503, 503, 503, 503, 503]);
    expect(seen.length).toBe(1);
  });

  it("does not ask for a request that itself asks whether another may pass", async () => {
    await guarded("loop.example", byService);
    await world().ask("loop.example");
    const marked = Object.entries(seen[0]?.headers ?? {}).filter(([name]) =>
      name.startsWith("x-lockstep-"),
    );
    expect(marked.length).toBe(1);
    const headers = Object.fromEntries(marked.map(([name, value]) => [name, String(value)]));
    const { status } = await world().ask("loop.example", "/", { headers });
    expect([status, seen.length]).toEqual([503, 1]);
  });

  it("asks for requests over HTTP/2 as well", async () => {
    await guarded("h2.example", byService);
    const session = connect(`http://${http2Address}:${world().proxy.port}`);
    const statusFor = (status: number) =>
      new Promise<number | undefined>((resolve, reject) => {
        decide = (_, response) => response.writeHead(status).end();
        const stream = session.request({ ":path": "/a", ":authority": "h2.example" });
        stream.on("response", (headers) => resolve(headers[":status"]));
        stream.on("error", reject);
        stream.resume();
        stream.end();
      });
    try {
      expect([await statusFor(200), await statusFor(403)]).toEqual([200, 403]);
    } finally {
      session.close();
    }
  });

  it("refuses policies that would ask for something else than is meant", async () => {
    const policies: readonly object[] = [
      { path: "/" },
      { host: "a", path: "no path" },
      { host: "a", path: "/a b" },
      { host: "a\r\nb", path: "/" },
      { host: "a", path: "/", method: "GET /x HTTP/1.1\r\n" },
      { host: "a", path: "/", responseHeaders: ["Content-Length"] },
      { host: "a", path: "/", responseHeaders: ["Proxy-Authenticate"] },
      { host: "a", path: "/", namespaces: ["a b"] },
      { host: "a", path: "/", responseHeaders: ["X\r\nY"] },
    ];
    for (const externalAuth of policies) {
      const pushed = { "x.example/key": { externalAuth } };
      await expect(world().change(JSON.stringify({ policies: pushed }))).rejects.toMatchObject({
        code: "MALFORMED",
      });
    }
  });
});
