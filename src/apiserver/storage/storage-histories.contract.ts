// Contract of every storage over whole histories, of one writer and of several: it is compared with
// a model that keeps every state. Called from the test file of each implementation.
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { StorageUnderTest } from "./storage.contract.ts";
import type { Storage, StorageEvent } from "./storage.ts";

export interface HistoriesSize {
  /** How many random histories. */
  readonly runs: number;
  readonly steps: number;
  readonly writers: number;
  readonly writesEach: number;
}

interface Step {
  readonly key: number;
  readonly do: "put" | "delete" | "stale put" | "stale delete";
}

const stepArbitrary: fc.Arbitrary<Step> = fc.record({
  key: fc.nat({ max: 6 }),
  do: fc.constantFrom("put", "put", "put", "delete", "stale put", "stale delete"),
});

export function storageHistoriesContract(
  name: string,
  open: () => Promise<StorageUnderTest>,
  size: HistoriesSize,
): void {
  describe(`${name} over whole histories`, () => {
    let subject: StorageUnderTest;
    beforeEach(async () => {
      subject = await open();
    });
    afterEach(() => subject.close());

    it("does what a model does, and shows every state and every tail of it afterwards", async () => {
      let run = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(stepArbitrary, { maxLength: size.steps }),
          fc.integer({ min: 1, max: 4 }),
          async (steps, limit) => {
            run += 1;
            const history = new History(subject.storage, `/run-${run}/`);
            await history.play(steps);
            await history.expectStates(limit);
            await history.expectTails(() => subject.settle());
          },
        ),
        { numRuns: size.runs },
      );
      expect(run).toBe(size.runs);
    });

    it("counts each acknowledged write of several writers once, and no other write", async () => {
      const storages = await Promise.all(
        Array.from({ length: size.writers }, () => subject.another()),
      );
      const seen: number[] = [];
      const { revision: from } = await subject.storage.get("/count");
      const watch = subject.storage.watch("/count", from, {
        onEvent: (event) => seen.push(countOf(event)),
        onProgress: () => undefined,
        onLost: (error) => expect.fail(error.message),
      });
      const won = await Promise.all(
        storages.map((storage) => countUp(storage, "/count", size.writesEach)),
      );
      const total = size.writers * size.writesEach;
      const { record } = await subject.storage.get("/count");
      expect(Number(text(record?.value))).toBe(total);
      const revisions = won.flat();
      expect(new Set(revisions).size).toBe(total);
      expect(Math.max(...revisions)).toBe(record?.revision);
      await subject.settle();
      watch.stop();
      expect(seen).toEqual(Array.from({ length: total }, (_, index) => index + 1));
    });

    it("shows a write to every other writer as soon as it is acknowledged", async () => {
      const [one, other] = [await subject.another(), await subject.another()];
      for (let number = 0; number < size.writesEach; number += 1) {
        const key = `/seen/${number}`;
        const written = await one.put(key, bytes("x"), 0);
        const { record, revision } = await other.get(key);
        expect(written).toEqual({ done: true, revision: record?.revision });
        expect(revision).toBeGreaterThanOrEqual(record?.revision ?? Number.POSITIVE_INFINITY);
      }
    });
  });
}

/** One random history and what must have come of it. */
class History {
  readonly #storage: Storage;
  readonly #prefix: string;
  readonly #present = new Map<string, { revision: number; text: string }>();
  /** The state after each write, by its revision. */
  readonly #states = new Map<number, readonly string[]>();
  readonly #events: { readonly revision: number; readonly shown: string }[] = [];
  #first = 0;

  constructor(storage: Storage, prefix: string) {
    this.#storage = storage;
    this.#prefix = prefix;
  }

  async play(steps: readonly Step[]): Promise<void> {
    this.#first = (await this.#storage.get(this.#prefix)).revision;
    for (const [number, step] of steps.entries()) await this.#play(step, number);
  }

