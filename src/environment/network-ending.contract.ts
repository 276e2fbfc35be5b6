// The contract for an early end of an exchange, by either side: the other side always notices it,
// and an ending that was not orderly never looks like an orderly one.
import { expect, it } from "vitest";
import {
  abortion,
  failureOf,
  heldExchange,
  patternedBytes,
  type RunInNetworkWorld,
  readAll,
  whileServing,
} from "../../tests/network/network-world.ts";
import type { ServerExchange } from "./network.ts";

export function networkEndingContract(run: RunInNetworkWorld): void {
  it("closes the exchange when the reader leaves the loop early", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const pending = network.request({ method: "GET", url: `${url}/` });
        const held = await exchange;
        const { request } = held;
        held.respond(200).write(Buffer.from("first"));
        const response = await pending;
        for await (const chunk of response.body) {
          expect(Buffer.from(chunk).toString()).toBe("first");
          break;
        }
        await abortion(request.closed);
      });
    }));

  it("finishes what is under way and refuses what comes after it stops accepting", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url, listener }) => {
        const pending = network.request({ method: "GET", url: `${url}/` });
        const held = await exchange;
        listener.stopAccepting();
        listener.stopAccepting();
        const refused = await failureOf(network.request({ method: "GET", url: `${url}/` }));
        expect(refused.code).toBe("REFUSED");
        held.respond(200).end(Buffer.from("finished"));
        expect((await readAll((await pending).body)).toString()).toBe("finished");
        const again = await failureOf(network.request({ method: "GET", url: `${url}/` }));
        expect(again.code).toBe("REFUSED");
      });
    }));

  it("breaks what is still under way when it closes after it stopped accepting", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url, listener }) => {
        const failure = failureOf(network.request({ method: "GET", url: `${url}/` }));
        await exchange;
        listener.stopAccepting();
        await listener.close();
        expect((await failure).code).toBe("RESET");
      });
    }));

  it("ignores what the server writes after the client has gone", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const pending = network.request({ method: "GET", url: `${url}/`, signal });
        const held = await exchange;
        const { request } = held;
        const writer = held.respond(200);
        await pending;
        controller.abort(new Error("the reader leaves"));
        await abortion(request.closed);
        writer.write(patternedBytes(1024));
        expect(writer.pendingBytes).toBe(0);
        await writer.drained();
        writer.end(patternedBytes(1024));
        writer.abort();
      });
    }));

  it("fails with ABORTED and the reason when the signal aborts before the headers", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const failure = failureOf(network.request({ method: "GET", url: `${url}/`, signal }));
        const { request } = await exchange;
        const reason = new Error("no longer wanted");
        controller.abort(reason);
        const error = await failure;
        expect({ code: error.code, cause: error.cause }).toEqual({
          code: "ABORTED",
          cause: reason,
        });
        await abortion(request.closed);
      });
    }));

  it("fails with ABORTED and the reason when the signal aborts inside the body", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const pending = network.request({ method: "GET", url: `${url}/`, signal });
        const held = await exchange;
        const { request } = held;
        held.respond(200).write(Buffer.from("first"));
        const failure = failureOf(readAll((await pending).body));
        const reason = new Error("no longer wanted");
        controller.abort(reason);
        const error = await failure;
        expect({ code: error.code, cause: error.cause }).toEqual({
          code: "ABORTED",
          cause: reason,
        });
        await abortion(request.closed);
      });
    }));

  it("does not even ask the server when the signal has aborted before", () =>
    run(async (world) => {
      let asked = 0;
      const handler = (exchange: ServerExchange): void => {
        asked += 1;
        exchange.respond(200).end();
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const signal = AbortSignal.abort(new Error("never wanted"));
        const error = await failureOf(network.request({ method: "GET", url: `${url}/`, signal }));
        expect(error.code).toBe("ABORTED");
        await readAll((await network.request({ method: "GET", url: `${url}/` })).body);
        expect(asked).toBe(1);
      });
    }));

  it("leaves a finished exchange alone when the signal aborts afterwards", () =>
    run(async (world) => {
      const answer = (exchange: ServerExchange): void =>
        exchange.respond(200).end(Buffer.from("ok"));
      await whileServing(world, answer, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const response = await network.request({ method: "GET", url: `${url}/`, signal });
        const body = await readAll(response.body);
        controller.abort(new Error("too late"));
        expect(body.toString()).toBe("ok");
        const second = await network.request({ method: "GET", url: `${url}/` });
        expect((await readAll(second.body)).toString()).toBe("ok");
      });
    }));

  it("fails with RESET when the server breaks the connection instead of ending", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const pending = network.request({ method: "GET", url: `${url}/` });
        const held = await exchange;
        const { request } = held;
        const writer = held.respond(200);
        writer.write(Buffer.from("half of it"));
        const chunks = (await pending).body[Symbol.asyncIterator]();
        const first = await chunks.next();
        expect(first.done).toBe(false);
        writer.abort();
        expect((await failureOf(chunks.next())).code).toBe("RESET");
        await abortion(request.closed);
      });
    }));

  it("fails with RESET when the server breaks the connection instead of answering", () =>
    run(async (world) => {
      const abort = (exchange: ServerExchange): void => exchange.abort();
      await whileServing(world, abort, async ({ network, url }) => {
        const post = { method: "POST", url: `${url}/`, body: Buffer.from("a body") };
        expect((await failureOf(network.request(post))).code).toBe("RESET");
      });
    }));

  it("fails with RESET when the handler throws after it has begun to answer", () =>
    run(async (world) => {
      let fail: () => void = () => undefined;
      const handler = async (exchange: ServerExchange): Promise<void> => {
        exchange.respond(200).write(Buffer.from("half of it"));
        await new Promise<void>((resolve) => {
          fail = resolve;
        });
        throw new Error("thrown by a handler, on purpose");
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        fail();
        expect((await failureOf(readAll(response.body))).code).toBe("RESET");
      });
    }));

  it("breaks the request body for the server when the client gives up sending it", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url }) => {
        const controller = new AbortController();
        const { signal } = controller;
        const body = (async function* () {
          yield Buffer.from("half of it");
          await abortion(signal);
        })();
        const sent = failureOf(network.request({ method: "POST", url: `${url}/`, body, signal }));
        const { request } = await exchange;
        const received = failureOf(readAll(request.body));
        controller.abort(new Error("no longer wanted"));
        expect((await sent).code).toBe("ABORTED");
        expect((await received).code).toBe("RESET");
      });
    }));

  it("breaks open exchanges when the listener closes, and refuses new ones", () =>
    run(async (world) => {
      const { handler, exchange } = heldExchange();
      await whileServing(world, handler, async ({ network, url, listener }) => {
        const answered = network.request({ method: "GET", url: `${url}/answered` });
        const held = await exchange;
        const { request } = held;
        held.respond(200).write(Buffer.from("half of it"));
        const body = failureOf(readAll((await answered).body));
        const unanswered = failureOf(network.request({ method: "GET", url: `${url}/unanswered` }));
        await world.client.timers.sleep(50);
        await Promise.all([listener.close(), listener.close()]);
        await abortion(request.closed);
        expect((await body).code).toBe("RESET");
        expect((await unanswered).code).toBe("RESET");
        const refused = await failureOf(network.request({ method: "GET", url: `${url}/` }));
        expect(refused.code).toBe("REFUSED");
      });
    }));
}
