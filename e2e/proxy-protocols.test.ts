// The protocols of real nginx on either side: HTTP/2, websocket, gRPC, HTTPS to the endpoints, the
// PROXY protocol, and its trust in forwarded headers.
import { webcrypto } from "node:crypto";
import { createServer as createHttp } from "node:http";
import { createServer as createHttp2, createSecureServer as createSecureHttp2 } from "node:http2";
import { createServer as createHttps } from "node:https";
import type { AddressInfo, Server } from "node:net";
import { afterAll, describe, expect, it } from "vitest";
import {
  type CertificateAuthority,
  makeAuthority,
} from "../src/apiserver/certificate-authority.ts";
import { headerOf, PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";
import {
  type Call,
  call,
  echoCall,
  exchange,
  proxyVersion2,
  talk,
  upgradingServer,
} from "./raw-clients.ts";

const tlsAddress = "127.0.0.2";
const proxyAddress = "127.0.0.3";
const http2Address = "127.0.0.4";
/** Connections from here come from a proxy that is trusted. */
const trusted = "127.0.9.1";

/** How node says that a server never closes a connection because it is idle. */
const forEver = 0;

let authority: CertificateAuthority;

describe.skipIf(withoutNginx !== false)("a proxy", () => {
  const world = PolicyWorld.forFile(async ({ environment, port, prefix }) => {
    const { clock, files } = environment;
    authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
    await files.write(`${prefix}/ca.pem`, authority.ca);
    return {
      listen: [
        { address: "127.0.0.1", port },
        { address: "::1", port },
        { address: tlsAddress, port, tls: true },
        { address: proxyAddress, port, proxyProtocol: true },
        { address: http2Address, port, http2: true },
      ],
      trustedProxies: ["127.0.9.0/24"],
      upstreamCa: `${prefix}/ca.pem`,
    };
  });
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close();
  });

  /** Listens on a loopback address; gives the peer. */
  const listening = async (server: Server, host: string): Promise<string> => {
    await new Promise<void>((resolve) => server.listen(0, host, resolve));
    servers.push(server);
    return `${host}:${(server.address() as AddressInfo).port}`;
  };
  const url = (scheme: string, address: string) => `${scheme}://${address}:${world().proxy.port}`;

  describe("about where a request came from", () => {
    const forwarded = [
      "X-Forwarded-For",
      "X-Forwarded-Proto",
      "X-Forwarded-Host",
      "X-Forwarded-Port",
    ];
    const claims = {
      "x-forwarded-for": "192.0.2.1, 127.0.9.7",
      "x-forwarded-proto": "https",
      "x-forwarded-host": "outside.example",
      "x-forwarded-prefix": "/prefix",
      forwarded: "for=192.0.2.1",
      "x-real-ip": "192.0.2.66",
      "x-request-id": "theirs",
      x_forwarded_for: "192.0.2.67",
      connection: "close, X-Real-IP, X-Forwarded-For",
    };

    it("replaces what a stranger says", async () => {
      await world().echo("seen");
      await world().hosts({ "seen.example": [rule("/", "seen")] });
      const answer = await world().ask("seen.example", "/", { headers: claims, from: "127.0.8.1" });
      const { port } = world().proxy;
      expect(forwarded.map((name) => headerOf(answer, name))).toEqual([
        "127.0.8.1",
        "http",
        "seen.example",
        String(port),
      ]);
      expect(headerOf(answer, "X-Real-IP")).toBe("127.0.8.1");
      expect(headerOf(answer, "X-Request-ID")).toMatch(/^[\da-f]{32}$/);
      // A client's claim is passed on as such, under a name that the client cannot set.
      expect(headerOf(answer, "X-Original-Forwarded-For")).toBe("192.0.2.1, 127.0.9.7");
      const rest = answer.body.replace(/^X-Original-Forwarded-For:.*$/m, "");
      expect(rest).not.toMatch(/192\.0\.2|outside|prefix|theirs|^Connection/m);
      const original = { "x-original-forwarded-for": "192.0.2.1" };
      const silent = await world().ask("seen.example", "/", { headers: original });
      expect(headerOf(silent, "X-Original-Forwarded-For")).toBeUndefined();
    });

    it("keeps what a trusted proxy says, and adds the proxy to the chain", async () => {
      const answer = await world().ask("seen.example", "/", { headers: claims, from: trusted });
      expect(forwarded.map((name) => headerOf(answer, name))).toEqual([
        "192.0.2.1, 127.0.9.7, 127.0.9.1",
        "https",
        "outside.example",
        "443",
      ]);
      expect(headerOf(answer, "X-Original-Forwarded-For")).toBe("192.0.2.1, 127.0.9.7");
      expect(headerOf(answer, "X-Real-IP")).toBe("192.0.2.1");
      expect(headerOf(answer, "Forwarded")).toBe("for=192.0.2.1, for=127.0.9.1");
      expect(headerOf(answer, "X-Forwarded-Prefix")).toBe("/prefix");
      expect(headerOf(answer, "X-Request-ID")).toBe("theirs");
    });

    it("takes the PROXY protocol's word, version 1 and 2, from trusted proxies alone", async () => {
      const request = "GET / HTTP/1.1\r\nHost: seen.example\r\nConnection: close\r\n\r\n";
      const place = { host: proxyAddress, port: world().proxy.port };
      const line = "PROXY TCP4 192.0.2.9 192.0.2.10 5000 80\r\n";
      const asked = async (from: string, head: string | Buffer) => {
        const body = await exchange({ ...place, localAddress: from }, [head, request]);
        return headerOf({ status: 200, headers: {}, body }, "X-Forwarded-For");
      };
      expect([
        await asked(trusted, line),
        await asked(trusted, proxyVersion2("192.0.2.11", "192.0.2.10")),
        await asked("127.0.8.1", line),
      ]).toEqual(["192.0.2.9", "192.0.2.11", "127.0.8.1"]);
      const without = await exchange({ ...place, localAddress: trusted }, [request]);
      expect(without).not.toContain("200 OK");
    });

    it("takes its word for the port that was reached, and 443 for TLS that was taken off", async () => {
      await world().hosts({
        "seen.example": [rule("/", "seen")],
        "safe.example": [rule("/", "seen", { httpsRedirect: 308 })],
      });
      const place = { host: proxyAddress, port: world().proxy.port };
      const asked = async (from: string, port: number, host: string) => {
        const line = `PROXY TCP4 192.0.2.9 192.0.2.10 5000 ${port}\r\n`;
        const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
        const body = await exchange({ ...place, localAddress: from }, [line, request]);
        const forwarded = (name: string) => headerOf({ status: 0, headers: {}, body }, name);
        return [body.slice(9, 12), forwarded("X-Forwarded-Port"), forwarded("X-Forwarded-Proto")];
      };
      const stranger = "127.0.8.1";
      expect([
        await asked(trusted, 1234, "seen.example"),
        await asked(trusted, 443, "seen.example"),
        await asked(trusted, 443, "safe.example"),
        await asked(trusted, 80, "safe.example"),
        await asked(stranger, 443, "seen.example"),
        await asked(stranger, 443, "safe.example"),
      ]).toEqual([
        ["200", "1234", "http"],
        ["200", "443", "https"],
        ["200", "443", "https"],
        ["308", undefined, undefined],
        ["200", String(place.port), "http"],
        ["308", undefined, undefined],
      ]);
    });

    it("sends a client to https by the name it asked a trusted proxy for", async () => {
      await world().hosts({ "inside.example": [rule("/", "seen", { httpsRedirect: 308 })] });
      const sentTo = async (from: string, name: string) => {
        const headers = { "x-forwarded-host": name };
        const { headers: forwarded } = await world().ask("inside.example", "/a?b=c", {
          headers,
          from,
        });
        return forwarded.location;
      };
      expect([
        await sentTo(trusted, "shop.example"),
        await sentTo(trusted, "shop.example:8080, other.example"),
        await sentTo(trusted, "shop.example/path"),
        await sentTo("127.0.8.1", "shop.example"),
      ]).toEqual([
        "https://shop.example/a?b=c",
        "https://shop.example/a?b=c",
        "https://inside.example/a?b=c",
        "https://inside.example/a?b=c",
      ]);
    });

    it("serves IPv6", async () => {
      const place = { host: "::1", port: world().proxy.port };
      const body = await exchange(place, [
        "GET / HTTP/1.1\r\nHost: seen.example\r\nConnection: close\r\n\r\n",
      ]);
      expect(headerOf({ status: 200, headers: {}, body }, "X-Forwarded-For")).toBe("::1");
    });
  });

  describe("with requests that are never repeated", () => {
    it.each([
      ["IPv4", ["127.0.77.105"]],
      ["IPv6", ["::1"]],
      ["both", ["127.0.77.106", "::1"]],
    ])("sends them to endpoints of %s, as others", async (family, addresses) => {
      const peers: string[] = [];
      for (const address of addresses) {
        const server = createHttp((request, response) => {
          response.end(`${request.method} ${address}`);
        });
        peers.push(await listening(server, address));
      }
      await world().service(family, peers);
      await world().hosts({ "family.example": [rule("/", family)] });
      for (const method of ["POST", "PATCH", "PUT", "GET"]) {
        const bodies = new Set<string>();
        for (let count = 0; count < 2 * addresses.length; count += 1) {
          const { status, body } = await world().ask("family.example", "/", { method });
          expect(status).toBe(200);
          bodies.add(body);
        }
        expect(bodies).toEqual(new Set(addresses.map((address) => `${method} ${address}`)));
      }
    });
  });

  describe("with a connection that is upgraded", () => {
    it("passes a websocket on in both ways, and ends it when it is silent for too long", async () => {
      const server = upgradingServer();
      const peer = await listening(server, "127.0.77.101");
      await world().service("socket", [peer]);
      await world().hosts({
        "socket.example": [rule("/", "socket")],
        "silent.example": [rule("/", "socket", { timeouts: { readMs: 1_000 } })],
      });
      const headOf = (host: string) =>
        `GET /chat HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\n` +
        "Upgrade: websocket\r\n\r\n";
      const place = { host: "127.0.0.1", port: world().proxy.port };
      const got = await talk(place, [headOf("socket.example"), "after 101"]);
      expect(got).toContain("101 Switching Protocols");
      expect(got).toContain("echo: after 101");
      expect(await exchange(place, [headOf("silent.example")])).toContain("101 Switching");
    });

    it("passes on no change to HTTP/2", async () => {
      await world().echo("plain");
      await world().hosts({ "plain.example": [rule("/", "plain")] });
      const answer = await world().ask("plain.example", "/", {
        headers: { connection: "Upgrade, HTTP2-Settings", upgrade: "h2c", "http2-settings": "AAA" },
      });
      expect(answer.body).not.toMatch(/^(Upgrade|Connection):/im);
    });
  });

  describe("for gRPC", () => {
    const message = Buffer.from([0, 0, 0, 0, 2, 8, 1]);
    const grpc: Call = { path: "/shop.Cart/Add", host: "grpc.example", message };

    it("carries messages and trailers, over TLS and over plain HTTP/2", async () => {
      const server = createHttp2();
      server.on("stream", (stream, { te, host }) => echoCall(stream, `${te} ${host}`));
      await world().service("grpc", [await listening(server, "127.0.77.102")]);
      await world().hosts({ "grpc.example": [rule("/", "grpc", { protocol: "grpc" })] });
      const expected = {
        status: 200,
        body: message.toString("hex"),
        trailers: { "grpc-status": "0", "grpc-message": "trailers grpc.example" },
      };
      expect(await call(url("https", tlsAddress), grpc)).toEqual(expected);
      expect(await call(url("http", http2Address), grpc)).toEqual(expected);
    });

    it("reaches endpoints with TLS, whether or not they must prove their name", async () => {
      const { cert, key } = await authority.issueServer(["grpcs.example"]);
      const server = createSecureHttp2({ cert, key });
      let asked = "";
      server.on("secureConnection", (socket) => {
        asked = String(socket.servername);
      });
      server.on("stream", (stream) => echoCall(stream, asked));
      await world().service("grpcs", [await listening(server, "127.0.77.103")]);
      const policy = { protocol: "grpcs", upstreamHost: "grpcs.example" } as const;
      await world().hosts({
        "loose.example": [rule("/", "grpcs", policy)],
        "strict.example": [rule("/", "grpcs", { ...policy, verifyUpstream: true })],
        "wrong.example": [rule("/", "grpcs", { protocol: "grpcs", verifyUpstream: true })],
      });
      const seen: unknown[] = [];
      for (const host of ["loose.example", "strict.example", "wrong.example"]) {
        const { status, trailers } = await call(url("https", tlsAddress), { ...grpc, host });
        seen.push([host, status, trailers["grpc-message"]]);
      }
      expect(seen).toEqual([
        ["loose.example", 200, "grpcs.example"],
        ["strict.example", 200, "grpcs.example"],
        ["wrong.example", 502, undefined],
      ]);
    });
  });

  describe("for endpoints with TLS", () => {
    it("asks by the route's name or the host, and verifies where it is wanted", async () => {
      const { cert, key } = await authority.issueServer(["inside.example", "both.example"]);
      const connections: string[] = [];
      const server = createHttps({ cert, key }, (request, response) => {
        response.end(`${request.headers.host} over ${String(connections.at(-1))}`);
      });
      server.keepAliveTimeout = forEver;
      server.on("secureConnection", (socket) => {
        connections.push(String(socket.servername));
      });
      await world().service("https", [await listening(server, "127.0.77.104")]);
      const inside = { protocol: "https", upstreamHost: "inside.example" } as const;
      const named = {
        protocol: "https",
        upstreamTlsName: "both.example",
        verifyUpstream: true,
      } as const;
      await world().hosts({
        "any.example": [rule("/", "https", { protocol: "https" })],
        "inside.test": [rule("/", "https", { ...inside, verifyUpstream: true })],
        "both.example": [rule("/", "https", { protocol: "https", verifyUpstream: true })],
        "named.test": [rule("/", "https", named)],
        "wrong.example": [rule("/", "https", { protocol: "https", verifyUpstream: true })],
      });
      const seen: string[] = [];
      const hosts = ["any.example", "inside.test", "both.example", "named.test", "wrong.example"];
      // Twice: a connection kept open for one name must not serve another.
      for (const host of [...hosts, ...hosts]) {
        const { status, body } = await world().ask(host, "/");
        seen.push(status === 200 ? body : String(status));
      }
      const once = [
        "any.example over any.example",
        "inside.example over inside.example",
        "both.example over both.example",
        "named.test over both.example",
        "502",
      ];
      expect(seen.slice(0, 5)).toEqual(once);
      expect(seen.slice(5).map((one) => one.split(" ")[0])).toEqual(
        once.map((one) => one.split(" ")[0]),
      );
      // The second round went over the connections of the first, but for the one that was refused.
      expect(connections.filter((name) => name !== "wrong.example")).toEqual([
        "any.example",
        "inside.example",
        "both.example",
      ]);
    });

    it("never shares a connection between two names, though they have one pool", async () => {
      const { cert, key } = await authority.issueServer(["*.pool.example"]);
      const server = createHttps({ cert, key }, (request, response) => {
        const { servername } = request.socket as { servername?: string };
        response.end(`${request.headers.host} ${servername}`);
      });
      server.keepAliveTimeout = forEver;
      let connections = 0;
      server.on("secureConnection", () => {
        connections += 1;
      });
      await world().service("pool", [await listening(server, "127.0.77.106")]);
      const names = Array.from({ length: 1000 }, (_, index) => `n${index}.pool.example`);
      const [first = ""] = names;
      const second = names.slice(1).find((name) => poolOf(name) === poolOf(first)) ?? "";
      const policy = { protocol: "https", verifyUpstream: true } as const;
      await world().hosts({
        [first]: [rule("/", "pool", policy)],
        [second]: [rule("/", "pool", policy)],
      });
      for (const host of [first, second, first, second]) {
        expect((await world().ask(host, "/")).body).toBe(`${host} ${host}`);
      }
      // The pool belongs to the first; the other has to connect each time.
      expect(connections).toBe(3);
    });

    it.each(["https", "grpcs"] as const)(
      "finds one of %s that takes no connection suspect, as one of http",
      async (protocol) => {
        const backend = await world().proxy.backend(`closed-${protocol}`);
        await backend.close();
        await world().service(`closed-${protocol}`, [backend.peer]);
        const host = `closed-${protocol}.example`;
        await world().hosts({ [host]: [rule("/", `closed-${protocol}`, { protocol })] });
        const control = world().proxy.control();
        const before = await control.suspects(undefined);
        expect((await world().ask(host)).status).toBe(502);
        // Answered when there is news.
        const after = await control.suspects(before.changes);
        expect(after.suspects.length).toBe(before.suspects.length + 1);
      },
    );

    it("refuses an endpoint that another authority vouches for", async () => {
      const { clock } = world().proxy.environment;
      const stranger = await makeAuthority({ clock, crypto: webcrypto, name: "stranger" });
      const { cert, key } = await stranger.issueServer(["forged.example"]);
      const server = createHttps({ cert, key }, (_, response) => void response.end("forged"));
      await world().service("forged", [await listening(server, "127.0.77.105")]);
      const policy = { protocol: "https", upstreamHost: "forged.example" } as const;
      await world().hosts({
        "loose.example": [rule("/", "forged", policy)],
        "strict.example": [rule("/", "forged", { ...policy, verifyUpstream: true })],
      });
      // An unverified connection is kept open, and must not serve where verification is needed.
      const statuses: number[] = [];
      for (const host of ["loose.example", "strict.example", "loose.example"]) {
        statuses.push((await world().ask(host, "/")).status);
      }
      expect(statuses).toEqual([200, 502, 200]);
    });
  });
});

/** As in proxy/lua/lockstep/upstream.lua. */
function poolOf(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) hash = (hash * 31 + byte) % 65_536;
  return hash % 32;
}
