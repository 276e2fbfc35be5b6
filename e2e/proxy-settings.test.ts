// Settings that a few routes have: networks kept out or not counted, hosts that lead to others, and
// endpoints that answer with long headers. The others must not notice.
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import { headerOf, PolicyWorld, rule, serviceOf } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

describe.skipIf(withoutNginx !== false)("a route", () => {
  const world = PolicyWorld.forFile();

  it("keeps networks out, whatever it lets in", async () => {
    await world().echo("web");
    await world().hosts({
      "denied.example": [rule("/", "web", { denyFrom: ["127.0.8.0/21", "fd00::/8"] })],
      "some.example": [rule("/", "web", { denyFrom: ["127.1.1.1"], allowFrom: ["127.1.0.0/16"] })],
    });
    const statusOf = async (host: string, from: string) =>
      (await world().ask(host, "/", { from })).status;
    expect(await statusOf("denied.example", "127.0.0.1")).toBe(200);
    expect(await statusOf("denied.example", "127.0.8.0")).toBe(403);
    expect(await statusOf("denied.example", "127.0.15.255")).toBe(403);
    expect(await statusOf("denied.example", "127.0.16.0")).toBe(200);
    expect(await statusOf("some.example", "127.1.1.1")).toBe(403);
    expect(await statusOf("some.example", "127.1.1.2")).toBe(200);
    expect(await statusOf("some.example", "127.2.0.1")).toBe(403);
  });

  it("does not count clients of some networks", async () => {
    const rateLimit = { requestsPerSecond: 0.001, burst: 0, exceptFrom: ["127.0.9.0/24"] };
    await world().echo("web");
    await world().hosts({ "limited.example": [rule("/", "web", { rateLimit })] });
    const statuses = async (from: string) => {
      const found = [];
      for (let turn = 0; turn < 3; turn += 1) {
        found.push((await world().ask("limited.example", "/", { from })).status);
      }
      return found;
    };
    expect(await statuses("127.0.9.1")).toEqual([200, 200, 200]);
    expect(await statuses("127.0.10.1")).toEqual([200, 429, 429]);
  });

  it("leads to another host, by the scheme and the port by which the client came", async () => {
    const hostRedirect = { host: "shop.example", status: 308 } as const;
    await world().hosts({ "www.shop.example": [rule("/", "web", { hostRedirect })] });
    const placeOf = async (host: string, target: string) => {
      const { status, headers } = await world().ask(host, target);
      return `${status} ${headers["location"]}`;
    };
    expect(await placeOf("www.shop.example", "/")).toBe("308 http://shop.example/");
    expect(await placeOf("www.shop.example:8080", "/a%2Fb/?c=//d")).toBe(
      "308 http://shop.example:8080/a%2Fb/?c=//d",
    );
    expect(await placeOf("WWW.Shop.Example", "//evil.example")).toBe(
      "308 http://shop.example//evil.example",
    );
  });

  it("tells its endpoints the prefix that they do not see, whatever the client says", async () => {
    await world().echo("web");
    await world().hosts({
      "app.example": [rule("/app", "web", { rewrite: "/", forwardedPrefix: "/app" })],
      "plain.example": [rule("/", "web")],
      "large.example": [rule("/", "web", { largeHeaders: true })],
    });
    const forwarded = async (host: string) => {
      const headers = { "x-forwarded-prefix": "/evil", forwarded: "for=evil", "x-own": "kept" };
      const { body } = await world().ask(host, "/app", { headers });
      const lines = body.split("\r\n").slice(1);
      return lines.filter((line) =>
        /^(x-forwarded-(prefix|proto)|forwarded|x-own|host):/i.test(line),
      );
    };
    const others = (host: string) => [`Host: ${host}`, "X-Forwarded-Proto: http"];
    expect((await forwarded("app.example")).toSorted()).toEqual(
      [...others("app.example"), "X-Forwarded-Prefix: /app", "x-own: kept"].toSorted(),
    );
    for (const host of ["plain.example", "large.example"]) {
      expect((await forwarded(host)).toSorted()).toEqual(
        [...others(host), "x-own: kept"].toSorted(),
      );
    }
  });

  it("passes a body on as it comes where that is asked for", async () => {
    const endpoint = await PartwiseEndpoint.start();
    await world().service("partwise", [endpoint.peer]);
    await world().hosts({
      "streamed.example": [rule("/", "partwise", { streamBodies: true, maxBodyBytes: 20 })],
      "any.example": [rule("/", "partwise", { streamBodies: true, maxBodyBytes: 0 })],
    });
    const head = (length: number, host = "streamed.example") =>
      `POST / HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${length}\r\nConnection: close\r\n\r\n`;
    // Longer than nginx takes without being asked.
    const long = connect(world().proxy.port, "127.0.0.1");
    long.write(`${head(1_000_000_000, "any.example")}begun`);
    await endpoint.received("begun");
    long.destroy();
    const client = connect(world().proxy.port, "127.0.0.1");
    client.write(`${head(10)}first`);
    // Nothing more is sent before this has come.
    await endpoint.received("first");
    client.write("later");
    await endpoint.received("firstlater");
    const [answer] = await once(client, "data");
    expect(String(answer)).toMatch(/^HTTP\/1.1 200 /);
    client.destroy();
    expect(await world().raw(head(21), { answers: 1 })).toMatch(/^HTTP\/1.1 413 /);
    const chunked = { method: "POST", body: "0123456789", chunked: true };
    expect((await world().ask("streamed.example", "/", chunked)).status).toBe(200);
    endpoint.close();
  });

  it("has room for the long headers of its endpoints where that is asked for", async () => {
    const long = `X-Long: ${"x".repeat(100_000)}\r\n`;
    await world().echo("long", long);
    await world().echo("web");
    const cors = {
      allowOrigins: ["*"],
      allowMethods: ["GET"],
      allowHeaders: [],
      exposeHeaders: [],
      allowCredentials: false,
      maxAgeSeconds: 1,
    };
    await world().hosts({
      "usual.example": [rule("/", "long")],
      "large.example": [rule("/", "long", { largeHeaders: true })],
      "cors.example": [rule("/", "long", { largeHeaders: true, cors })],
      "short.example": [rule("/", "web", { largeHeaders: true, maxBodyBytes: 10 })],
    });
    const head = async (host: string) => {
      const request = `GET / HTTP/1.1\r\nHost: ${host}\r\nOrigin: http://a\r\nConnection: close\r\n\r\n`;
      const [text = ""] = (await world().raw(request)).split("\r\n\r\n");
      return { status: text.slice(9, 12), isWhole: text.includes(long.trim()), text };
    };
    expect(await head("usual.example")).toMatchObject({ status: "502", isWhole: false });
    expect(await head("large.example")).toMatchObject({ status: "200", isWhole: true });
    const crossing = await head("cors.example");
    expect(crossing).toMatchObject({ status: "200", isWhole: true });
    expect(crossing.text).toContain("Access-Control-Allow-Origin: *");
    expect(serviceOf(await world().ask("short.example"))).toBe("web");
    const small = { method: "POST", body: "x".repeat(10), chunked: true };
    expect((await world().ask("short.example", "/", small)).status).toBe(200);
    const post = { method: "POST", body: "x".repeat(11) };
    expect((await world().ask("short.example", "/", post)).status).toBe(413);
    expect((await world().ask("short.example", "/", { ...post, chunked: true })).status).toBe(413);
  });
});

