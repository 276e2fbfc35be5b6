import { expect, test } from "vitest";
import {
  type IncomingResponse,
  NetworkError,
  type OutgoingRequest,
  type ServerExchange,
} from "../environment/network.ts";
import { randomBetween, randomInt } from "../environment/random.ts";
import { forEachSeed, isThorough } from "../simulation/seeds.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { endpointId } from "./endpoint-id.ts";
import { type ProbeOutcome, probeOnce } from "./probe-once.ts";
import { maxAtOnce } from "./probe-turns.ts";
import {
  type Doubt,
  longMissedMs,
  longMissedProbeEveryMs,
  maxDoubted,
  oldDoubtMs,
  Probes,
  probeEveryMs,
  probesAtOnce,
  probesPerSecond,
} from "./probes.ts";

const target: Doubt = { cluster: "east", address: "pod", port: 80, cause: "flap" };
const http = { port: 80, path: "/ready", secure: false, timeoutMs: undefined };

type Handler = (exchange: ServerExchange) => void | Promise<void>;

const answering =
  (status: number): Handler =>
  (exchange) =>
    exchange.respond(status).end();

async function listen(simulation: Simulation, handler: Handler) {
  return simulation.host("pod").network.listen({ host: "pod", port: 80 }, handler);
}

const table: readonly (readonly [string, Handler | undefined, boolean, ProbeOutcome])[] = [
  ["answers an HTTP probe with 200", answering(200), true, "answered"],
  ["answers an HTTP probe with a redirect", answering(302), true, "answered"],
  ["answers an HTTP probe with 503", answering(503), true, "missed"],
  ["takes a connection and answers 503", answering(503), false, "answered"],
  ["takes a connection and breaks it", (exchange) => exchange.abort(), false, "answered"],
  ["breaks an HTTP probe", (exchange) => exchange.abort(), true, "missed"],
  ["takes a connection and never answers", () => undefined, false, "answered"],
  ["never answers an HTTP probe", () => undefined, true, "missed"],
  ["is not there", undefined, false, "refused"],
];

test.each(table)("an endpoint that %s", (_, handler, isHttp, expected) =>
  simulate({ seed: 1 }, async (simulation) => {
    const listener = handler && (await listen(simulation, handler));
    const { signal } = new AbortController();
    const asked = isHttp ? { ...target, http } : target;
    // A machine has an address even when connection refused.
    simulation.host("pod");
    expect(await probeOnce(simulation.host("proxy"), asked, signal)).toBe(expected);
    await listener?.close();
  }),
);

test.each([
  ["within its own timeout", 1_500, 2_000, "answered"],
  ["within the longest that is waited for, but after its own timeout", 1_500, 1_000, "missed"],
  ["later than is ever waited for", 6_000, 60_000, "missed"],
] as const)("an endpoint that answers %s", (_, afterMs, timeoutMs, expected) =>
  simulate({ seed: 1 }, async (simulation) => {
    const listener = await listen(simulation, async (exchange) => {
      await simulation.sleep(afterMs);
      exchange.respond(200).end();
    });
    const { signal } = new AbortController();
    const asked = { ...target, http: { ...http, timeoutMs } };
    expect(await probeOnce(simulation.host("proxy"), asked, signal)).toBe(expected);
    await listener.close();
  }),
);

const podAt80 = endpointId({ address: "pod", port: 80 });

/** Probes with what they reported, in order. */
function probesIn(simulation: Simulation) {
  const reported: string[] = [];
  const probes: Probes = new Probes({
    ...simulation.host("proxy"),
    onAnswer: (doubter) => {
      const answer = probes.standing(doubter).get("east")?.get(podAt80)?.answer;
      reported.push(`${doubter} ${answer} at ${Math.round(simulation.now() / 100) / 10} s`);
    },
  });
  return { probes, reported };
}

test("an endpoint is probed at once and again, and only a changed answer is reported", () =>
  simulate({ seed: 1 }, async (simulation) => {
    let asked = 0;
    const listener = await listen(simulation, (exchange) => {
      asked += 1;
      exchange.respond(200).end();
    });
    const { probes, reported } = probesIn(simulation);
    probes.want("shop/web:80", [target]);
    probes.want("shop/web:http", [target]);
    await simulation.sleep(5 * probeEveryMs + 500);
    expect(asked).toBe(6);
    await listener.close();
    await simulation.sleep(probeEveryMs);
    expect(reported).toEqual([
      "shop/web:80 answers at 0 s",
      "shop/web:http answers at 0 s",
      "shop/web:80 silent at 12 s",
      "shop/web:http silent at 12 s",
    ]);
    await probes.stop();
  }));

