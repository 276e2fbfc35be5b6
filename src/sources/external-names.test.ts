import { expect, test } from "vitest";
import { type Simulation, simulate } from "../simulation/simulation.ts";
import {
  ExternalNames,
  lookAgainAfterFailureMs,
  lookAgainAfterMinMs,
  lookAgainMs,
  lookupTimeoutMs,
  maxNamesPerNamespace,
} from "./external-names.ts";

const aMomentMs = 10;

function inNames(
  run: (world: {
    readonly simulation: Simulation;
    readonly names: ExternalNames;
    /** The services that were notified, in order. */
    readonly notified: string[];
  }) => Promise<void>,
): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const notified: string[] = [];
    const names = new ExternalNames({
      ...simulation.host("lockstep"),
      onAnswer: (wanter) => void notified.push(wanter),
    });
    await run({ simulation, names, notified });
    await names.stop();
  });
}

test("a wanted name is looked up at once and again, and its services are notified of new answers", () =>
  inNames(async ({ simulation, names, notified }) => {
    simulation.names.set("db.example", ["192.0.2.2", "192.0.2.1", "192.0.2.2"]);
    names.want("a", ["db.example"]);
    names.want("b", ["db.example"]);
    expect(names.answerOf("db.example", "")).toBeUndefined();
    await simulation.sleep(aMomentMs);
    const first = { addresses: ["192.0.2.1", "192.0.2.2"], failure: undefined };
    expect(names.answerOf("db.example", "")).toEqual(first);
    expect(notified).toEqual(["a", "b"]);
    await simulation.sleep(3 * lookAgainMs);
    expect(notified).toEqual(["a", "b"]);
    simulation.names.set("db.example", ["192.0.2.3"]);
    await simulation.sleep(lookAgainMs);
    expect(names.answerOf("db.example", "")?.addresses).toEqual(["192.0.2.3"]);
    expect(notified).toEqual(["a", "b", "a", "b"]);
  }));

test("of a name with thousands of addresses some are used", () =>
  inNames(async ({ simulation, names }) => {
    const many = Array.from({ length: 2_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
    simulation.names.set("wide.example", many);
    names.want("a", ["wide.example"]);
    await simulation.sleep(aMomentMs);
    expect(names.answerOf("wide.example", "")?.addresses).toHaveLength(256);
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
    expect(names.answerOf("db.example", "")?.addresses).toEqual(["192.0.2.1"]);
    await simulation.sleep(3 * aMomentMs);
    expect(names.answerOf("db.example", "")?.addresses).toEqual(["192.0.2.2"]);
  }),
);

test("the last good answer stays while the name is gone or no resolver answers", () =>
  inNames(async ({ simulation, names, notified }) => {
    simulation.names.set("db.example", ["192.0.2.1"]);
    names.want("a", ["db.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.set("db.example", []);
    await simulation.sleep(lookAgainMs);
    const addresses = ["192.0.2.1"];
    expect(names.answerOf("db.example", "")).toEqual({
      addresses,
      failure: "the name does not exist",
    });
    simulation.names.setSilent(true);
    await simulation.sleep(lookAgainAfterFailureMs + lookupTimeoutMs + aMomentMs);
    const failure = "the resolver does not answer";
    expect(names.answerOf("db.example", "")).toEqual({ addresses, failure });
    simulation.names.setSilent(false);
    simulation.names.set("db.example", ["192.0.2.1"]);
    await simulation.sleep(2 * lookAgainAfterFailureMs + aMomentMs);
    expect(names.answerOf("db.example", "")).toEqual({ addresses, failure: undefined });
    expect(notified).toEqual(["a", "a", "a", "a"]);
  }));

test("an unused name is forgotten and no longer looked up", () =>
  inNames(async ({ simulation, names, notified }) => {
    simulation.names.set("db.example", ["192.0.2.1"]);
    names.want("a", ["db.example"]);
    await simulation.sleep(aMomentMs);
    names.want("a", []);
    expect(names.answerOf("db.example", "")).toBeUndefined();
    simulation.names.set("db.example", ["192.0.2.2"]);
    const before = simulation.events;
    await simulation.sleep(10 * lookAgainMs);
    expect([notified, simulation.events - before]).toEqual([["a"], 1]);
  }));

test("names without an answer delay others no longer than their own time", () =>
  inNames(async ({ simulation, names }) => {
    simulation.names.setSilent(true);
    const silent = Array.from({ length: 60 }, (_, index) => `silent-${index}.example`);
    names.want("slow", [...silent, "last.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.setSilent(false);
    simulation.names.set("last.example", ["192.0.2.3"]);
    expect(names.answerOf("last.example", "")).toBeUndefined();
    await simulation.sleep(lookupTimeoutMs);
    expect(names.answerOf("last.example", "")?.addresses).toEqual(["192.0.2.3"]);
  }));

const many = (namespace: string, count: number) =>
  Array.from({ length: count }, (_, index) => ({
    wanter: `${namespace}/s${index}:80`,
    name: `${namespace}-${index}.example`,
  }));

test("a namespace with too many names harms its own newest services alone", () =>
  inNames(async ({ simulation, names, notified }) => {
    const loud = many("loud", maxNamesPerNamespace + 1);
    for (const { name } of [...loud, ...many("quiet", 2)]) {
      simulation.names.set(name, ["192.0.2.1"]);
    }
    // The first in the order of their names is the youngest.
    for (const [index, { wanter, name }] of loud.entries()) names.want(wanter, [name], -index);
    for (const { wanter, name } of many("quiet", 2)) names.want(wanter, [name], 5);
    await simulation.sleep(1_000);
    const addressesOf = ({ name }: { readonly name: string }, namespace: string) =>
      names.answerOf(name, namespace)?.addresses ?? [];
    expect(many("quiet", 2).filter((one) => addressesOf(one, "quiet").length === 0)).toEqual([]);
    expect(loud.filter((one) => addressesOf(one, "loud").length === 0)).toEqual(loud.slice(0, 1));
    const failure =
      `the namespace has more than ${maxNamesPerNamespace} external names; ` +
      "its newest services are ignored";
    expect(names.answerOf("loud-0.example", "loud")).toEqual({
      addresses: [],
      failure,
      isBeyond: true,
    });
    expect(notified).toContain("loud/s0:80");
    names.want("loud/s1:80", []);
    await simulation.sleep(1_000);
    expect(names.answerOf("loud-0.example", "loud")?.addresses).toEqual(["192.0.2.1"]);
  }));

test("a namespace whose names get no answer does not delay those of another", () =>
  inNames(async ({ simulation, names }) => {
    simulation.names.setSilent(true);
    const loud = many("loud", 200);
    for (const { wanter, name } of loud) names.want(wanter, [name]);
    // It wants the other's name too, behind all its own.
    names.want("loud/s0:80", ["loud-0.example", "quiet-0.example"]);
    await simulation.sleep(aMomentMs);
    simulation.names.setSilent(false);
    simulation.names.set("quiet-0.example", ["192.0.2.1"]);
    names.want("quiet/s0:80", ["quiet-0.example"]);
    await simulation.sleep(aMomentMs);
    expect(names.answerOf("quiet-0.example", "quiet")?.addresses).toEqual(["192.0.2.1"]);
  }));
