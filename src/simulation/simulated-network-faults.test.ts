// Faults that are rare on a real network: each fault, and its effect and time on both sides.
import { describe, expect, test } from "vitest";
import type { Environment } from "../environment/environment.ts";
import { type BodyWriter, NetworkError, type ServerExchange } from "../environment/network.ts";
import { uniformLatency } from "./network/link.ts";
import { type Simulation, simulate } from "./simulation.ts";

/** An observation of one side, and its whole virtual millisecond. */
interface Seen {
  readonly text: string;
  readonly end: string;
  readonly atMs: number;
}

interface Stream {
  readonly writer: BodyWriter;
  /** Settles when the client's body ends or fails. */
  readonly client: Promise<Seen>;
  /** Settles when the server's exchange is over. */
  readonly server: Promise<number>;
}

/** An open answer from `server` to `client`, with "hello " on the way. */
async function openStream(simulation: Simulation): Promise<Stream> {
  const { network } = simulation.host("server");
  const accepted = new Promise<ServerExchange>((resolve) => {
    void network.listen({ host: "server", port: 80 }, resolve);
  });
  const client = read(simulation, simulation.host("client"), "http://server/");
  const exchange = await accepted;
  const { closed } = exchange.request;
  const server = new Promise<number>((resolve) => {
    closed.addEventListener("abort", () => resolve(Math.round(simulation.now())));
  });
  const writer = exchange.respond(200);
  writer.write(Buffer.from("hello "));
  await simulation.sleep(10);
  return { writer, client, server };
}

/** Asks and reads to the end, or to the failure. */
async function read(simulation: Simulation, from: Environment, url: string): Promise<Seen> {
  let text = "";
  try {
    const response = await from.network.request({ method: "GET", url });
    for await (const chunk of response.body) text += Buffer.from(chunk).toString();
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    return { text, end: error.code, atMs: Math.round(simulation.now()) };
  }
  return { text, end: "end", atMs: Math.round(simulation.now()) };
}

function run<Result>(main: (simulation: Simulation) => Promise<Result>): Promise<Result> {
  return simulate({ seed: 1 }, main);
}

describe("a reset", () => {
  test("is seen by both sides at once", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      const atMs = Math.round(simulation.now());
      simulation.network.resetConnections("client", "server");
      expect(await stream.client).toEqual({ text: "hello ", end: "RESET", atMs });
      expect(await stream.server).toBe(atMs);
    }));
});

describe("a partition", () => {
  test("kills open exchanges on both sides after the dead peer time", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      const atMs = Math.round(simulation.now()) + 15_000;
      simulation.network.partition("client", "server");
      stream.writer.write(Buffer.from("never seen"));
      expect(await stream.client).toEqual({ text: "hello ", end: "DEAD_PEER", atMs });
      expect(await stream.server).toBe(atMs);
    }));

  test("one way kills as well, for want of acknowledgement", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      const atMs = Math.round(simulation.now()) + 15_000;
      simulation.network.partitionOneWay("client", "server");
      stream.writer.write(Buffer.from("seen"));
      expect(await stream.client).toEqual({ text: "hello seen", end: "DEAD_PEER", atMs });
      expect(await stream.server).toBe(atMs);
    }));

  test("that heals in time loses nothing and keeps the order", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      stream.writer.write(Buffer.from("in flight "));
      simulation.network.partition("client", "server");
      for (const word of ["one ", "two ", "three"]) {
        await simulation.sleep(4_000);
        stream.writer.write(Buffer.from(word));
      }
      stream.writer.end();
      const healedMs = simulation.now();
      simulation.network.heal("client", "server");
      const seen = await stream.client;
      expect(seen).toMatchObject({ text: "hello in flight one two three", end: "end" });
      expect(seen.atMs - healedMs).toBeLessThan(2);
    }));

  test("fails a new exchange after the connection attempt's time", () =>
    run(async (simulation) => {
      await openStream(simulation);
      simulation.network.partition("client", "server");
      await simulation.sleep(5_000);
      const atMs = Math.round(simulation.now()) + 15_000;
      const seen = await read(simulation, simulation.host("client"), "http://server/");
      expect(seen).toEqual({ text: "", end: "DEAD_PEER", atMs });
    }));

  test("ends a connection attempt when its caller will wait no longer", () =>
    run(async (simulation) => {
      const { network } = simulation.host("client");
      simulation.host("server");
      simulation.network.partition("client", "server");
      const url = "http://server/";
      const attempt = network.request({ method: "GET", url, connectTimeoutMs: 1_000 });
      await expect(attempt).rejects.toMatchObject({ code: "DEAD_PEER" });
      expect(Math.round(simulation.now())).toBe(1_000);
    }));

  test("lets a connection attempt through that it held, once healed", () =>
    run(async (simulation) => {
      const targets: string[] = [];
      await simulation.host("server").network.listen({ host: "server", port: 80 }, (exchange) => {
        targets.push(exchange.request.target);
        exchange.respond(200).end();
      });
      const client = simulation.host("client");
      simulation.network.partitionOneWay("server", "client");
      const controller = new AbortController();
      const { signal } = controller;
      const given = client.network
        .request({ method: "GET", url: "http://server/given-up", signal })
        .catch((error: NetworkError) => error.code);
      const kept = read(simulation, client, "http://server/kept");
      await simulation.sleep(3_000);
      controller.abort();
      expect(targets).toEqual([]);
      simulation.network.heal("client", "server");
      expect(await given).toBe("ABORTED");
      expect(await kept).toMatchObject({ end: "end" });
      expect(targets).toEqual(["/kept"]);
    }));

  test("starts again when it returns: two short ones do not add up", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      for (let round = 0; round < 3; round++) {
        simulation.network.partition("client", "server");
        await simulation.sleep(10_000);
        simulation.network.heal("client", "server");
        await simulation.sleep(10);
      }
      stream.writer.end(Buffer.from("alive"));
      expect(await stream.client).toMatchObject({ text: "hello alive", end: "end" });
    }));

  test("of one host from all others holds for hosts it never met", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      simulation.network.isolate("server");
      const stranger = read(simulation, simulation.host("stranger"), "http://server/");
      expect((await stranger).end).toBe("DEAD_PEER");
      expect((await stream.client).end).toBe("DEAD_PEER");
      expect(simulation.network.openExchanges()).toBe(0);
      simulation.network.rejoin("server");
      simulation.crash("server");
      expect((await read(simulation, simulation.host("client"), "http://server/")).end).toBe(
        "REFUSED",
      );
    }));
});

