// What the rules of HTTPRoutes ask for besides a service, by real nginx.
import { connect } from "node:http2";
import { createServer, type Server } from "node:net";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { PolicyWorld, rule } from "./policy-world.ts";
import { withoutNginx } from "./proxy-world.ts";

const http2Address = "127.0.0.4";

describe.skipIf(withoutNginx !== false)("a rule", () => {
  const world = PolicyWorld.forFile(async ({ port }) => ({
    listen: [
      { address: "127.0.0.1", port },
      { address: http2Address, port, http2: true },
    ],
  }));

  const servers: Server[] = [];

  afterAll(() => {
    for (const server of servers) server.close();
  });

  beforeAll(async () => {
    for (const name of ["main", "second", "third"]) await world().echo(name, "X-Own: echo\r\n");
  });

  const to = (service: string) => ({ service });

  const listening = async (server: Server, name: string) => {
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.77.200", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no address");
    await world().service(name, [`${address.address}:${address.port}`]);
  };

  /** A service that keeps the requests it gets; gives all once there are so many. */
  const copies = async (name: string) => {
    const seen: string[] = [];
    const server = createServer((socket) => {
      let text = "";
      socket.on("error", () => undefined);
      socket.on("data", (chunk) => {
        text += chunk.toString("latin1");
        const start = text.indexOf("\r\n\r\n") + 4;
        const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0);
        if (start < 4 || text.length < start + length) return;
        seen.push(text);
        socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
      });
    });
    await listening(server, name);
    return async (count: number) => {
      await vi.waitFor(() => expect(seen.length).toBeGreaterThanOrEqual(count), {
        timeout: 30_000,
      });
      return seen;
    };
  };

  it("changes headers for one of its services, besides those for all", async () => {
    const set = (value: string) => ({ set: [{ name: "X-Who", value }] });
    const add = (value: string) => ({ add: [{ name: "X-Own", value }] });
    await world().hosts({
      "shares.example": [
        rule("/", "main", {
          requestHeaders: { set: [{ name: "X-All", value: "yes" }] },
          responseHeaders: add("rule"),
          ownHeaders: { requestHeaders: set("main"), responseHeaders: add("main") },
          canaries: [
            // The same service twice, each with its own changes.
            { service: "second", weight: 1, weightTotal: 4, requestHeaders: set("a") },
            { service: "second", weight: 1, weightTotal: 3, responseHeaders: add("b") },
            { service: "third", weight: 1, weightTotal: 2 },
          ],
        }),
      ],
      "request.example": [rule("/", "main", { ownHeaders: { requestHeaders: set("main") } })],
      "moved.example": [
        rule("/", "main", { maxBodyBytes: 10, ownHeaders: { responseHeaders: add("main") } }),
      ],
    });
    const seen = async (host: string, asked: object = {}) => {
      const { headers, body } = await world().ask(host, "/", asked);
      const [service = ""] = body.split("\n");
      const own = ["x-all", "x-who"].map((name) => {
        return new RegExp(`^${name}: (.*)\r$`, "im").exec(body)?.[1] ?? "";
      });
      return [service, ...own, String(headers["x-own"])].join(" ");
    };
    const counts = new Map<string, number>();
    for (let count = 0; count < 40; count += 1) {
      const one = await seen("shares.example");
      counts.set(one, (counts.get(one) ?? 0) + 1);
    }
    expect(new Set(counts.keys())).toEqual(
      new Set([
        "main yes main echo,main,rule",
        "second yes a echo,rule",
        "second yes  echo,b,rule",
        "third yes  echo,rule",
      ]),
    );
    expect([...counts.values()].every((count) => Math.abs(count - 10) <= 4)).toBe(true);
    expect(await seen("request.example")).toBe("main  main echo");
    // Through the location in which a body is read, too.
    expect(await seen("moved.example")).toBe("main   echo,main");
    const chunked = { method: "POST", body: "x", chunked: true };
    expect(await seen("moved.example", chunked)).toBe("main   echo,main");
  });

  it("sends copies with the headers, the path and the body that the endpoint gets", async () => {
    const copied = await copies("copied");
    await copies("other");
    await world().hosts({
      "copied.example": [
        rule("/moved", "main", {
          partRedirect: { status: 302, port: 81 },
          mirrors: [to("copied")],
        }),
        rule("/", "main", {
          pathRewrite: { prefix: "/new path" },
          upstreamHost: "inner.example",
          requestHeaders: { set: [{ name: "X-All", value: "yes" }], remove: ["X-Gone"] },
          mirrors: [to("copied"), to("other"), to("missing")],
        }),
        rule("/plain", "main", { mirrors: [to("copied")] }),
      ],
    });
    const headers = { "x-gone": "1", "x-kept": "2", "x-forwarded-for": "10.9.9.9" };
    expect((await world().ask("copied.example", "/moved")).status).toBe(302);
    expect((await world().ask("copied.example", "/a%2Fb?q=1", { headers })).status).toBe(200);
    const [first = ""] = await copied(1);
    expect(first.split("\r\n")[0]).toBe("GET /new%20path/a/b?q=1 HTTP/1.1");
    const lines = first.toLowerCase().split("\r\n");
    for (const line of ["host: inner.example", "x-all: yes", "x-kept: 2"]) {
      expect(lines).toContain(line);
    }
    expect(lines).toContain("x-forwarded-for: 127.0.0.1");
    expect(lines.filter((line) => /^(x-gone|content-length|transfer)/.test(line))).toEqual([]);
    const long = "x".repeat(200_000);
    for (const [body, chunked] of [
      ["short", false],
      ["short", true],
      [long, false],
      [long, true],
    ] as const) {
      const asked = { method: "POST", body, chunked };
      expect((await world().ask("copied.example", "/plain/a%2Fb", asked)).status).toBe(200);
    }
    // Each has its own connection, so they may arrive in another order.
    const posts = (await copied(5)).slice(1).sort((a, b) => a.length - b.length);
    expect(posts.map((text) => text.split("\r\n")[0])).toEqual(
      Array.from({ length: 4 }, () => "POST /plain/a%2Fb HTTP/1.1"),
    );
    expect(posts.map((text) => text.slice(text.indexOf("\r\n\r\n") + 4).length)).toEqual([
      5, 5, 200_000, 200_000,
    ]);
  });

  it("copies requests of HTTP/2, which need not say how long they are", async () => {
    const copied = await copies("copied-http2");
    await world().hosts({
      "http2.example": [rule("/", "main", { mirrors: [to("copied-http2")] })],
    });
    const session = connect(`http://${http2Address}:${world().proxy.port}`);
    const ask = (method: string, body: string) =>
      new Promise<number>((resolve, reject) => {
        const headers = { ":method": method, ":path": "/", ":authority": "http2.example" };
        const request = session.request(headers, { endStream: body === "" });
        request.on("response", (answer) => resolve(Number(answer[":status"])));
        request.on("error", reject);
        request.resume();
        if (body !== "") request.end(body);
      });
    expect([await ask("GET", ""), await ask("POST", "text"), await ask("POST", "")]).toEqual([
      200, 200, 200,
    ]);
    session.close();
    const bodies = (await copied(3)).map(
      (text) => `${text.split(" ")[0]} ${text.slice(text.indexOf("\r\n\r\n") + 4)}`,
    );
    expect(bodies.sort()).toEqual(["GET ", "POST ", "POST text"]);
  });

  it("copies no stream, whose body has no end", async () => {
    const copied = await copies("copied-stream");
    const mirrors = [to("copied-stream")];
    await world().hosts({
      "stream.example": [
        rule("/", "main", { protocol: "grpc", mirrors }),
        rule("/last", "main", { mirrors }),
      ],
    });
    // The endpoint speaks no gRPC.
    expect((await world().ask("stream.example")).status).toBe(502);
    expect((await world().ask("stream.example", "/last")).status).toBe(200);
    const targets = (await copied(1)).map((text) => text.split(" ")[1]);
    expect(targets).toEqual(["/last"]);
  });

  it("copies no copy that comes back to it", async () => {
    const seen = await copies("round");
    await world().service("itself", [`127.0.0.1:${world().proxy.port}`]);
    const mirrors = [to("itself"), to("itself")];
    await world().hosts({ "round.example": [rule("/", "round", { mirrors })] });
    for (const target of ["/first", "/second"]) await world().ask("round.example", target);
    const kind = (text: string) => (/^x-lockstep-copy: 1\r$/im.test(text) ? "copy" : "request");
    // The copies of the first request would have had theirs by now.
    await vi.waitFor(async () => {
      const seconds = (await seen(6)).filter((text) => text.startsWith("GET /second "));
      expect(seconds.map(kind).sort()).toEqual(["copy", "copy", "request"]);
    });
    const firsts = (await seen(6)).filter((text) => text.startsWith("GET /first "));
    expect(firsts.map(kind).sort()).toEqual(["copy", "copy", "request"]);
  });

  it("copies the share of requests that it names", async () => {
    const copied = await copies("shared");
    const mirrors = [{ ...to("shared"), weight: 1, weightTotal: 4 }];
    await world().hosts({ "some.example": [rule("/", "main", { mirrors })] });
    for (let count = 0; count < 40; count += 1) await world().ask("some.example");
    // The shares of the golden ratio are even over every stretch of requests.
    expect(Math.abs((await copied(8)).length - 10)).toBeLessThanOrEqual(2);
  });

  it("answers as if there were no copies when these find nothing, or find no end", async () => {
    let open = 0;
    const silent = createServer((socket) => {
      open += 1;
      socket.on("error", () => undefined);
    });
    await listening(silent, "silent");
    await world().service("refusing", ["127.0.77.202:9"]);
    await world().service("nobody", []);
    const mirrors = ["silent", "refusing", "nobody"].map(to);
    const many = Array.from({ length: 200 }, () => to("silent"));
    await world().hosts({
      "alone.example": [rule("/", "main", { mirrors })],
      "busy.example": [rule("/", "main", { mirrors: many })],
    });
    for (let count = 0; count < 5; count += 1) {
      const { status } = await world().ask("alone.example", "/", { method: "POST", body: "x" });
      expect(status).toBe(200);
    }
    expect((await world().ask("busy.example")).status).toBe(200);
    // As many as may be under way for one namespace, and no more; a marked endpoint changes nothing.
    await vi.waitFor(() => expect(open).toBe(128), { timeout: 30_000 });
    expect((await world().ask("busy.example")).status).toBe(200);
    expect(open).toBe(128);
  });

  it("tries again after the answers that it names, as often as it says", async () => {
    let answers: readonly number[] = [];
    const seen: string[] = [];
    for (const [service, names] of [
      ["flaky", ["a"]],
      ["pair", ["a", "b"]],
    ] as const) {
      const peers: string[] = [];
      for (const name of names) {
        const { peer } = await world().proxy.backend(`${service}-${name}`, (exchange) => {
          const status = answers[seen.length] ?? 200;
          seen.push(name);
          exchange.respond(status).end(Buffer.from(`answer ${seen.length}`));
        });
        peers.push(peer);
      }
      await world().service(service, peers);
    }
    await world().hosts({
      "retry.example": [
        rule("/500", "flaky", { retryOn: [500], tries: 4 }),
        rule("/all", "flaky", { retryOn: [500, 502, 503, 504] }),
        rule("/pair", "pair", { retryOn: [503], tries: 4 }),
        rule("/none", "flaky"),
      ],
    });
    const marked = async () => {
      const { suspects } = await world().proxy.control().suspects(undefined);
      return suspects.map(({ slot }) => slot);
    };
    const before = await marked();
    const ask = async (target: string, statuses: readonly number[], asked: object = {}) => {
      answers = statuses;
      seen.length = 0;
      const { status, body } = await world().ask("retry.example", target, asked);
      return [status, body, seen.length];
    };
    expect(await ask("/500", [500, 500, 500])).toEqual([200, "answer 4", 4]);
    // The last answer is the endpoint's own.
    expect(await ask("/500", [500, 500, 500, 500, 500])).toEqual([500, "answer 4", 4]);
    expect(await ask("/500", [503])).toEqual([503, "answer 1", 1]);
    expect(await ask("/500", [500, 503])).toEqual([503, "answer 2", 2]);
    for (const status of [500, 502, 503, 504]) {
      expect(await ask("/all", [status, status])).toEqual([200, "answer 3", 3]);
      expect(await ask("/all", [status, status, status])).toEqual([status, "answer 3", 3]);
    }
    expect(await ask("/none", [500])).toEqual([500, "answer 1", 1]);
    const post = { method: "POST", body: "x" };
    expect(await ask("/500", [500], post)).toEqual([500, "answer 1", 1]);
    const put = { method: "PUT", body: "x".repeat(100_000) };
    expect(await ask("/500", [500], put)).toEqual([200, "answer 2", 2]);
    expect(await ask("/500", [500], { ...put, chunked: true })).toEqual([200, "answer 2", 2]);
    // Another endpoint first, then those that were tried.
    expect(await ask("/pair", [503, 503, 503])).toEqual([200, "answer 4", 4]);
    expect(new Set(seen.slice(0, 2))).toEqual(new Set(["a", "b"]));
    expect(new Set(seen.slice(2))).toEqual(new Set(["a", "b"]));
    // An answer proves that the endpoint can be reached: none of them is marked.
    expect(await marked()).toEqual(before);
  });
});
