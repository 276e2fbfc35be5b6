// The contract of one undisturbed exchange: each side receives exactly the sent data.
import { expect, it } from "vitest";
import {
  abortion,
  patternedBytes,
  type RunInNetworkWorld,
  readAll,
  readText,
  whileServing,
} from "../../tests/network/network-world.ts";
import type { ServerExchange } from "./network.ts";

/** More than any buffer on the way holds, so that the body must travel in many pieces. */
const bigBodyBytes = 8 * 1024 * 1024;

export function networkExchangeContract(run: RunInNetworkWorld): void {
  it("carries method, target, headers and body to the server and the answer back", () =>
    run((world) =>
      whileServing(world, describeRequest, async ({ network, url, listener }) => {
        const response = await network.request({
          method: "PATCH",
          url: `${url}/api/v1/pods?limit=5&labelSelector=a%3Db`,
          headers: { "content-type": "application/json", "x-note": "one, two" },
          body: Buffer.from("héllo"),
        });
        expect(response.status).toBe(202);
        expect(response.headers["x-answer"]).toBe("yes");
        expect(response.peer).toBe(`${world.serverHost}:${listener.port}`);
        expect(JSON.parse(await readText(response.body))).toEqual({
          method: "PATCH",
          target: "/api/v1/pods?limit=5&labelSelector=a%3Db",
          contentType: "application/json",
          note: "one, two",
          body: "héllo",
        });
      }),
    ));

  it("gives header names in lower case on both sides", () =>
    run((world) =>
      whileServing(world, echoLowerCase, async ({ network, url }) => {
        const headers = { "X-Mixed-Case": "sent" };
        const response = await network.request({ method: "GET", url: `${url}/`, headers });
        expect(response.headers["x-echoed"]).toBe("sent");
        expect(Object.keys(response.headers)).toEqual(
          Object.keys(response.headers).map((name) => name.toLowerCase()),
        );
        await readAll(response.body);
      }),
    ));

  it("tells the server where the client is", () =>
    run((world) =>
      whileServing(world, answerPeer, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        expect(await readText(response.body)).toMatch(/^\S+$/);
      }),
    ));

  it("delivers the chunks of a response in order", () =>
    run((world) =>
      whileServing(world, countToHundred, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        expect(await readText(response.body)).toBe(numberLines());
      }),
    ));

  it("carries a big body both ways unchanged", () =>
    run((world) =>
      whileServing(world, echoBody, async ({ network, url }) => {
        const body = patternedBytes(bigBodyBytes);
        const response = await network.request({ method: "PUT", url: `${url}/`, body });
        expect((await readAll(response.body)).equals(body)).toBe(true);
      }),
    ));

  it.each(["GET", "POST", "PUT", "DELETE", "OPTIONS"])("carries the body of a %s", (method) =>
    run((world) =>
      whileServing(world, echoBody, async ({ network, url }) => {
        for (const body of [Buffer.from("whole"), piecesOf("in ", "pieces")]) {
          const response = await network.request({ method, url: `${url}/`, body });
          const expected = body instanceof Uint8Array ? "whole" : "in pieces";
          expect(await readText(response.body)).toBe(expected);
        }
      }),
    ),
  );

  it("streams a request body in order", () =>
    run((world) =>
      whileServing(world, echoBody, async ({ network, url }) => {
        const body = (async function* () {
          for (let number = 0; number < 100; number += 1) yield Buffer.from(`${number}\n`);
        })();
        const response = await network.request({ method: "POST", url: `${url}/`, body });
        expect(await readText(response.body)).toBe(numberLines());
      }),
    ));

  it("answers without a body when the server ends at once", () =>
    run((world) =>
      whileServing(
        world,
        (exchange) => exchange.respond(204).end(),
        async ({ network, url }) => {
          const response = await network.request({ method: "DELETE", url: `${url}/` });
          expect(response.status).toBe(204);
          expect(await readText(response.body)).toBe("");
        },
      ),
    ));

  it("resolves when status and headers are there, before any byte of the body", () =>
    run(async (world) => {
      let finish: () => void = () => undefined;
      const handler = (exchange: ServerExchange): void => {
        const writer = exchange.respond(200);
        finish = () => writer.end(Buffer.from("late"));
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        expect(response.status).toBe(200);
        finish();
        expect(await readText(response.body)).toBe("late");
      });
    }));

  it("serves many exchanges at once, each with its own answer", () =>
    run((world) =>
      whileServing(world, echoTarget, async ({ network, url }) => {
        const targets = Array.from({ length: 50 }, (_, index) => `/item/${index}`);
        const answers = await Promise.all(
          targets.map(async (target) => {
            const response = await network.request({ method: "GET", url: `${url}${target}` });
            return readText(response.body);
          }),
        );
        expect(answers).toEqual(targets);
      }),
    ));

  it("refuses a second answer to the same request", () =>
    run(async (world) => {
      let second: unknown;
      const handler = (exchange: ServerExchange): void => {
        const writer = exchange.respond(200);
        try {
          exchange.respond(201);
        } catch (error) {
          second = error;
        }
        writer.end();
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        await readAll(response.body);
        expect(response.status).toBe(200);
        expect(second).toBeInstanceOf(Error);
      });
    }));

  it("aborts `closed` when the request was answered in full", () =>
    run(async (world) => {
      let closed: AbortSignal | undefined;
      const handler = (exchange: ServerExchange): void => {
        closed = exchange.request.closed;
        exchange.respond(200).end(Buffer.from("done"));
      };
      await whileServing(world, handler, async ({ network, url }) => {
        const response = await network.request({ method: "GET", url: `${url}/` });
        expect(await readText(response.body)).toBe("done");
        if (closed === undefined) throw new Error("the handler did not run");
        await abortion(closed);
      });
    }));

  it("gives 500 when the handler throws or rejects before answering", () =>
    run((world) =>
      whileServing(world, fail, async ({ network, url }) => {
        for (const target of ["/throw", "/reject"]) {
          const response = await network.request({ method: "GET", url: `${url}${target}` });
          expect(response.status).toBe(500);
          await readAll(response.body);
        }
      }),
    ));
}

