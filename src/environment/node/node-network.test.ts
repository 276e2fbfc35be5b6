// The network contract over real sockets, and what only real sockets can show: pools, leaks, and
// peers that do not speak HTTP properly.
import { getEventListeners } from "node:events";
import { createServer, type Server } from "node:net";
import { describe, expect, it } from "vitest";
import {
  failureOf,
  readAll,
  readText,
  whileServing,
} from "../../../tests/network/network-world.ts";
import type { Environment } from "../environment.ts";
import type { LogFields } from "../log.ts";
import { networkContract } from "../network.contract.ts";
import type { ServerExchange } from "../network.ts";
import { nodeEnvironment } from "./node-environment.ts";

const host = "127.0.0.1";

describe("the real network", () => {
  networkContract(async (test) => {
    const environment = quietEnvironment();
    await test({ client: environment, server: environment, serverHost: host });
  });
});

describe("connections", () => {
  it("are used again when a response was read to its end", async () => {
    const environment = quietEnvironment();
    const peers = new Set<string>();
    await whileServing(worldOf(environment), notePeer(peers), async ({ network, url }) => {
      for (let count = 0; count < 20; count += 1) {
        await readAll((await network.request({ method: "GET", url: `${url}/` })).body);
      }
    });
    expect(peers.size).toBe(1);
  });

  it("take a request line that is as long as Go's servers would take", async () => {
    const handler = (exchange: ServerExchange): void => {
      exchange.respond(200).end(Buffer.from(String(exchange.request.target.length)));
    };
    await whileServing(worldOf(quietEnvironment()), handler, async ({ network, url }) => {
      const long = "x".repeat(500_000);
      const { body } = await network.request({ method: "GET", url: `${url}/?${long}` });
      expect(await readText(body)).toBe("500002");
    });
  });

  it("are used again after an unread answer without a body", async () => {
    const environment = quietEnvironment();
    const peers = new Set<string>();
    const handler = (exchange: ServerExchange): void => {
      peers.add(exchange.request.peer);
      exchange.respond(204).end();
    };
    await whileServing(worldOf(environment), handler, async ({ network, url }) => {
      for (let count = 0; count < 5; count += 1) {
        await network.request({ method: "DELETE", url: `${url}/` });
        await environment.timers.breathe();
      }
    });
    expect(peers.size).toBe(1);
  });

  it("leave no socket and no listener behind when a thousand requests are aborted", async () => {
    const environment = quietEnvironment();
    const server = createServer((socket) => {
      socket.resume().on("error", () => undefined);
    });
    // Another test file in this process may have left some that wait for their idle time.
    const before = openSockets();
    const url = await listenRaw(server);
    for (let batch = 0; batch < 10; batch += 1) {
      const controllers = Array.from({ length: 100 }, () => new AbortController());
      const failures = controllers.map(({ signal }) =>
        failureOf(environment.network.request({ method: "GET", url, signal })),
      );
      await environment.timers.sleep(5);
      for (const controller of controllers) controller.abort(new Error("not wanted"));
      const codes = new Set((await Promise.all(failures)).map(({ code }) => code));
      expect([...codes]).toEqual(["ABORTED"]);
    }
    // Those of the server too, which on a busy machine has yet to accept some of them.
    await expect.poll(openSockets, { timeout: 60_000 }).toBeLessThanOrEqual(before);
    server.close();
  });

  it("do not pile up listeners on a signal that outlives many requests", async () => {
    const environment = quietEnvironment();
    const { signal } = new AbortController();
    await whileServing(worldOf(environment), notePeer(new Set()), async ({ network, url }) => {
      for (let count = 0; count < 10; count += 1) {
        await readAll((await network.request({ method: "GET", url: `${url}/`, signal })).body);
      }
      await failureOf(network.request({ method: "GET", url: "http://127.0.0.1:1/", signal }));
    });
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("that the server closed while idle are replaced without the caller noticing", async () => {
    const { network } = quietEnvironment();
    const { server, served } = closingServer();
    const url = await listenRaw(server);
    expect(await readText((await network.request({ method: "GET", url })).body)).toBe("1");
    expect(await readText((await network.request({ method: "GET", url })).body)).toBe("2");
    expect(served.connections).toBe(2);
    server.close();
  });

  it("that the server closed under a write are reported, for the write may have been made", async () => {
    const { network } = quietEnvironment();
    const { server } = closingServer();
    const url = await listenRaw(server);
    await readText((await network.request({ method: "GET", url })).body);
    const error = await failureOf(network.request({ method: "POST", url, body: Buffer.from("x") }));
    expect(error.code).toBe("RESET");
    server.close();
  });

  it("give up when the peer never answers the attempt", async () => {
    const { network } = quietEnvironment();
    // Takes the connection and never the handshake.
    const server = createServer((socket) => socket.on("error", () => undefined));
    const url = (await listenRaw(server)).replace("http:", "https:");
    const attempt = network.request({ method: "GET", url, connectTimeoutMs: 50 });
    const error = await failureOf(attempt);
    expect({ code: error.code, message: error.message }).toEqual({
      code: "DEAD_PEER",
      message: `GET ${url}: the peer does not answer; check the host, the network and firewalls`,
    });
    server.close();
  });
});

describe("a peer that is not orderly", () => {
  it.each([
    ["a chunked body cut off", "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n", "RESET"],
    ["a body shorter than announced", "content-length: 100\r\n\r\nhello", "RESET"],
    ["a chunk that is not one", "transfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n", "NOT_HTTP"],
  ])("fails the reader: %s", async (_, answer, code) => {
    const { network } = quietEnvironment();
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\n${answer}`));
    });
    const url = await listenRaw(server);
    const attempt = network.request({ method: "GET", url }).then(({ body }) => readAll(body));
    expect((await failureOf(attempt)).code).toBe(code);
    server.close();
  });

  it("is not even looked for when the URL is none", async () => {
    const { network } = quietEnvironment();
    const error = await failureOf(network.request({ method: "GET", url: "not a url" }));
    expect({ code: error.code, message: error.message }).toEqual({
      code: "FAILED",
      message: "GET not a url: Invalid URL",
    });
  });

  it("is named when it does not speak HTTP at all", async () => {
    const { network } = quietEnvironment();
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.end("220 mail.example ESMTP\r\n");
    });
    const url = await listenRaw(server);
    const error = await failureOf(network.request({ method: "GET", url }));
    expect({ code: error.code, message: error.message }).toEqual({
      code: "NOT_HTTP",
      message: `GET ${url}: the peer does not answer with HTTP; it may be an HTTPS port`,
    });
    server.close();
  });

  it("may repeat a header, which is joined, and name its connection, which is not shown", async () => {
    const { network } = quietEnvironment();
    const server = createServer((socket) => {
      socket.once("data", () =>
        socket.end(
          "HTTP/1.1 200 OK\r\nWarning: one\r\nWARNING: two\r\nSet-Cookie: a=1\r\n" +
            "Set-Cookie: b=2\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
        ),
      );
    });
    const url = await listenRaw(server);
    const response = await network.request({ method: "GET", url });
    expect(await readText(response.body)).toBe("ok");
    expect(response.headers).toEqual({
      "content-length": "2",
      "set-cookie": "a=1, b=2",
      warning: "one, two",
    });
    server.close();
  });
});

describe("a handler that fails", () => {
  it("leaves one line in the log and tells the client nothing of the inside", async () => {
    const lines: string[] = [];
    const environment = nodeEnvironment({
      log: { format: "json", write: (line) => lines.push(line) },
    });
    const handler = (): never => {
      throw new Error("the inside");
    };
    await whileServing(worldOf(environment), handler, async ({ network, url }) => {
      const response = await network.request({ method: "GET", url: `${url}/path` });
      expect(await readText(response.body)).toBe("internal error\n");
    });
    const logged = lines.map((line): LogFields => JSON.parse(line));
    expect(logged).toMatchObject([
      {
        level: "error",
        message: "a handler failed",
        method: "GET",
        target: "/path",
        error: { message: "the inside" },
      },
    ]);
  });
});

function quietEnvironment(): Environment {
  return nodeEnvironment({ log: { write: () => undefined } });
}

function worldOf(environment: Environment) {
  return { client: environment, server: environment, serverHost: host };
}

function notePeer(peers: Set<string>): (exchange: ServerExchange) => void {
  return (exchange) => {
    peers.add(exchange.request.peer);
    exchange.respond(200).end(Buffer.from("ok"));
  };
}

/** Answers one request on each connection as if it would stay, and resets it at the second. */
function closingServer(): { server: Server; served: { connections: number } } {
  const served = { connections: 0 };
  const server = createServer((socket) => {
    served.connections += 1;
    const body = String(served.connections);
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`);
      socket.once("data", () => socket.resetAndDestroy());
    });
  });
  return { server, served };
}

async function listenRaw(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not listening");
  return `http://${host}:${address.port}/`;
}

/** Connections this process has open, by Node's own count; idle ones in a pool do not count. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
}
