// The storage on etcd where etcd or the way to it fails, in virtual time. Without
// failures it keeps the contract of storages, on a real etcd in the end-to-end tests.
import { describe, expect, it } from "vitest";
import { EtcdModel } from "../../../../tests/apiserver/etcd-model.ts";
import { type Simulation, simulate } from "../../../simulation/simulation.ts";
import {
  CompactedError,
  type Storage,
  type StorageEvent,
  StorageTimeoutError,
  StorageUnavailableError,
} from "../storage.ts";
import { EtcdStorage, type EtcdStorageOptions } from "./etcd-storage.ts";

const value = Buffer.from("x");
const minuteMs = 60_000;

interface World {
  readonly simulation: Simulation;
  readonly etcd: EtcdModel;
  readonly storage: EtcdStorage;
  /** Another server's. */
  readonly another: (options?: Partial<EtcdStorageOptions>) => EtcdStorage;
}

function inEtcdWorld(seed: number, run: (world: World) => Promise<void>): Promise<void> {
  return simulate({ seed }, async (simulation) => {
    const etcd = new EtcdModel(simulation.host("etcd"), "etcd");
    await etcd.start();
    const storages: EtcdStorage[] = [];
    const another: World["another"] = (options = {}) => {
      const environment = simulation.host(`server-${storages.length}`);
      const endpoints = [etcd.url];
      const storage = new EtcdStorage({ ...environment, endpoints, compactEveryMs: 0, ...options });
      storages.push(storage);
      return storage;
    };
    await run({ simulation, etcd, storage: another(), another });
    for (const storage of storages) storage.stop();
    await etcd.stop();
  });
}

describe("a write", () => {
  it("whose answer is lost is not repeated, and not reported as failed", () =>
    inEtcdWorld(1, async ({ etcd, storage }) => {
      etcd.fate = () => "lost";
      const message = "rpc error: code = Unavailable desc = error reading from server: EOF";
      await expect(storage.put("/a", value, 0)).rejects.toEqual(
        new StorageUnavailableError(message),
      );
      expect(etcd.calls).toEqual(["kv/txn"]);
      etcd.fate = () => "answered";
      expect((await storage.get("/a")).record?.revision).toBe(2);
    }));

  it("waits for an etcd that is away, and is done when it is back", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage }) => {
      await etcd.stop();
      simulation.at(simulation.now() + 20_000, () => void etcd.start());
      expect(await storage.put("/a", value, 0)).toEqual({ done: true, revision: 2 });
      expect(simulation.now()).toBeGreaterThan(20_000);
    }));

  it("gives up when etcd stays away for 34 seconds, a read after 60", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage }) => {
      await etcd.stop();
      const waited: Record<string, number> = {};
      const from = simulation.now();
      const write = storage.put("/a", value, 0).catch((error: unknown) => {
        waited["write"] = Math.round(simulation.now() - from);
        return error;
      });
      const read = storage.get("/a").catch((error: unknown) => {
        waited["read"] = Math.round(simulation.now() - from);
        return error;
      });
      expect(await write).toEqual(new StorageTimeoutError("write", "context deadline exceeded"));
      expect(await read).toEqual(new StorageTimeoutError("read", "context deadline exceeded"));
      expect(waited).toEqual({ write: 34_000, read: 60_000 });
    }));
});

it("repeats a read until an answer arrives whole", () =>
  inEtcdWorld(1, async ({ etcd, storage }) => {
    await storage.put("/a", value, 0);
    let lost = 3;
    etcd.fate = () => {
      lost -= 1;
      return lost >= 0 ? "lost" : "answered";
    };
    expect((await storage.list("/")).records.map(({ key }) => key)).toEqual(["/a"]);
    expect(etcd.calls).toEqual(["kv/txn", "kv/range", "kv/range", "kv/range", "kv/range"]);
  }));

