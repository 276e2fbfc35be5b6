import { expect, test } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { PrefixOwner, type PrefixOwnerOptions } from "./prefix-owner.ts";

const prefix = "/nginx";
const origin = { className: "web", contexts: ["west", "east"], accessContext: "east" };

interface World {
  readonly simulation: Simulation;
  readonly environment: Environment;
  readonly owner: (options?: Partial<PrefixOwnerOptions>) => PrefixOwner;
  readonly record: () => Promise<Readonly<Record<string, unknown>> | undefined>;
}

function onMachine(run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("edge");
    await run({
      simulation,
      environment,
      owner: (options) =>
        new PrefixOwner({ ...environment, prefix, origin, statusPort: 1, ...options }),
      record: async () => {
        const content = await environment.files.read(`${prefix}/state/owner.json`);
        return content && JSON.parse(Buffer.from(content).toString());
      },
    });
  });
}

const never = new AbortController().signal;

test("one start of several at the same instant becomes the owner", () =>
  onMachine(async ({ owner, record }) => {
    const starts = [owner(), owner(), owner()];
    const outcomes = await Promise.allSettled(starts.map((start) => start.claim()));
    expect(outcomes.map(({ status }) => status).sort()).toEqual([
      "fulfilled",
      "rejected",
      "rejected",
    ]);
    expect(await record()).toMatchObject({ className: "web", contexts: ["east", "west"] });
  }));

test("an owner that is asked hands over to the one that asked", () =>
  onMachine(async ({ owner, record }) => {
    const first = owner();
    await first.claim();
    const asked = first.asked(never);
    const second = owner({ takeOver: true });
    const predecessor = await second.claim();
    if (predecessor === undefined) throw new Error("there is an owner");
    const taken = second.takeOver(predecessor, never);
    const by = await asked;
    await first.release({ hasServed: true });
    await taken;
    expect(by).toEqual(await record());
    await expect(owner().claim()).rejects.toMatchObject({ code: "OWNED" });
  }));

test("an owner that does not answer keeps its place, and no later one takes the request for its own", () =>
  onMachine(async ({ environment, owner, simulation }) => {
    const first = owner();
    await first.claim();
    const second = owner({ takeOver: true });
    const predecessor = await second.claim();
    if (predecessor === undefined) throw new Error("there is an owner");
    await expect(second.takeOver(predecessor, never)).rejects.toMatchObject({
      code: "NOT_HANDED_OVER",
    });
    // As a taker leaves it that is killed while it asks.
    const request = JSON.stringify({ to: predecessor.id, by: predecessor });
    await environment.files.write(`${prefix}/control/take-over.json`, request);
    await first.release({ hasServed: true });
    const third = owner();
    expect(await third.claim()).toBeUndefined();
    const stop = new AbortController();
    const asked = third.asked(stop.signal);
    await simulation.sleep(5_000);
    stop.abort(new Error("the end"));
    expect(await asked).toBeUndefined();
  }));

test("of two that take over at once the second is refused", () =>
  onMachine(async ({ owner }) => {
    const first = owner();
    await first.claim();
    const asked = first.asked(never).then(() => first.release({ hasServed: true }));
    const takers = [owner({ takeOver: true }), owner({ takeOver: true })];
    const taken = await Promise.allSettled(
      takers.map(async (taker) => {
        const predecessor = await taker.claim();
        if (predecessor !== undefined) await taker.takeOver(predecessor, never);
      }),
    );
    await asked;
    expect(taken.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  }));

test.each([
  ["class", { ...origin, className: "shop" }],
  ["contexts", { ...origin, contexts: ["east"] }],
  ["access context", { ...origin, accessContext: "west" }],
])("another %s than that of the saved state is refused, living owner or not", (_, other) =>
  onMachine(async ({ owner }) => {
    const first = owner();
    await first.claim();
    const taker = owner({ origin: other, takeOver: true });
    await expect(taker.claim()).rejects.toMatchObject({ code: "OTHER_STATE" });
    await first.release({ hasServed: true });
    for (const takeOver of [false, true]) {
      const next = owner({ origin: other, takeOver });
      await expect(next.claim()).rejects.toMatchObject({ code: "OTHER_STATE" });
    }
    const contexts = [...origin.contexts].reverse();
    expect(await owner({ origin: { ...origin, contexts } }).claim()).toBeUndefined();
  }),
);

test("a start that never served leaves the record of the last one that did", () =>
  onMachine(async ({ owner, record }) => {
    const failed = owner();
    await failed.claim();
    await failed.release({ hasServed: false });
    expect(await record()).toBeUndefined();
    const first = owner();
    await first.claim();
    const before = await record();
    await first.release({ hasServed: true });
    const other = { ...origin, className: "shop" };
    const replacing = owner({ origin: other, replaceState: true });
    await replacing.claim();
    expect(await record()).toMatchObject({ className: "shop" });
    await replacing.release({ hasServed: false });
    expect(await record()).toEqual(before);
  }));
