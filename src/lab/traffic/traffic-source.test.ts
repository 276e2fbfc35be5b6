import { expect, it } from "vitest";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import type { TrafficResult } from "./traffic-result.ts";
import { TrafficSource, type TrafficSourceOptions } from "./traffic-source.ts";

async function inWorld(
  own: Partial<TrafficSourceOptions>,
  run: (world: {
    simulation: Simulation;
    source: TrafficSource;
    results: readonly TrafficResult[];
  }) => Promise<void>,
): Promise<void> {
  await simulate({ seed: 1 }, async (simulation) => {
    const results: TrafficResult[] = [];
    const source = new TrafficSource({
      ...simulation.host("client"),
      entries: [{ name: "one", url: "http://one:80" }],
      requestsPerSecond: 10,
      hosts: ["a.example"],
      onResult: (result) => results.push(result),
      ...own,
    });
    await run({ simulation, source, results });
    await source.stop();
  });
}

/** An entry that answers for a pod, after some time. */
async function answering(simulation: Simulation, name: string, delayMs = 0): Promise<void> {
  const { network, timers } = simulation.host(name);
  await network.listen({ host: name, port: 80 }, async (exchange) => {
    await timers.sleep(delayMs);
    const headers = { "x-upstream": "10.0.0.9:80, 10.0.0.1:80", "x-replica": "stock-2" };
    const body = { uid: "u1", address: "10.0.0.1" };
    exchange.respond(200, headers).end(Buffer.from(JSON.stringify(body)));
  });
}

it("sends at its rate, hosts and paths in turn, and says what the answers said", async () => {
  const own = { hosts: ["a.example", "b.example"], paths: ["/", "/x?y"] };
  await inWorld(own, async ({ simulation, source, results }) => {
    await answering(simulation, "one");
    source.start();
    await simulation.sleep(350);
    await source.finish();
    expect(results.map(({ number, host, target }) => `${number} ${host}${target}`)).toEqual([
      "1 a.example/?request=1",
      "2 b.example/?request=2",
      "3 a.example/x?y&request=3",
      "4 b.example/x?y&request=4",
    ]);
    const [first, second] = results;
    expect((second?.sentAt ?? 0) - (first?.sentAt ?? 0)).toBe(100);
    expect(first).toMatchObject({
      entry: "one",
      outcome: { kind: "answered", status: 200 },
      pod: { podUid: "u1", address: "10.0.0.1" },
      replica: "stock-2",
      upstreams: ["10.0.0.9", "10.0.0.1"],
    });
  });
});

it("sends the same requests through every entry, though one does not answer", async () => {
  const entries = ["one", "two"].map((name) => ({ name, url: `http://${name}:80` }));
  await inWorld({ entries, deadlineMs: 2_000 }, async ({ simulation, source, results }) => {
    await answering(simulation, "one");
    await answering(simulation, "two", 60_000);
    source.start();
    await simulation.sleep(5_000);
    await source.finish();
    const of = (name: string) => results.filter(({ entry }) => entry === name);
    expect(of("two").map(({ target }) => target)).toEqual(of("one").map(({ target }) => target));
    expect(of("one").length).toBe(source.sent);
    expect(new Set(of("two").map(({ outcome }) => JSON.stringify(outcome)))).toEqual(
      new Set(['{"kind":"failed","code":"DEADLINE"}']),
    );
    expect(of("two").every(({ sentAt, doneAt }) => doneAt - sentAt === 2_000)).toBe(true);
  });
});

it("reports a refused connection by its code", async () => {
  await inWorld({}, async ({ simulation, source, results }) => {
    simulation.host("one");
    source.start();
    await simulation.sleep(50);
    await source.finish();
    expect(results.map(({ outcome }) => outcome)).toEqual([{ kind: "failed", code: "REFUSED" }]);
  });
});

it("gives up what is under way when it is stopped, without a result", async () => {
  await inWorld({}, async ({ simulation, source, results }) => {
    await answering(simulation, "one", 5_000);
    source.start();
    await simulation.sleep(1_000);
    await source.stop();
    await simulation.sleep(10_000);
    expect(results).toEqual([]);
    expect(source.sent).toBe(10);
  });
});

it.each([
  [{ requestsPerSecond: 0 }, "0 requests a second: 1 to 500"],
  [{ requestsPerSecond: 501 }, "501 requests a second: 1 to 500"],
  [{ deadlineMs: 60_001 }, "a deadline of 60001 ms: at most 60000"],
  [{ hosts: [] }, "traffic needs a host"],
])("refuses %j", async (own, message) => {
  await expect(inWorld(own, async () => undefined)).rejects.toThrow(message);
});
