import { Registry } from "prom-client";
import { expect, it } from "vitest";
import { simulate } from "../simulation/simulation.ts";
import {
  type CountedEndpoint,
  type CounterReading,
  EndpointCounters,
  readEveryMs,
} from "./endpoint-counters.ts";

it("reads what is new at a calm rate, and says how long ago an endpoint was used", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const proxy = new ScriptedProxy([
      reading(100, counted("a", { requests: 3, failures: 1, lastUsedMsAgo: 40 })),
      reading(200, counted("b", { requests: 1 })),
    ]);
    const counters = new EndpointCounters({ ...simulation.host("lockstep"), reporter: proxy });
    counters.start();
    await simulation.sleep(readEveryMs * 2 + 1);
    expect(proxy.asked).toEqual([undefined, 100]);
    await simulation.sleep(499);
    expect(["a", "b", "c"].map((key) => counters.of(key))).toEqual([
      { requests: 3, failures: 1, lastUsedMsAgo: readEveryMs + 540 },
      { requests: 1, failures: 0, lastUsedMsAgo: 500 },
      undefined,
    ]);
    await counters.stop();
    await counters.stop();
  }));

it("forgets an endpoint with the proxy, and starts again when there was no proxy to ask", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const proxy = new ScriptedProxy([
      reading(100, counted("a", { requests: 3 }), counted("b", { requests: 4 })),
      undefined,
      reading(50),
      reading(40),
      reading(41),
    ]);
    const counters = new EndpointCounters({ ...simulation.host("lockstep"), reporter: proxy });
    expect(await counters.refresh()).toBe(true);
    proxy.endpoints.delete("a");
    expect(await counters.refresh()).toBe(false);
    expect([counters.of("a"), counters.of("b")?.requests]).toEqual([undefined, 4]);
    for (let count = 0; count < 3; count += 1) await counters.refresh();
    // The clock went back once: whatever was used since is asked for without a beginning.
    expect(proxy.asked).toEqual([undefined, 100, undefined, 50, undefined]);
  }));

it("adds up by cluster what endpoints did, also over a restart of the proxy", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const metrics = new Registry();
    const proxy = new ScriptedProxy([
      reading(1, counted("a", { requests: 5, failures: 2 }), counted("b", { requests: 7 })),
      reading(2, counted("a", { requests: 9, failures: 2 })),
      reading(3, counted("a", { requests: 1 }), counted("far", { requests: 1, cluster: "c2" })),
    ]);
    const host = simulation.host("lockstep");
    const counters = new EndpointCounters({ ...host, reporter: proxy, metrics });
    for (let count = 0; count < 3; count += 1) await counters.refresh();
    const values = async (name: string) => (await metrics.getSingleMetric(name)?.get())?.values;
    expect(await values("lockstep_proxy_endpoint_requests_total")).toMatchObject([
      { labels: { cluster: "c1" }, value: 17 },
      { labels: { cluster: "c2" }, value: 1 },
    ]);
    expect(await values("lockstep_proxy_endpoint_failures_total")).toMatchObject([
      { labels: { cluster: "c1" }, value: 2 },
      { labels: { cluster: "c2" }, value: 0 },
    ]);
  }));

class ScriptedProxy {
  readonly asked: (number | undefined)[] = [];
  readonly endpoints = new Set(["a", "b", "far"]);
  readonly #readings: (CounterReading | undefined)[];

  constructor(readings: (CounterReading | undefined)[]) {
    this.#readings = readings;
  }

  async counters(since: number | undefined): Promise<CounterReading | undefined> {
    this.asked.push(since);
    return this.#readings.shift();
  }

  hasEndpoint(key: string): boolean {
    return this.endpoints.has(key);
  }
}

function reading(revision: number, ...endpoints: CountedEndpoint[]): CounterReading {
  return { revision, counted: endpoints };
}

function counted(key: string, other: Partial<CountedEndpoint>): CountedEndpoint {
  return { key, cluster: "c1", requests: 0, failures: 0, lastUsedMsAgo: 0, ...other };
}