  async #play(step: Step, number: number): Promise<void> {
    const key = `${this.#prefix}${step.key}`;
    const present = this.#present.get(key);
    const isStale = step.do.startsWith("stale");
    const expected = (present?.revision ?? 0) + (isStale ? -1 : 0);
    const written = `value ${number}`;
    const result = step.do.endsWith("put")
      ? await this.#storage.put(key, bytes(written), expected)
      : await this.#storage.delete(key, expected);
    if (isStale || (step.do === "delete" && present === undefined)) {
      expect(result.done).toBe(false);
      const current = result.done ? undefined : result.current;
      expect(current && { revision: current.revision, text: text(current.value) }).toEqual(present);
      return;
    }
    if (!result.done) throw new Error(`step ${number} was refused`);
    const { revision } = result;
    if (step.do === "put") this.#present.set(key, { revision, text: written });
    else this.#present.delete(key);
    this.#states.set(revision, [...this.#present].map(shownEntry).sort());
    const value = step.do === "put" ? ` ${written}` : "";
    const was = present === undefined ? "nothing" : present.text;
    this.#events.push({ revision, shown: `${step.do} ${key}@${revision}${value} was ${was}` });
  }

  async expectStates(limit: number): Promise<void> {
    for (const [atRevision, state] of this.#states) {
      const listed: string[] = [];
      let afterKey: string | undefined;
      for (;;) {
        const after = afterKey === undefined ? {} : { afterKey };
        const page = await this.#storage.list(this.#prefix, { atRevision, limit, ...after });
        for (const { key, revision, value } of page.records) {
          listed.push(shownEntry([key, { revision, text: text(value) }]));
        }
        expect([page.revision, page.remaining]).toEqual([atRevision, state.length - listed.length]);
        if (page.remaining === 0) break;
        afterKey = page.records.at(-1)?.key;
      }
      expect(listed).toEqual(state);
    }
  }

  /** From each revision, the watch brings exactly what came after it. */
  async expectTails(settle: () => Promise<void>): Promise<void> {
    const starts = [this.#first, ...this.#states.keys()];
    const tails = starts.map((from) => {
      const events: string[] = [];
      const watch = this.#storage.watch(this.#prefix, from, {
        onEvent: (event) => events.push(shownEvent(event)),
        onProgress: () => undefined,
        onLost: (error) => events.push(`lost: ${error.message}`),
      });
      return { from, events, watch };
    });
    await settle();
    for (const { from, events, watch } of tails) {
      watch.stop();
      const later = this.#events.filter(({ revision }) => revision > from);
      expect(events).toEqual(later.map(({ shown }) => shown));
    }
  }
}

/** Adds one so many times, over other writers; the revisions of what was acknowledged. */
async function countUp(storage: Storage, key: string, times: number): Promise<readonly number[]> {
  const revisions: number[] = [];
  let { record } = await storage.get(key);
  while (revisions.length < times) {
    const next = String(Number(text(record?.value) || "0") + 1);
    const result = await storage.put(key, bytes(next), record?.revision ?? 0);
    if (result.done) {
      revisions.push(result.revision);
      record = { key, value: bytes(next), revision: result.revision };
    } else {
      record = result.current;
    }
  }
  return revisions;
}

function countOf(event: StorageEvent): number {
  return event.type === "put" ? Number(text(event.record.value)) : Number.NaN;
}

function shownEntry([key, { revision, text: value }]: readonly [
  string,
  { readonly revision: number; readonly text: string },
]): string {
  return `${key}@${revision} ${value}`;
}

function shownEvent(event: StorageEvent): string {
  const was = event.previous === undefined ? "nothing" : text(event.previous.value);
  if (event.type === "delete") return `delete ${event.key}@${event.revision} was ${was}`;
  const { key, revision, value } = event.record;
  return `put ${key}@${revision} ${text(value)} was ${was}`;
}

function text(value: Uint8Array | undefined): string {
  return value === undefined ? "" : Buffer.from(value).toString("utf8");
}

function bytes(value: string): Uint8Array {
  return Buffer.from(value, "utf8");
}
