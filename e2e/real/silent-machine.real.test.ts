// A machine that falls silent while nginx has open connections to it: nothing refuses, nothing resets,
// and nginx's own timeout for an answer is a minute.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Answer, type DrivenPusher, ProxyWorld, withoutNginx } from "../proxy-world.ts";
import { FarMachine, farPort, nearAddress } from "./harness/far-machine.ts";

const host = "silent.example";
const manyRequests = 64;

const largeBytes = 64 * 1024 * 1024;
/** Several retransmissions, and many looks of the worker. */
const silentMs = 2_500;

describe.skipIf(withoutNginx !== false)("an endpoint whose machine falls silent", () => {
  let machine: FarMachine;
  let silent = "";
  let other = "";
  beforeAll(async () => {
    machine = await FarMachine.start(2);
    [silent = "", other = ""] = machine.addresses;
  });
  afterAll(() => machine?.stop());

  it("costs no request on an open connection that can be repeated", () =>
    withProxy([silent, other], async ({ proxy }) => {
      await opened(proxy, [silent, other]);
      machine.silence(silent);
      try {
        expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
        // By now it is known in every worker, and no request waits for it.
        expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
        const { suspects } = await proxy.control().suspects(undefined);
        expect(suspects).toHaveLength(1);
      } finally {
        machine.restore(silent);
      }
    }));

  it("keeps a POST waiting until it is back, and answers it once", () =>
    withProxy([silent, other], async ({ proxy }) => {
      await opened(proxy, [silent, other]);
      machine.silence(silent);
      const posts = Array.from({ length: 8 }, (_, number) =>
        proxy.ask(host, "/", { method: "POST", body: ` ${number}` }),
      );
      // Those at the other one are answered; the rest waits, and is marked for all others.
      const marked = async () => (await proxy.control().suspects(undefined)).suspects.length === 1;
      await proxy.until(marked);
      expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
      machine.restore(silent);
      const answers = await Promise.all(posts);
      const bodies = answers.map(({ status, body }) => `${status} ${body.split(" ")[1]}`);
      expect(bodies.sort()).toEqual(Array.from({ length: 8 }, (_, number) => `200 ${number}`));
    }));

  it("keeps a GET waiting where no other endpoint could answer it", () =>
    withProxy([silent], async ({ proxy }) => {
      await opened(proxy, [silent]);
      machine.silence(silent);
      const asked = Promise.all(Array.from({ length: 4 }, () => proxy.ask(host)));
      await proxy.until(
        async () => (await proxy.control().suspects(undefined)).suspects.length === 1,
      );
      machine.restore(silent);
      expect((await asked).map(shown)).toEqual(Array(4).fill(`200 ${silent}`));
    }));

  it("is not one that takes its time: a slow answer is waited for", () =>
    withProxy([silent, other], async ({ proxy }) => {
      await opened(proxy, [silent, other]);
      const answers = await Promise.all(
        Array.from({ length: 16 }, () => proxy.ask(host, "/slow?ms=3000")),
      );
      expect(new Set(answers.map(shown))).toEqual(new Set([`200 ${silent}`, `200 ${other}`]));
      const { suspects } = await proxy.control().suspects(undefined);
      expect(suspects).toEqual([]);
    }));
});

describe.skipIf(withoutNginx !== false)("a client whose machine falls silent", () => {
  it("gets the rest of its answer when it is back", async () => {
    const machine = await FarMachine.start(1);
    const [client = ""] = machine.addresses;
    try {
      await ProxyWorld.use(async (proxy) => {
        const port = proxy.port;
        await proxy.supervisor({ listen: [{ address: nearAddress, port }] }).start();
        const large = await proxy.backend("large", (exchange) => {
          machine.silence(client);
          setTimeout(() => machine.restore(client), silentMs);
          exchange.respond(200).end(Buffer.alloc(largeBytes));
        });
        await proxy
          .pusher()
          .push({ hosts: { [host]: "d/far" }, services: { "d/far": [large.peer] } });
        const result = await machine.download(`http://${nearAddress}:${port}/`, client);
        expect(result).toBe(`${largeBytes} ok`);
      });
    } finally {
      await machine.stop();
    }
  });
});

interface Proxied {
  readonly proxy: ProxyWorld;
  readonly pusher: DrivenPusher;
}

async function withProxy(
  addresses: readonly string[],
  test: (proxied: Proxied) => Promise<void>,
): Promise<void> {
  await ProxyWorld.use(async (proxy) => {
    await proxy.supervisor().start();
    const pusher = proxy.pusher();
    const endpoints = addresses.map((address) => `${address}:${farPort}`);
    await pusher.push({ hosts: { [host]: "d/far" }, services: { "d/far": endpoints } });
    await test({ proxy, pusher });
  });
}

/** Until each endpoint has answered often, in both workers, so that many connections are kept. */
async function opened(proxy: ProxyWorld, addresses: readonly string[]): Promise<void> {
  const each = (counts: Record<string, number>) =>
    addresses.every((address) => (counts[`200 ${address}`] ?? 0) >= 16);
  await proxy.until(async () => each(await askAll(proxy)));
}

function askAll(proxy: ProxyWorld): Promise<Record<string, number>> {
  return proxy.askMany(host, manyRequests);
}

function shown({ status, body }: Answer): string {
  return `${status} ${body}`;
}