async function describeRequest(exchange: ServerExchange): Promise<void> {
  const seen = {
    method: exchange.request.method,
    target: exchange.request.target,
    contentType: exchange.request.headers["content-type"],
    note: exchange.request.headers["x-note"],
    body: await readText(exchange.request.body),
  };
  exchange.respond(202, { "x-answer": "yes" }).end(Buffer.from(JSON.stringify(seen)));
}

function echoLowerCase(exchange: ServerExchange): void {
  exchange
    .respond(200, { "X-Echoed": exchange.request.headers["x-mixed-case"] ?? "missing" })
    .end();
}

function answerPeer(exchange: ServerExchange): void {
  exchange.respond(200).end(Buffer.from(exchange.request.peer));
}

function echoTarget(exchange: ServerExchange): void {
  exchange.respond(200).end(Buffer.from(exchange.request.target));
}

async function echoBody(exchange: ServerExchange): Promise<void> {
  const writer = exchange.respond(200);
  for await (const chunk of exchange.request.body) {
    writer.write(chunk);
    await writer.drained();
  }
  writer.end();
}

function countToHundred(exchange: ServerExchange): void {
  const writer = exchange.respond(200);
  for (let number = 0; number < 100; number += 1) writer.write(Buffer.from(`${number}\n`));
  writer.end();
}

function numberLines(): string {
  return Array.from({ length: 100 }, (_, number) => `${number}\n`).join("");
}

function fail({ request }: ServerExchange): void | Promise<void> {
  if (request.target === "/throw") throw new Error("thrown by a handler, on purpose");
  return Promise.reject(new Error("rejected by a handler, on purpose"));
}

async function* piecesOf(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}
