// A machine that falls silent while nginx has open connections to it: nothing refuses, nothing resets,
// and nginx's own timeout for an answer is a minute.
import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { worthALineMs } from "../../src/ingress/decision-log.ts";
import { IngressProcess } from "../ingress-process.ts";
import {
  type Answer,
  type DrivenPusher,
  ProxyWorld,
  textOf,
  withoutNginx,
} from "../proxy-world.ts";
import { ingressClass, ShopsWorld } from "../shops-world.ts";
import { FarMachine, farPort, nearAddress } from "./harness/far-machine.ts";

const host = "silent.example";
const manyRequests = 64;
/** As many as a busy service of this size has, and few enough for a busy machine. */
const betweenGetsMs = 20;

const largeBytes = 64 * 1024 * 1024;
/** Several retransmissions, and many looks of the worker. */
const silentMs = 2_500;
/** After this the kernel waits for seconds before it sends data again. */
const longSilenceMs = 4_000;
const fewRequests = 8;

describe.skipIf(withoutNginx !== false)("an endpoint whose machine falls silent", () => {
  let machine: FarMachine;
  let silent = "";
  let other = "";
  let third = "";
  let fourth = "";
  beforeAll(async () => {
    machine = await FarMachine.start(4);
    [silent = "", other = "", third = "", fourth = ""] = machine.addresses;
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

  it("costs no request when more endpoints fall silent at once than a request may try", () =>
    withProxy([silent, third, fourth, other], async ({ proxy }) => {
      await opened(proxy, [silent, third, fourth, other]);
      for (const one of [silent, third, fourth]) machine.silence(one);
      try {
        expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
        expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
      } finally {
        for (const one of [silent, third, fourth]) machine.restore(one);
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

  it("costs no GET while a POST to the same endpoint waits", () =>
    withProxy([silent, other], async ({ proxy }) => {
      await opened(proxy, [silent, other]);
      machine.silence(silent);
      const posts = postAll(proxy);
      try {
        expect(await askAll(proxy)).toEqual({ [`200 ${other}`]: manyRequests });
      } finally {
        machine.restore(silent);
      }
      expect(await posts).toEqual(Array(fewRequests).fill(200));
    }));

  it("is not avoided any longer because of a POST that has not noticed its return", () =>
    withProxy([silent, other], async ({ proxy, pusher }) => {
      await opened(proxy, [silent, other]);
      machine.silence(silent);
      const posts = postAll(proxy);
      await proxy.environment.timers.sleep(longSilenceMs);
      machine.restore(silent);
      // As soon as a probe is answered; the data of the POSTs is sent again some seconds later.
      await pusher.answered([`${silent}:${farPort}`]);
      await proxy.until(async () => (await askAll(proxy))[`200 ${silent}`] !== undefined);
      const { changes } = await proxy.control().suspects(undefined);
      expect(await posts).toEqual(Array(fewRequests).fill(200));
      expect((await proxy.control().suspects(undefined)).changes).toBe(changes);
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

describe.skipIf(withoutNginx !== false)("a node that falls silent with several pods", () => {
  it("costs no GET, is reported as silent, and all its pods get requests again", () =>
    withSilentNodes(async () => {
      const world = await ShopsWorld.start({ shops: 1, replicas: 6, nodes: 3 });
      try {
        const ingress = await IngressProcess.start(world, "replica", ["--class", ingressClass]);
        const [shop = ""] = world.shops;
        const pods = await world.pods();
        const silent = pods.filter(({ node }) => node === pods[0]?.node);
        expect(silent.length).toBeGreaterThan(1);
        const traffic = new SteadyGets(world, ingress.address);
        const answeredByAll = () =>
          world.until("each pod of the node answers", () => {
            return silent.every(({ name }) => traffic.answeredBy.has(name));
          });
        try {
          for (let round = 0; round < 2; round += 1) {
            await answeredByAll();
            for (const { address } of silent) silenceOwn(address, "add");
            await world.until("each pod of the node is known to be silent", async () => {
              const active = await ingress.activeAddresses(`default/${shop}:80`);
              return active.size > 0 && silent.every(({ address }) => !active.has(address));
            });
            // What is over sooner is not reported.
            await world.environment.timers.sleep(worthALineMs);
            for (const { address } of silent) silenceOwn(address, "del");
            traffic.answeredBy.clear();
          }
          await answeredByAll();
        } finally {
          await traffic.stop();
        }
        expect(traffic.failures).toEqual([]);
        await world.until("the silence is reported", () =>
          ingress.said.includes('"message":"endpoint was silent"'),
        );
        expect(ingress.said).not.toContain("EndpointSlice was stale");
      } finally {
        await world.stop();
      }
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

/**
 * Packets from local addresses can be dropped while it runs: usually they pass before any rule. The
 * suite has a network of its own.
 */
async function withSilentNodes(test: () => Promise<void>): Promise<void> {
  execFileSync("ip", ["rule", "add", "pref", "100", "lookup", "local"]);
  execFileSync("ip", ["rule", "del", "pref", "0"]);
  try {
    await test();
  } finally {
    execFileSync("ip", ["rule", "add", "pref", "0", "lookup", "local"]);
    execFileSync("ip", ["rule", "del", "pref", "100"]);
  }
}

function silenceOwn(address: string, how: "add" | "del"): void {
  execFileSync("ip", ["rule", how, "pref", "10", "from", address, "blackhole"]);
}

/** GETs to the shop, one after the other's start, however long an answer takes. */
class SteadyGets {
  /** Names of pods. */
  readonly answeredBy = new Set<string>();
  readonly failures: string[] = [];
  readonly #stopping = new AbortController();
  readonly #asked = new Set<Promise<void>>();
  readonly #running: Promise<void>;

  constructor({ environment, hosts }: ShopsWorld, address: string) {
    const [shop = ""] = hosts;
    const { signal } = this.#stopping;
    this.#running = (async () => {
      while (!signal.aborted) {
        const asking = this.#ask(environment, `http://${address}/`, shop);
        this.#asked.add(asking);
        void asking.finally(() => this.#asked.delete(asking));
        await environment.timers.sleep(betweenGetsMs, signal).catch(() => undefined);
      }
    })();
  }

  /** All answers are there then. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("no more requests"));
    await this.#running;
    await Promise.all(this.#asked);
  }

  async #ask({ network }: ShopsWorld["environment"], url: string, shop: string): Promise<void> {
    try {
      const headers = { host: shop };
      const { status, body } = await network.request({ method: "GET", url, headers });
      const text = await textOf(body);
      if (status === 200) this.answeredBy.add((JSON.parse(text) as { pod: string }).pod);
      else this.failures.push(`${status} ${text}`);
    } catch (error) {
      this.failures.push(String(error));
    }
  }
}

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

/** The status of each. */
function postAll(proxy: ProxyWorld): Promise<readonly number[]> {
  const post = async () => (await proxy.ask(host, "/", { method: "POST", body: "" })).status;
  return Promise.all(Array.from({ length: fewRequests }, post));
}

function askAll(proxy: ProxyWorld): Promise<Record<string, number>> {
  return proxy.askMany(host, manyRequests);
}

function shown({ status, body }: Answer): string {
  return `${status} ${body}`;
}