describe("a stall", () => {
  test("is not noticed, and delivers everything when it ends", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      simulation.network.stall("server", "client");
      stream.writer.end(Buffer.from("late"));
      await simulation.sleep(3_600_000);
      const atMs = Math.round(simulation.now());
      simulation.network.unstall("server", "client");
      const seen = await stream.client;
      expect(seen).toMatchObject({ text: "hello late", end: "end" });
      expect(seen.atMs).toBeGreaterThanOrEqual(atMs);
    }));

  test("of open connections leaves new ones alone; of all it does not", () =>
    run(async (simulation) => {
      const { network } = simulation.host("server");
      await network.listen({ host: "server", port: 80 }, (exchange) => {
        exchange.respond(200).end(Buffer.from("ok"));
      });
      const ask = () => read(simulation, simulation.host("client"), "http://server/");
      simulation.network.stall("server", "client");
      expect(await ask()).toMatchObject({ text: "ok", end: "end" });
      simulation.network.stall("server", "client", "all");
      const stalled = ask();
      await simulation.sleep(60_000);
      simulation.network.unstall("server", "client");
      const seen = await stalled;
      expect(seen).toMatchObject({ text: "ok", end: "end" });
      expect(seen.atMs).toBeGreaterThan(60_000);
    }));
});

describe("a crash", () => {
  test("of the server's processes resets its clients, and then refuses them", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      simulation.crash("server");
      expect(await stream.client).toMatchObject({ text: "hello ", end: "RESET" });
      const again = await read(simulation, simulation.host("client"), "http://server/");
      expect(again.end).toBe("REFUSED");
      expect(simulation.network.openExchanges()).toBe(0);
    }));

  test("of the client tells the server", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      const atMs = simulation.now();
      simulation.crash("client");
      expect((await stream.server) - atMs).toBeLessThanOrEqual(2);
      expect(simulation.network.openExchanges()).toBe(0);
    }));

  test("of a whole machine is found out by keep-alive, on either side", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      const atMs = Math.round(simulation.now()) + 15_000;
      simulation.crash("server", { vanish: true });
      const attempt = read(simulation, simulation.host("client"), "http://server/");
      expect(await stream.client).toEqual({ text: "hello ", end: "DEAD_PEER", atMs });
      expect(await attempt).toEqual({ text: "", end: "DEAD_PEER", atMs });
      const second = await openStream(simulation);
      const secondMs = Math.round(simulation.now()) + 15_000;
      simulation.crash("client", { vanish: true });
      expect(await second.server).toBe(secondMs);
    }));

  test("of a machine that is soon back shows as a reset when it is back", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      simulation.crash("server", { vanish: true });
      await simulation.sleep(5_000);
      const atMs = Math.round(simulation.now());
      simulation.host("server");
      expect(await stream.client).toEqual({ text: "hello ", end: "RESET", atMs });
    }));
});