test("missed probes are forgiven for two seconds", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const statuses = [200, 503, 503, 200, 503, 503, 503, 503];
    const listener = await listen(simulation, (exchange) => {
      exchange.respond(statuses.shift() ?? 200).end();
    });
    const { probes, reported } = probesIn(simulation);
    probes.want("web", [{ ...target, http }]);
    // An answer at 3.4 s; then misses from 5.4 to 7.5 s.
    await simulation.sleep(4 * probeEveryMs);
    expect(reported).toEqual(["web answers at 0 s", "web silent at 7.5 s"]);
    await probes.stop();
    await listener.close();
  }));

test("a machine that is gone is found silent after two seconds of probes without an answer", () =>
  simulate({ seed: 1 }, async (simulation) => {
    await listen(simulation, answering(200));
    simulation.crash("pod", { vanish: true });
    const { probes, reported } = probesIn(simulation);
    probes.want("web", [target]);
    await simulation.sleep(2 * probeEveryMs);
    expect(reported).toEqual(["web silent at 2.6 s"]);
    await probes.stop();
  }));

/** After a return; the rest of a second is for the decision, the proxy and the next request. */
const foundWithinMs = 750;

const podsOfNode = 100;
/** Each on a machine of its own: with the node, as many as are each probed in time. */
const otherPods = 40;
const ofNode = Array.from({ length: podsOfNode }, (_, index) => `pod-${index}`);
const others = Array.from({ length: otherPods }, (_, index) => `other-${index}`);

/** Endpoints in doubt that cannot be reached until they are back, and every probe of them. */
class SilentPods {
  readonly probes: Probes;
  /** When each probe began. */
  readonly began: number[] = [];
  readonly #simulation: Simulation;
  readonly #silent: Set<string>;
  /** When each was back, until it is found. */
  readonly #back = new Map<string, number>();
  /** When each was found, and how long after its return. */
  readonly #foundAt: number[] = [];
  readonly #foundAfterMs: number[] = [];