it("goes to another member when one is away", () =>
  inEtcdWorld(1, async ({ etcd, another }) => {
    const storage = another({ endpoints: ["http://nowhere:2379", etcd.url] });
    expect(await storage.put("/a", value, 0)).toEqual({ done: true, revision: 2 });
  }));

it("removes nothing where nothing is, whatever revision that has", () =>
  inEtcdWorld(1, async ({ etcd, storage }) => {
    const refused = { done: false, current: undefined };
    expect(await storage.delete("/none", 0)).toEqual(refused);
    expect(await storage.delete("/none", 7)).toEqual(refused);
    expect(etcd.revision).toBe(1);
  }));

it("ends what is under way when it is stopped", () =>
  inEtcdWorld(1, async ({ etcd, storage }) => {
    await etcd.stop();
    const read = storage.get("/a");
    storage.stop();
    await expect(read).rejects.toEqual(new StorageUnavailableError("the storage has been stopped"));
  }));

describe("a watch", () => {
  it("goes on where its connection broke, also in the middle of a line", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage }) => {
      const seen = record(storage, "/a/", 1);
      let lines = 0;
      etcd.cutLineAt = (line) => {
        lines += 1;
        return lines % 3 === 0 ? lines % line.length : undefined;
      };
      await writeAll(storage, 40);
      etcd.cutLineAt = undefined;
      await simulation.sleep(minuteMs);
      expect(seen).toEqual({ revisions: upTo(41), lost: [] });
    }));

  it("goes on after etcd was away, though it was away for long", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage, another }) => {
      const seen = record(storage, "/a/", 1);
      await writeAll(storage, 3);
      await etcd.stop();
      await simulation.sleep(2 * minuteMs);
      await etcd.start();
      await another().put("/a/later", value, 0);
      await simulation.sleep(minuteMs);
      expect(seen).toEqual({ revisions: upTo(5), lost: [] });
    }));

  it("is lost when what it missed has been compacted", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage, another }) => {
      const seen = record(storage, "/a/", 1);
      await writeAll(storage, 2);
      await simulation.sleep(100);
      etcd.cutLineAt = () => 0;
      await writeAll(another(), 5, "/a/more-");
      etcd.compact(etcd.revision);
      etcd.cutLineAt = undefined;
      await simulation.sleep(minuteMs);
      expect(seen).toEqual({ revisions: [2, 3], lost: [new CompactedError(8)] });
    }));

  it("is lost when etcd has less than it had", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage }) => {
      const seen = record(storage, "/a/", 1);
      await writeAll(storage, 5);
      await simulation.sleep(100);
      await etcd.stop();
      etcd.forgetEverything();
      await etcd.start();
      await simulation.sleep(minuteMs);
      expect(seen.lost).toEqual([new Error("etcd went back from revision 6 to 1")]);
    }));

  it("from further back than the others joins them once it has caught up", () =>
    inEtcdWorld(1, async ({ simulation, etcd, storage }) => {
      await writeAll(storage, 10);
      const present = record(storage, "/a/", 11);
      await simulation.sleep(100);
      const late = record(storage, "/a/", 1);
      await simulation.sleep(100);
      await writeAll(storage, 2, "/a/more-");
      await simulation.sleep(100);
      expect([present, late]).toEqual([
        { revisions: [12, 13], lost: [] },
        { revisions: upTo(13), lost: [] },
      ]);
      const opened = etcd.calls.filter((path) => path === "watch").length;
      expect({ opened, open: etcd.watches }).toEqual({ opened: 2, open: 1 });
    }));

  it("that cannot take an event is lost alone", () =>
    inEtcdWorld(1, async ({ simulation, storage }) => {
      const lost: Error[] = [];
      storage.watch("/a/", 1, {
        onEvent: () => {
          throw new Error("not JSON");
        },
        onProgress: () => undefined,
        onLost: (error) => lost.push(error),
      });
      const seen = record(storage, "/a/", 1);
      await writeAll(storage, 2);
      await simulation.sleep(100);
      expect(lost).toEqual([new Error("not JSON")]);
      expect(seen).toEqual({ revisions: [2, 3], lost: [] });
    }));
});