describe("the way of a message", () => {
  test("a request whose caller gave up may still arrive", () =>
    run(async (simulation) => {
      const targets: string[] = [];
      await simulation.host("server").network.listen({ host: "server", port: 80 }, (exchange) => {
        targets.push(exchange.request.target);
      });
      const controller = new AbortController();
      const { signal } = controller;
      const pending = simulation
        .host("client")
        .network.request({ method: "POST", url: "http://server/write", signal });
      controller.abort();
      await expect(pending).rejects.toMatchObject({ code: "ABORTED" });
      await simulation.sleep(10);
      expect(targets).toEqual(["/write"]);
      expect(simulation.network.openExchanges()).toBe(0);
    }));

  test("takes as long as the link says", () =>
    run(async (simulation) => {
      await simulation.host("server").network.listen({ host: "server", port: 80 }, (exchange) => {
        exchange.respond(200).end();
      });
      const ask = async (): Promise<number> => {
        const startMs = simulation.now();
        await read(simulation, simulation.host("client"), "http://server/");
        return simulation.now() - startMs;
      };
      const usualMs = await ask();
      simulation.network.setLatency("client", "server", uniformLatency(100, 200));
      const slowMs = await ask();
      simulation.network.setLatency("client", "server", undefined);
      const againMs = await ask();
      expect([usualMs, againMs].every((ms) => ms > 0.4 && ms < 2)).toBe(true);
      expect(slowMs > 200 && slowMs < 400).toBe(true);
    }));

  test("keeps its order whatever the latency", () =>
    run(async (simulation) => {
      const stream = await openStream(simulation);
      simulation.network.setLatency("client", "server", uniformLatency(0, 500));
      const words = Array.from({ length: 300 }, (_, index) => `word-${index} `);
      for (const word of words) {
        await simulation.sleep(3);
        stream.writer.write(Buffer.from(word));
      }
      stream.writer.end();
      expect((await stream.client).text).toBe(`hello ${words.join("")}`);
    }));

  test("does not keep the sizes of chunks: some are cut in two, big ones in many", () =>
    run(async (simulation) => {
      const written = [...Array.from({ length: 200 }, () => 100), 1_000_000];
      await simulation.host("server").network.listen({ host: "server", port: 80 }, (exchange) => {
        const writer = exchange.respond(200);
        for (const size of written) writer.write(Buffer.alloc(size));
        writer.end();
      });
      const { network } = simulation.host("client");
      const response = await network.request({ method: "GET", url: "http://server/" });
      const sizes: number[] = [];
      for await (const chunk of response.body) sizes.push(chunk.length);
      const total = (all: readonly number[]) => all.reduce((sum, size) => sum + size, 0);
      expect(total(sizes)).toBe(total(written));
      expect(sizes.filter((size) => size < 100).length).toBeGreaterThan(5);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(64 * 1024);
    }));

  test("leads to the machine that listens on an address, and moves with it", () =>
    run(async (simulation) => {
      const pod = { host: "10.1.0.7", port: 8080 };
      const answer = (text: string) => (exchange: ServerExchange) =>
        exchange.respond(200).end(Buffer.from(text));
      const ask = () => read(simulation, simulation.host("client"), "http://10.1.0.7:8080/");
      expect((await ask()).end).toBe("UNKNOWN_HOST");
      const first = await simulation.host("node-1").network.listen(pod, answer("one"));
      expect((await ask()).text).toBe("one");
      const taken = simulation.host("node-2").network.listen(pod, answer("two"));
      await expect(taken).rejects.toMatchObject({ code: "ADDRESS_IN_USE" });
      await first.close();
      expect((await ask()).end).toBe("REFUSED");
      await simulation.host("node-2").network.listen(pod, answer("two"));
      expect((await ask()).text).toBe("two");
    }));

  test("to a loopback address stays on its own machine", () =>
    run(async (simulation) => {
      const { network } = simulation.host("a");
      await network.listen({ host: "127.0.0.1", port: 80 }, (exchange) => {
        exchange.respond(200).end(Buffer.from("local"));
      });
      expect((await read(simulation, simulation.host("a"), "http://localhost/")).text).toBe(
        "local",
      );
      expect((await read(simulation, simulation.host("b"), "http://127.0.0.1/")).end).toBe(
        "REFUSED",
      );
      expect((await read(simulation, simulation.host("b"), "http://a/")).end).toBe("REFUSED");
    }));
});