  constructor(simulation: Simulation, addresses: readonly string[]) {
    this.#simulation = simulation;
    this.#silent = new Set(addresses);
    const { network, ...proxy } = simulation.host("proxy");
    const listen = network.listen.bind(network);
    this.probes = new Probes({
      ...proxy,
      network: { listen, request: (outgoing) => this.#probed(outgoing) },
      onAnswer: () => undefined,
      onAnswered: ({ address }) => this.#found(address),
    });
  }

  doubt(addresses: readonly string[]): void {
    const doubts = addresses.map((address): Doubt => {
      const node = ofNode.includes(address) ? { node: "node" } : {};
      return { ...target, address, ...node, cause: "traffic", http };
    });
    this.probes.want("shop/web:80", doubts);
  }

  get silent(): readonly string[] {
    return [...this.#silent];
  }

  back(addresses: readonly string[]): void {
    for (const address of addresses) {
      this.#silent.delete(address);
      this.#back.set(address, this.#simulation.now());
    }
  }

  /** All that were back have been found; the longest time that one took. */
  slowestMs(): number {
    expect([...this.#back.keys()]).toEqual([]);
    return Math.max(...this.#foundAfterMs);
  }

  /** From the first that was found to the last. */
  foundWithinMs(): number {
    return Math.max(...this.#foundAt) - Math.min(...this.#foundAt);
  }

  /** How many probes began in a second, at most. */
  mostInASecond(): number {
    let first = 0;
    const counts = this.began.map((atMs, index) => {
      while ((this.began[first] ?? 0) <= atMs - 1_000) first += 1;
      return index - first + 1;
    });
    return Math.max(...counts);
  }

  #found(address: string): void {
    const backAt = this.#back.get(address);
    if (backAt === undefined) return;
    this.#back.delete(address);
    this.#foundAt.push(this.#simulation.now());
    this.#foundAfterMs.push(this.#simulation.now() - backAt);
  }

  async #probed({ url, connectTimeoutMs = 0, signal }: OutgoingRequest): Promise<IncomingResponse> {
    const { hostname } = new URL(url);
    this.began.push(this.#simulation.now());
    if (this.#silent.has(hostname)) {
      // The kernel sends a lost opening again only after a second, even if the machine is back.
      await this.#simulation.host("proxy").timers.sleep(connectTimeoutMs, signal);
      throw new NetworkError("DEAD_PEER", "no answer");
    }
    return { status: 200, headers: {}, body: emptyBody(), peer: hostname };
  }
}

async function* emptyBody(): AsyncGenerator<Uint8Array> {
  yield new Uint8Array();
}

forEachSeed(
  "an endpoint is found within 0.75 s after its return, also while a node with 100 pods is silent",
  { seeds: 5 },
  (seed) =>
    simulate({ seed }, async (simulation) => {
      const { random } = simulation;
      const pods = new SilentPods(simulation, [...ofNode, ...others]);
      pods.doubt(pods.silent);
      await simulation.sleep(randomBetween(random, 1, 10_000));
      // Some come back alone, of the node too, and the others together.
      for (let alone = 0; alone < 5; alone += 1) {
        const one = pods.silent[randomInt(random, pods.silent.length)];
        if (one !== undefined) pods.back([one]);
        await simulation.sleep(randomBetween(random, 0, 2 * foundWithinMs));
      }
      await simulation.sleep(foundWithinMs);
      pods.back(pods.silent);
      await simulation.sleep(foundWithinMs);
      expect(pods.slowestMs()).toBeLessThan(foundWithinMs);
      expect(pods.mostInASecond()).toBeLessThanOrEqual(probesPerSecond + probesAtOnce);
      await pods.probes.stop();
    }),
);

test("one that has been silent for minutes is probed less often, and at once when its node is back", () =>
  simulate({ seed: 1, maxVirtualMs: 2 * longMissedMs }, async (simulation) => {
    const pods = new SilentPods(simulation, ofNode.slice(0, 10));
    for (let count = 1; count <= 10; count += 1) {
      pods.doubt(pods.silent.slice(0, count));
      await simulation.sleep(longMissedProbeEveryMs / 10);
    }
    await simulation.sleep(longMissedMs);
    const before = pods.began.length;
    await simulation.sleep(10 * longMissedProbeEveryMs);
    expect(pods.began.length - before).toBe(100);
    pods.back(pods.silent);
    await simulation.sleep(longMissedProbeEveryMs);
    // Those whose probe was under way when the first was found need another one.
    expect(pods.foundWithinMs()).toBeLessThan(foundWithinMs);
    expect(pods.slowestMs()).toBeLessThan(1_500);
    await pods.probes.stop();
  }));

test("silent endpoints beyond the rate share it, and one of a node finds all of the node", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const many = Array.from({ length: 1_000 }, (_, index) => `other-${index}`);
    const pods = new SilentPods(simulation, [...many, ...ofNode]);
    pods.doubt(pods.silent);
    await simulation.sleep(10_000);
    pods.back(ofNode);
    await simulation.sleep(1_500);
    expect(pods.slowestMs()).toBeLessThan(1_500);
    const before = pods.began.length;
    await simulation.sleep(5_000);
    expect(pods.began.length - before).toBeLessThanOrEqual(5 * probesPerSecond + 1);
    await pods.probes.stop();
  }));

test("an endpoint that is no longer in doubt is not probed", () =>
  simulate({ seed: 1 }, async (simulation) => {
    let asked = 0;
    const listener = await listen(simulation, (exchange) => {
      asked += 1;
      exchange.respond(200).end();
    });
    const { probes } = probesIn(simulation);
    probes.want("one", [target]);
    probes.want("other", [target]);
    await simulation.sleep(100);
    probes.want("one", []);
    await simulation.sleep(probeEveryMs);
    expect([probes.size, asked]).toEqual([1, 2]);
    probes.want("other", []);
    await simulation.sleep(10 * probeEveryMs);
    expect([probes.size, asked, probes.standing("other")]).toEqual([0, 2, new Map()]);
    await probes.stop();
    await listener.close();
  }));

test("one that is trusted before its turn has come is not asked", () =>
  simulate({ seed: 1 }, async (simulation) => {
    let asked = 0;
    const listener = await listen(simulation, (exchange) => {
      asked += 1;
      exchange.respond(200).end();
    });
    const { probes } = probesIn(simulation);
    // More of them than are asked at once.
    const many = Array.from({ length: 500 }, (_, index) => ({ ...target, port: 1_000 + index }));
    probes.want("many", many);
    probes.want("web", [target]);
    await simulation.sleep(100);
    probes.want("web", []);
    await simulation.sleep(2 * probeEveryMs);
    expect([probes.size, asked]).toEqual([many.length, 0]);
    await probes.stop();
    await listener.close();
  }));

test("stopping ends running probes, and starts no others", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const listener = await listen(simulation, () => undefined);
    const { probes, reported } = probesIn(simulation);
    probes.want("web", [target]);
    await simulation.sleep(10);
    await probes.stop();
    probes.want("web", [target]);
    await simulation.sleep(10_000);
    expect([probes.size, reported]).toEqual([0, []]);
    await listener.close();
  }));

test("a doubt that lasts becomes old, which is reported once", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const listener = await listen(simulation, answering(200));
    const { probes, reported } = probesIn(simulation);
    const isOld = () => probes.standing("web").get("east")?.get(podAt80)?.isOld;
    probes.want("web", [target]);
    await simulation.sleep(oldDoubtMs - probeEveryMs);
    expect([reported.length, isOld()]).toEqual([1, false]);
    await simulation.sleep(10 * probeEveryMs);
    expect([reported.length, isOld()]).toEqual([2, true]);
    await probes.stop();
    await listener.close();
  }));

