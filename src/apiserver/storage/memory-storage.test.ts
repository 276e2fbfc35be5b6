// The contract of storages, and how far the memory of this one reaches.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Clock, MonotonicMs, WallMs } from "../../environment/clock.ts";
import { compactionIntervalMs, MemoryStorage } from "./memory-storage.ts";
import { type StorageUnderTest, storageContract } from "./storage.contract.ts";
import { CompactedError } from "./storage.ts";
import { storageHistoriesContract } from "./storage-histories.contract.ts";

class HandClock implements Clock {
  nowMs = 0;

  monotonicMs(): MonotonicMs {
    return this.nowMs as MonotonicMs;
  }

  wallMs(): WallMs {
    return this.nowMs as WallMs;
  }
}

async function open(): Promise<StorageUnderTest> {
  const clock = new HandClock();
  const storage = new MemoryStorage({ clock });
  return {
    storage,
    another: async () => storage,
    compact: async () => {
      clock.nowMs += 2 * compactionIntervalMs;
    },
    settle: async () => {
      await new Promise((resolve) => setImmediate(resolve));
    },
    close: async () => undefined,
  };
}

storageContract("memory", open);
storageHistoriesContract("memory", open, { runs: 60, steps: 40, writers: 5, writesEach: 40 });

const value = Buffer.from("x");

describe("the history of a memory storage", () => {
  it("reaches back between one and two compaction intervals", async () => {
    const clock = new HandClock();
    const storage = new MemoryStorage({ clock });
    const readable: Record<string, boolean> = {};
    await storage.put("/a", value, 0);
    const { revision } = await storage.get("/a");
    await storage.put("/b", value, 0);
    for (const minute of [4, 5, 9, 10, 11]) {
      clock.nowMs = minute * 60_000;
      readable[`after ${minute} minutes`] = await storage
        .list("/", { atRevision: revision })
        .then(() => true)
        .catch((error: unknown) => !(error instanceof CompactedError));
    }
    expect(readable).toEqual({
      "after 4 minutes": true,
      "after 5 minutes": true,
      "after 9 minutes": true,
      "after 10 minutes": false,
      "after 11 minutes": false,
    });
  });

  it("is bounded by count, however young", async () => {
    const storage = new MemoryStorage({ clock: new HandClock(), historyLimit: 10 });
    for (let number = 0; number < 30; number++) await storage.put(`/a/${number}`, value, 0);
    const { revision } = await storage.get("/a/0");
    const oldest = revision - 10;
    expect((await storage.list("/a/", { atRevision: oldest })).records).toHaveLength(20);
    await expect(storage.list("/a/", { atRevision: oldest - 1 })).rejects.toEqual(
      new CompactedError(oldest),
    );
  });

  it("shows at every revision and every page exactly what was there then", async () => {
    const step = fc.record({ key: fc.nat({ max: 12 }), remove: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), check),
      { numRuns: 100 },
    );

    async function check(
      steps: readonly { key: number; remove: boolean }[],
      limit: number,
    ): Promise<void> {
      const storage = new MemoryStorage({ clock: new HandClock() });
      const expected = new Map<number, string[]>();
      const present = new Map<string, number>();
      for (const step of steps) {
        const key = `/a/${step.key}`;
        const known = present.get(key) ?? 0;
        if (step.remove && known === 0) continue;
        const result = step.remove
          ? await storage.delete(key, known)
          : await storage.put(key, value, known);
        if (!result.done) throw new Error("the write was refused");
        if (step.remove) present.delete(key);
        else present.set(key, result.revision);
        const state = [...present].map(([name, revision]) => `${name}@${revision}`);
        expected.set(result.revision, state.sort(byKey));
      }
      for (const [atRevision, state] of expected) {
        const listed: string[] = [];
        let afterKey: string | undefined;
        for (;;) {
          const page = await storage.list("/a/", {
            atRevision,
            limit,
            ...(afterKey === undefined ? {} : { afterKey }),
          });
          listed.push(...page.records.map((record) => `${record.key}@${record.revision}`));
          expect(page.remaining).toBe(state.length - listed.length);
          if (page.remaining === 0) break;
          afterKey = page.records.at(-1)?.key;
        }
        expect(listed).toEqual(state);
      }
    }
  });
});

function byKey(left: string, right: string): number {
  const [leftKey = ""] = left.split("@");
  const [rightKey = ""] = right.split("@");
  return leftKey < rightKey ? -1 : 1;
}

describe("a copy of a memory storage", () => {
  it("holds the same and goes its own way", async () => {
    const clock = new HandClock();
    const storage = new MemoryStorage({ clock });
    await storage.put("/a", value, 0);
    await storage.put("/b", value, 0);
    const copy = storage.copy({ clock });
    expect(await copy.list("/")).toEqual(await storage.list("/"));
    const written = await copy.put("/c", value, 0);
    await storage.delete("/a", 2);
    expect(written).toEqual({ done: true, revision: 4 });
    expect((await copy.list("/")).records.map(({ key }) => key)).toEqual(["/a", "/b", "/c"]);
    expect((await storage.list("/")).records.map(({ key }) => key)).toEqual(["/b"]);
  });

  it("knows nothing of what came before it", async () => {
    const clock = new HandClock();
    const storage = new MemoryStorage({ clock });
    await storage.put("/a", value, 0);
    await storage.put("/b", value, 0);
    const copy = storage.copy({ clock });
    await expect(copy.list("/", { atRevision: 2 })).rejects.toBeInstanceOf(CompactedError);
  });
});