describe.skipIf(withoutNginx !== false)("behind a proxy that is trusted, a route", () => {
  const world = PolicyWorld.forFile(async () => ({ trustedProxies: ["127.0.0.0/8"] }));

  it("tells its own prefix, and that of the proxy where it has none", async () => {
    await world().echo("web");
    await world().hosts({
      "app.example": [rule("/", "web", { forwardedPrefix: "/app" })],
      "plain.example": [rule("/", "web")],
      "large.example": [rule("/", "web", { largeHeaders: true })],
    });
    const forwarded = async (host: string) => {
      const headers = { "x-forwarded-prefix": "/before" };
      return headerOf(await world().ask(host, "/", { headers }), "x-forwarded-prefix");
    };
    expect(await forwarded("app.example")).toBe("/app");
    expect(await forwarded("plain.example")).toBe("/before");
    expect(await forwarded("large.example")).toBe("/before");
  });
});

/** Answers when it has ten bytes of a body, and can be waited for before that. */
class PartwiseEndpoint {
  readonly #server: Server;
  #body = "";
  #noticed: () => void = () => undefined;

  private constructor() {
    this.#server = createServer((socket) => {
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        this.#body = text.split("\r\n\r\n")[1] ?? "";
        if (this.#body.length === 10) socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        this.#noticed();
      });
    });
  }

  static async start(): Promise<PartwiseEndpoint> {
    const endpoint = new PartwiseEndpoint();
    endpoint.#server.listen(0, "127.0.77.201");
    await once(endpoint.#server, "listening");
    return endpoint;
  }

  get peer(): string {
    const { address, port } = this.#server.address() as AddressInfo;
    return `${address}:${port}`;
  }

  async received(body: string): Promise<void> {
    while (this.#body !== body) {
      await new Promise<void>((resolve) => {
        this.#noticed = resolve;
      });
    }
  }

  close(): void {
    this.#server.close();
  }
}
