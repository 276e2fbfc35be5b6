// Connections that change their protocol, over real sockets.
import { once } from "node:events";
import { connect } from "node:net";
import { expect, it } from "vitest";
import type { Listener, ServerExchange } from "../network.ts";
import { nodeEnvironment } from "./node-environment.ts";

const host = "127.0.0.1";
const { network } = nodeEnvironment({ log: { write: () => undefined } });
const asking = (path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n`;

/** Sends all bytes back at `/echo`. */
async function answer(exchange: ServerExchange): Promise<void> {
  const { target, headers, body } = exchange.request;
  if (target !== "/echo") {
    exchange.respond(404).end(Buffer.from("none here"));
    return;
  }
  const writer = exchange.respond(101, {
    connection: "Upgrade",
    upgrade: headers["upgrade"] ?? "",
  });
  for await (const chunk of body) writer.write(chunk);
  writer.end();
}

async function whileListening(use: (listener: Listener) => Promise<void>): Promise<void> {
  const listener = await network.listen({ host, port: 0, upgrades: true }, answer);
  try {
    await use(listener);
  } finally {
    await listener.close();
  }
}

/** A connection, and everything that was received until `text` had come or it was closed. */
function client(port: number, first: string) {
  let got = "";
  const socket = connect({ host, port }, () => socket.write(first));
  socket.on("data", (chunk) => {
    got += chunk.toString("utf8");
  });
  const until = async (text: string): Promise<string> => {
    while (!got.includes(text)) await once(socket, "data");
    return got;
  };
  const closed = once(socket, "close").then(() => got);
  return { socket, until, closed };
}

it("carry bytes both ways after 101, also those that come with the request", () =>
  whileListening(async ({ port }) => {
    const { socket, until, closed } = client(port, `${asking("/echo")}one`);
    expect(await until("one")).toBe(
      "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: echo\r\n\r\none",
    );
    socket.write("two");
    await until("two");
    socket.end();
    expect(await closed).toMatch(/\r\n\r\nonetwo$/);
  }));

it("end after an answer that refuses the other protocol", () =>
  whileListening(async ({ port }) => {
    const { closed } = client(port, asking("/"));
    expect(await closed).toBe("HTTP/1.1 404 Not Found\r\nconnection: close\r\n\r\nnone here");
  }));

it("end with the listener", () =>
  whileListening(async (listener) => {
    const { until, closed } = client(listener.port, `${asking("/echo")}one`);
    await until("one");
    await listener.close();
    expect(await closed).toMatch(/one$/);
  }));