test("however many are in doubt, few are asked at once, and no cluster waits for another", () =>
  simulate({ seed: 1, maxVirtualMs: 10 * 60_000 }, async (simulation) => {
    const count = isThorough(process.env) ? 10_000 : 600;
    const listener = await listen(simulation, answering(200));
    simulation.host("dead");
    simulation.crash("dead", { vanish: true });
    let settled = 0;
    let highest = 0;
    const probes: Probes = new Probes({
      ...simulation.host("proxy"),
      onAnswer: () => {
        settled += 1;
        highest = Math.max(highest, probes.underWay);
      },
    });
    // Every other one is on a machine that is gone, and takes a second to be given up.
    const many = Array.from({ length: count }, (_, index): Doubt => {
      const isDead = index % 2 === 0;
      const address = isDead ? "dead" : "pod";
      const node = isDead ? `dead-${index % 100}` : `node-${index % 100}`;
      return { ...target, address, node, port: 1_000 + index, cause: "mass" };
    });
    const startedMs = simulation.now();
    probes.want("loud/many:80", many);
    await simulation.sleep(100);
    expect(probes.underWay).toBeLessThanOrEqual(maxAtOnce);
    const few: Doubt[] = [{ ...target, cluster: "west" }];
    probes.want("quiet/few:80", few);
    await simulation.sleep(probeEveryMs);
    expect(probes.standing("quiet/few:80").get("west")?.get(podAt80)?.answer).toBe("answers");
    while (settled <= count) await simulation.sleep(1_000);
    // Three probes for every two of them, at two hundred a second, and the patience for the last.
    const probesMs = (1.5 * count * 1_000) / 200;
    expect(simulation.now() - startedMs).toBeLessThan(2 * probesMs + 10_000);
    expect(highest).toBeLessThanOrEqual(maxAtOnce);
    probes.want("loud/many:80", []);
    expect(probes.size).toBe(1);
    await probes.stop();
    await listener.close();
  }));

test("a namespace keeps no more in doubt than it has room for, and leaves others theirs", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { probes } = probesIn(simulation);
    const many = Array.from({ length: maxDoubted + 1 }, (_, port) => ({ ...target, port }));
    probes.want("loud/web:80", many);
    probes.want("quiet/web:80", [{ ...target, address: "other" }]);
    const counts = ["loud/web:80", "quiet/web:80"].map(
      (doubter) => probes.standing(doubter).get("east")?.size,
    );
    expect(counts).toEqual([maxDoubted, 1]);
    probes.want("loud/web:80", []);
    expect(probes.size).toBe(1);
    probes.want("loud/web:80", many.slice(1));
    expect(probes.standing("loud/web:80").get("east")?.size).toBe(maxDoubted);
    await probes.stop();
  }));
