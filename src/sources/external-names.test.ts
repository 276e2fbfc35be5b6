import { expect, test } from "vitest";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import {
  ExternalNames,
  lookAgainAfterFailureMs,
  lookAgainAfterMinMs,
  lookAgainMs,
  lookupTimeoutMs,
} from "./external-names.ts";

const aMomentMs = 10;

function inNames(
  run: (world: {
    readonly simulation: Simulation;
    readonly names: ExternalNames;
    /** Who was told, in order. */
    readonly told: string[];
  }) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const told: string[] = [];
    const names = new ExternalNames({
      ...simulation.host("lockstep"),
      onAnswer: (wanter) => void told.push(wanter),
    });
    await run({ simulation, names, told });
    await names.stop();
  });
}

test("a wanted name is looked up at once and again, and who wants it is told of what is new", () =>
  inNames(async ({ simulation, names, told }) => {
    simulation.names.set("db.example", ["192.0.2.2", "192.0.2.1", "192.0.2.2"]);
    names.want("a", ["db.example"]);
    names.want("b", ["db.example"]);
    expect(names.answerOf("db.example")).toBeUndefined();
    await simulation.sleep(aMomentMs);
    const first = { addresses: ["192.0.2.1", "192.0.2.2"], failure: undefined };
    expect(names.answerOf("db.example")).toEqual(first);
    expect(told).toEqual(["a", "b"]);
    await simulation.sleep(3 * lookAgainMs);
    expect(told).toEqual(["a", "b"]);
    simulation.names.set("db.example", ["192.0.2.3"]);
    await simulation.sleep(lookAgainMs);
    expect(names.answerOf("db.example")?.addresses).toEqual(["192.0.2.3"]);
    expect(told).toEqual(["a", "b", "a", "b"]);
  }));

test.each([
  ["when the answer ends", 12_000, 12_000],
  ["not too often where it ends at once", 0, lookAgainAfterMinMs],
  ["often enough where it never seems to end", 3_600_000, lookAgainMs],
])("a name is looked up again %s", (_, ttlMs, againMs) =>
  inNames(async ({ simulation, names }) => {
    simulation.names.set("db.example", ["192.0.2.1"], ttlMs);
    names.want("a", ["db.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.set("db.example", ["192.0.2.2"], ttlMs);
    await simulation.sleep(againMs - 2 * aMomentMs);
    expect(names.answerOf("db.example")?.addresses).toEqual(["192.0.2.1"]);
    await simulation.sleep(3 * aMomentMs);
    expect(names.answerOf("db.example")?.addresses).toEqual(["192.0.2.2"]);
  }),
);

test("the last good answer stays while the name is gone or nobody answers", () =>
  inNames(async ({ simulation, names, told }) => {
    simulation.names.set("db.example", ["192.0.2.1"]);
    names.want("a", ["db.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.set("db.example", []);
    await simulation.sleep(lookAgainMs);
    const addresses = ["192.0.2.1"];
    expect(names.answerOf("db.example")).toEqual({ addresses, failure: "there is no such name" });
    simulation.names.setSilent(true);
    await simulation.sleep(lookAgainAfterFailureMs + lookupTimeoutMs + aMomentMs);
    const failure = "the resolver does not answer";
    expect(names.answerOf("db.example")).toEqual({ addresses, failure });
    simulation.names.setSilent(false);
    simulation.names.set("db.example", ["192.0.2.1"]);
    await simulation.sleep(2 * lookAgainAfterFailureMs + aMomentMs);
    expect(names.answerOf("db.example")).toEqual({ addresses, failure: undefined });
    expect(told).toEqual(["a", "a", "a", "a"]);
  }));

test("a name that nobody wants any more is forgotten and looked up no more", () =>
  inNames(async ({ simulation, names, told }) => {
    simulation.names.set("db.example", ["192.0.2.1"]);
    names.want("a", ["db.example"]);
    await simulation.sleep(aMomentMs);
    names.want("a", []);
    expect(names.answerOf("db.example")).toBeUndefined();
    simulation.names.set("db.example", ["192.0.2.2"]);
    const before = simulation.events;
    await simulation.sleep(10 * lookAgainMs);
    expect([told, simulation.events - before]).toEqual([["a"], 1]);
  }));

test("names that nobody answers for keep others waiting no longer than their own time", () =>
  inNames(async ({ simulation, names }) => {
    simulation.names.setSilent(true);
    const silent = Array.from({ length: 60 }, (_, index) => `silent-${index}.example`);
    names.want("slow", [...silent, "last.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.setSilent(false);
    simulation.names.set("last.example", ["192.0.2.3"]);
    expect(names.answerOf("last.example")).toBeUndefined();
    await simulation.sleep(lookupTimeoutMs);
    expect(names.answerOf("last.example")?.addresses).toEqual(["192.0.2.3"]);
  }));
