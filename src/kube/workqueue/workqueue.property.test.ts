// The queue against a model that is slow and obviously right: plain arrays and sets, searched from
// the front, with the rules written down one by one.
import fc from "fast-check";
import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { freshInARowMax, type Lane, Workqueue } from "./workqueue.ts";

type Command =
  | { readonly kind: "add"; readonly key: string; readonly lane: Lane }
  | {
      readonly kind: "addAfter";
      readonly key: string;
      readonly lane: Lane;
      readonly delayMs: number;
    }
  | { readonly kind: "get" }
  | { readonly kind: "done"; readonly key: string }
  | { readonly kind: "pass"; readonly ms: number };

class Model {
  queued: { key: string; lane: Lane }[] = [];
  dirtyInWork: { key: string; lane: Lane }[] = [];
  inWork: string[] = [];
  delayed: { key: string; lane: Lane; at: number; order: number }[] = [];
  freshInARow = 0;
  now = 0;
  #order = 0;

  add(key: string, lane: Lane): void {
    const queued = this.queued.find((item) => item.key === key);
    if (queued !== undefined) {
      if (queued.lane === "fresh" || lane === "resync") return;
      this.queued = [...this.queued.filter((item) => item !== queued), { key, lane }];
      return;
    }
    const dirty = this.dirtyInWork.find((item) => item.key === key);
    if (dirty !== undefined) {
      if (lane === "fresh") dirty.lane = "fresh";
    } else if (this.inWork.includes(key)) this.dirtyInWork.push({ key, lane });
    else this.queued.push({ key, lane });
  }

  addAfter(key: string, lane: Lane, delayMs: number): void {
    if (delayMs === 0) {
      this.add(key, lane);
      return;
    }
    const at = this.now + delayMs;
    const known = this.delayed.find((item) => item.key === key);
    if (known === undefined) {
      this.delayed.push({ key, lane, at, order: this.#order++ });
      return;
    }
    known.at = Math.min(known.at, at);
    if (lane === "fresh") known.lane = "fresh";
  }

  pass(ms: number): void {
    this.now += ms;
    const ready = this.delayed.filter((item) => item.at <= this.now);
    this.delayed = this.delayed.filter((item) => item.at > this.now);
    ready.sort((a, b) => a.at - b.at || a.order - b.order);
    for (const item of ready) this.add(item.key, item.lane);
  }

  get(): string | undefined {
    const fresh = this.queued.find((item) => item.lane === "fresh");
    const resync = this.queued.find((item) => item.lane === "resync");
    const isResyncTurn = fresh === undefined || this.freshInARow === freshInARowMax;
    const taken = resync !== undefined && isResyncTurn ? resync : fresh;
    if (taken === undefined) return undefined;
    this.freshInARow = taken === fresh && resync !== undefined ? this.freshInARow + 1 : 0;
    this.queued = this.queued.filter((item) => item !== taken);
    this.inWork.push(taken.key);
    return taken.key;
  }

  done(key: string): void {
    this.inWork = this.inWork.filter((other) => other !== key);
    const dirty = this.dirtyInWork.filter((item) => item.key === key);
    this.dirtyInWork = this.dirtyInWork.filter((item) => item.key !== key);
    this.queued.push(...dirty);
  }
}

const key = fc.constantFrom("a", "b", "c", "d", "e", "f");
const lane = fc.constantFrom<Lane>("fresh", "fresh", "resync");
const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ kind: fc.constant("add" as const), key, lane }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("addAfter" as const),
      key,
      lane,
      delayMs: fc.integer({ min: 0, max: 30 }),
    }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("get" as const) }) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant("done" as const), key }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("pass" as const),
      ms: fc.integer({ min: 0, max: 20 }),
    }),
  },
);

/** Says what differs, or nothing. */
async function compare(commands: readonly Command[]): Promise<string | undefined> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers } = simulation.host("controller");
    const queue = new Workqueue({ clock, timers, name: "model" });
    const model = new Model();
    for (const [index, next] of commands.entries()) {
      switch (next.kind) {
        case "add":
          queue.add(next.key, next.lane);
          model.add(next.key, next.lane);
          break;
        case "addAfter":
          queue.addAfter(next.key, next.delayMs, next.lane);
          model.addAfter(next.key, next.lane, next.delayMs);
          break;
        case "get": {
          const expected = model.get();
          const actual = queue.length === 0 ? undefined : await queue.get();
          if (actual !== expected) return `command ${index}: got ${actual}, not ${expected}`;
          break;
        }
        case "done":
          queue.done(next.key);
          if (model.inWork.includes(next.key)) model.done(next.key);
          break;
        case "pass":
          await timers.sleep(next.ms);
          // Other timers of this instant come first.
          await timers.breathe();
          model.pass(next.ms);
          break;
      }
      if (queue.length !== model.queued.length) {
        return `command ${index}: length ${queue.length}, not ${model.queued.length}`;
      }
    }
    return undefined;
  });
}

test("the queue does what the model does, whatever happens to it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 120, size: "max" }), async (commands) => {
      expect(await compare(commands)).toBeUndefined();
    }),
    { numRuns: 300 },
  );
});

test("several workers never work on one key at once, and every key is worked on after its last add", async () => {
  const adds = fc.array(fc.record({ key, atMs: fc.integer({ min: 0, max: 200 }) }), {
    minLength: 1,
    maxLength: 60,
    size: "max",
  });
  const workMs = fc.integer({ min: 0, max: 40 });
  await fc.assert(
    fc.asyncProperty(adds, workMs, fc.integer({ min: 1, max: 5 }), async (plan, ms, workers) => {
      await simulate({ seed: 1 }, async (simulation) => {
        const { clock, timers } = simulation.host("controller");
        const queue = new Workqueue({ clock, timers, name: "model" });
        const inWork = new Set<string>();
        const lastAdd = new Map<string, number>();
        const lastStart = new Map<string, number>();
        const work = async () => {
          for (;;) {
            const key = await queue.get();
            if (key === undefined) return;
            if (inWork.has(key)) throw new Error(`${key} is worked on twice at once`);
            inWork.add(key);
            lastStart.set(key, clock.monotonicMs());
            await timers.sleep(ms);
            inWork.delete(key);
            queue.done(key);
          }
        };
        const working = Promise.all(Array.from({ length: workers }, work));
        for (const add of plan) {
          simulation.at(add.atMs, () => {
            lastAdd.set(add.key, clock.monotonicMs());
            queue.add(add.key);
          });
        }
        await timers.sleep(200);
        await queue.shutDownWithDrain();
        await working;
        const missed = [...lastAdd].filter(([key, at]) => (lastStart.get(key) ?? -1) < at);
        expect(missed).toEqual([]);
      });
    }),
    { numRuns: 100 },
  );
});
