import { expect, test } from "vitest";
import type { ServerExchange } from "../environment/network.ts";
import { isThorough } from "../simulation/seeds.ts";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import { endpointId } from "./endpoint-id.ts";
import { type ProbeOutcome, probeOnce, probeTimeoutMs } from "./probe-once.ts";
import { maxAtOnce } from "./probe-turns.ts";
import { type Doubt, maxDoubted, oldDoubtMs, Probes, probeEveryMs } from "./probes.ts";

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

test("one missed probe is forgiven, two in a row are not", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const statuses = [200, 503, 200, 503, 503];
    const listener = await listen(simulation, (exchange) => {
      exchange.respond(statuses.shift() ?? 200).end();
    });
    const { probes, reported } = probesIn(simulation);
    probes.want("web", [{ ...target, http }]);
    await simulation.sleep(4 * probeEveryMs + 500);
    expect(reported).toEqual(["web answers at 0 s", "web silent at 8 s"]);
    await probes.stop();
    await listener.close();
  }));

test("a machine that is gone is found silent after two timeouts", () =>
  simulate({ seed: 1 }, async (simulation) => {
    await listen(simulation, answering(200));
    simulation.crash("pod", { vanish: true });
    const { probes, reported } = probesIn(simulation);
    probes.want("web", [target]);
    await simulation.sleep(2 * probeTimeoutMs + probeEveryMs + 100);
    expect(reported).toEqual(["web silent at 3 s"]);
    await probes.stop();
  }));

test("one that was silent is known to answer within 0.75 s after its return", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const listener = await listen(simulation, answering(200));
    const { probes } = probesIn(simulation);
    probes.want("web", [{ ...target, http }]);
    const answer = () => probes.standing("web").get("east")?.get(podAt80)?.answer;
    for (const pauseMs of [9_900, 10_000, 10_123]) {
      simulation.network.partition("proxy", "pod");
      await simulation.sleep(pauseMs);
      expect(answer()).toBe("silent");
      simulation.network.heal("proxy", "pod");
      await simulation.sleep(750);
      expect(answer()).toBe("answers");
    }
    await probes.stop();
    await listener.close();
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
