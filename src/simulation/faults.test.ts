// Fault plans repeat, print, and leave the world whole.
import { expect, test } from "vitest";
import {
  applyFaultPlan,
  type Fault,
  printFaultPlan,
  randomFaultPlan,
  withFaults,
} from "./faults.ts";
import { SeededRandom } from "./seeded-random.ts";
import { simulate } from "./simulation.ts";

const hosts = ["a", "b", "c"];

function plan(seed: number): ReturnType<typeof randomFaultPlan> {
  const random = new SeededRandom({ seed, name: "plan" });
  return randomFaultPlan(random, { hosts, quietAfterMs: 600_000, meanBetweenMs: 2_000 });
}

test("a plan repeats from its seed, and prints as text", () => {
  expect(printFaultPlan(plan(1))).toBe(printFaultPlan(plan(1)));
  expect(printFaultPlan(plan(1))).not.toBe(printFaultPlan(plan(2)));
  const random = new SeededRandom({ seed: 5, name: "plan" });
  const short = randomFaultPlan(random, { hosts, quietAfterMs: 60_000, kinds: ["partition"] });
  expect(printFaultPlan(short)).toMatchInlineSnapshot(`
    "4.0 s – 4.7 s  a and b do not reach each other
    5.5 s – 7.7 s  a and b do not reach each other
    18.8 s – 19.1 s  a and c do not reach each other
    22.6 s – 22.6 s  a and b do not reach each other
    30.2 s – 60.0 s  a and b do not reach each other
    43.4 s – 43.5 s  b and c do not reach each other
    59.2 s – 59.8 s  a and c do not reach each other
    60.0 s  quiet"
  `);
});

test("every fault begins in order and ends before it is quiet", () => {
  const { faults, quietAfterMs } = plan(3);
  expect(faults.length).toBeGreaterThan(100);
  expect(faults.map((fault) => fault.atMs)).toEqual(
    faults.map((fault) => fault.atMs).toSorted((left, right) => left - right),
  );
  for (const fault of faults) {
    expect(fault.untilMs).toBeGreaterThanOrEqual(fault.atMs);
    expect(fault.untilMs).toBeLessThanOrEqual(quietAfterMs);
  }
});

test("after a plan everything works again, and the clocks are right", async () => {
  const answers = await simulate({ seed: 1 }, async (simulation) => {
    for (const host of hosts) {
      const { network } = simulation.host(host);
      await network.listen({ host, port: 80 }, (exchange) => exchange.respond(200).end());
    }
    const random = plan(4);
    applyFaultPlan(simulation, random);
    await simulation.sleep(random.quietAfterMs + 1);
    const seen: string[] = [];
    for (const from of hosts) {
      for (const to of hosts) {
        const startMs = simulation.now();
        const { network } = simulation.host(from);
        const { status } = await network.request({ method: "GET", url: `http://${to}/` });
        if (simulation.now() - startMs > 2) seen.push(`${from} to ${to} is slow`);
        if (status !== 200) seen.push(`${from} to ${to} is broken`);
      }
      if (simulation.wallSkewMs(from) !== 0) seen.push(`the clock of ${from} is wrong`);
    }
    return seen;
  });
  expect(answers).toEqual([]);
});

test("takes faults of the caller's own kind", async () => {
  const seen = await simulate({ seed: 1 }, async (simulation) => {
    const events: string[] = [];
    const own: Fault = {
      atMs: 50,
      untilMs: 200,
      describe: "the server compacts",
      begin: () => events.push(`begin ${simulation.now()}`),
      end: () => events.push(`end ${simulation.now()}`),
    };
    const whole = withFaults({ faults: [], quietAfterMs: 100 }, [own]);
    await simulation.sleep(1000);
    applyFaultPlan(simulation, whole);
    await simulation.sleep(whole.quietAfterMs + 1);
    return { events, text: printFaultPlan(whole) };
  });
  expect(seen).toEqual({
    events: ["begin 1050", "end 1200"],
    text: "0.1 s – 0.2 s  the server compacts\n0.2 s  quiet",
  });
});

test("kinds that need two hosts refuse one", () => {
  const random = new SeededRandom({ seed: 1, name: "plan" });
  const options = { hosts: ["a"], quietAfterMs: 60_000, kinds: ["reset"] } as const;
  expect(() => randomFaultPlan(random, options)).toThrow(RangeError);
});
