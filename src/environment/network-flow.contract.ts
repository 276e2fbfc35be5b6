// The contract of back-pressure: a slow reader slows the sender, the cost of it can be seen, and it
// ends as soon as the reader catches up.
import { expect, it } from "vitest";
import {
  heldExchange,
  patternedBytes,
  type RunInNetworkWorld,
  readAll,
  whileServing,
} from "../../tests/network/network-world.ts";
import type { ServerExchange } from "./network.ts";

const chunkBytes = 512 * 1024;

/** 64 MiB in all: far more than the socket buffers of both sides take (about 10 MB on loopback). */
const chunkCount = 128;

/** The meaning of "little is pending": one buffer of a socket. */
const littleBytes = 64 * 1024;

/** Time enough for a sender that is not paused to send everything. */
const settleMs = 200;

export function networkFlowContract(run: RunInNetworkWorld): void {
  it("shows the bytes that a slow reader has not taken, until it takes them", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const pending = network.request({ method: "GET", url: `${url}/` });
        const writer = (await exchange).respond(200);
        const response = await pending;
        const chunk = patternedBytes(chunkBytes);
        for (let count = 0; count < chunkCount; count += 1) writer.write(chunk);
        await world.server.timers.sleep(settleMs);
        expect(writer.pendingBytes).toBeGreaterThan(littleBytes);

        let drained = false;
        const drain = writer.drained().then(() => {
          drained = true;
        });
        await world.server.timers.sleep(settleMs);
        expect(drained).toBe(false);

        const received = readAll(response.body);
        await drain;
        expect(writer.pendingBytes).toBeLessThanOrEqual(littleBytes);
        writer.end();
        expect((await received).length).toBe(chunkCount * chunkBytes);
      });
    }));

  it("pauses the sender when a reader that has begun does not go on", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const pending = network.request({ method: "GET", url: `${url}/` });
        const writer = (await exchange).respond(200);
        const chunk = patternedBytes(chunkBytes);
        writer.write(chunk);
        const chunks = (await pending).body[Symbol.asyncIterator]();
        let received = (await chunks.next()).value?.length ?? 0;
        for (let count = 1; count < chunkCount; count += 1) writer.write(chunk);
        writer.end();
        await world.server.timers.sleep(settleMs);
        expect(writer.pendingBytes).toBeGreaterThan(littleBytes);
        for (let next = await chunks.next(); next.done !== true; next = await chunks.next()) {
          received += next.value.length;
        }
        expect(received).toBe(chunkCount * chunkBytes);
      });
    }));

  it("is drained at once when nothing is pending", () =>
    run(async (world) => {
      const handler = async (exchange: ServerExchange): Promise<void> => {
        const writer = exchange.respond(200);
        await writer.drained();
        writer.end(Buffer.from("drained"));
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        expect((await readAll(response.body)).toString()).toBe("drained");
      });
    }));

  it("is drained when the reader goes away", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const pending = network.request({ method: "GET", url: `${url}/`, signal });
        const writer = (await exchange).respond(200);
        await pending;
        const chunk = patternedBytes(chunkBytes);
        for (let count = 0; count < chunkCount; count += 1) writer.write(chunk);
        const drain = writer.drained();
        controller.abort(new Error("the reader leaves"));
        await drain;
        expect(writer.pendingBytes).toBe(0);
      });
    }));

  it("stops asking for a streamed request body that the server does not read", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      let produced = 0;
      const body = (async function* () {
        const chunk = patternedBytes(chunkBytes);
        for (; produced < chunkCount; produced += 1) yield chunk;
      })();
      await whileServing(world, handler, async ({ network, url }) => {
        const pending = network.request({ method: "POST", url: `${url}/`, body });
        const held = await exchange;
        const { request } = held;
        await world.client.timers.sleep(settleMs);
        expect(produced).toBeLessThan(chunkCount);
        const received = await readAll(request.body);
        expect(received.length).toBe(chunkCount * chunkBytes);
        held.respond(200).end();
        await readAll((await pending).body);
      });
    }));
}