it("compacts once in five minutes to where it was five minutes before, whichever server does it", () =>
  inEtcdWorld(1, async ({ simulation, etcd, another }) => {
    const servers = [0, 1, 2].map(() => another({ compactEveryMs: 5 * minuteMs }));
    const compactedAfter: Record<string, number> = {};
    for (let minute = 1; minute <= 17; minute += 1) {
      await servers[minute % 3]?.put(`/a/${minute}`, value, 0);
      await simulation.sleep(minuteMs);
      if (minute % 6 === 5) compactedAfter[`${minute} min`] = etcd.compacted;
    }
    const compactions = etcd.calls.filter((path) => path === "kv/compaction");
    expect({ compactedAfter, compactions: compactions.length }).toEqual({
      compactedAfter: { "5 min": 0, "11 min": 7, "17 min": 13 },
      compactions: 2,
    });
  }));

it.each([1, 2, 3])("counts right over broken connections, seed %i", (seed) =>
  inEtcdWorld(seed, async ({ simulation, etcd, storage, another }) => {
    const seen = record(storage, "/count", 1);
    etcd.fate = () => (simulation.random.next() < 0.1 ? "lost" : "answered");
    etcd.cutLineAt = (line) =>
      simulation.random.next() < 0.1
        ? Math.floor(simulation.random.next() * line.length)
        : undefined;
    const outcomes = await Promise.all([0, 1, 2].map(() => countUp(another(), 12)));
    etcd.fate = () => "answered";
    etcd.cutLineAt = undefined;
    const { record: last } = await storage.get("/count");
    const stored = Number(Buffer.from(last?.value ?? []).toString("utf8"));
    const acknowledged = outcomes.reduce((sum, { done }) => sum + done, 0);
    const unknown = outcomes.reduce((sum, one) => sum + one.unknown, 0);
    expect(acknowledged).toBe(36);
    expect(stored).toBe(etcd.revision - 1);
    expect(stored).toBeGreaterThanOrEqual(acknowledged);
    expect(stored).toBeLessThanOrEqual(acknowledged + unknown);
    await simulation.sleep(minuteMs);
    expect(seen).toEqual({ revisions: upTo(etcd.revision), lost: [] });
  }),
);

/** Counts up until the storage has acknowledged so many writes. */
async function countUp(
  storage: Storage,
  times: number,
): Promise<{ done: number; unknown: number }> {
  const count = { done: 0, unknown: 0 };
  while (count.done < times) {
    const { record: current } = await storage.get("/count");
    const next = Number(Buffer.from(current?.value ?? []).toString("utf8")) + 1;
    try {
      const result = await storage.put("/count", Buffer.from(String(next)), current?.revision ?? 0);
      if (result.done) count.done += 1;
    } catch (error) {
      if (!(error instanceof StorageUnavailableError)) throw error;
      count.unknown += 1;
    }
  }
  return count;
}

async function writeAll(storage: Storage, count: number, prefix = "/a/"): Promise<void> {
  for (let number = 0; number < count; number += 1) {
    await storage.put(`${prefix}${number}`, value, 0);
  }
}

function record(storage: Storage, prefix: string, from: number) {
  const seen: { readonly revisions: number[]; readonly lost: Error[] } = {
    revisions: [],
    lost: [],
  };
  storage.watch(prefix, from, {
    onEvent: (event) => seen.revisions.push(revisionOf(event)),
    onProgress: () => undefined,
    onLost: (error) => seen.lost.push(error),
  });
  return seen;
}

function revisionOf(event: StorageEvent): number {
  return event.type === "put" ? event.record.revision : event.revision;
}

/** From the first write on, which has revision 2. */
function upTo(revision: number): readonly number[] {
  return Array.from({ length: revision - 1 }, (_, index) => index + 2);
}
