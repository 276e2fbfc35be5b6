// The storage on a real etcd: the contract that memory keeps too, and what a kill -9 of etcd leaves.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { storageContract } from "../src/apiserver/storage/storage.contract.ts";
import {
  type Storage,
  type StorageEvent,
  StorageTimeoutError,
  StorageUnavailableError,
} from "../src/apiserver/storage/storage.ts";
import { storageHistoriesContract } from "../src/apiserver/storage/storage-histories.contract.ts";
import { EtcdWorld, etcdPrograms, withoutEtcd } from "./etcd-world.ts";
import { useOwnTemporaryFolder } from "./own-temporary-folder.ts";

const histories = { runs: 25, steps: 30, writers: 4, writesEach: 25 };

describe.skipIf(withoutEtcd !== false).each(etcdPrograms)("on $name", ({ program }) => {
  useOwnTemporaryFolder({ inMemory: true });
  let world: EtcdWorld;
  beforeAll(async () => {
    world = await EtcdWorld.start(program);
  });
  afterAll(() => world?.stop());

  storageContract("etcd", () => world.open());
  storageHistoriesContract("etcd", () => world.open(), histories);

  it("gives a list of many large objects whole, whatever fits into one message", async () => {
    const storage = world.storage("/large");
    const value = Buffer.alloc(900_000, "x");
    for (let number = 0; number < 12; number += 1) await storage.put(`/a/${number}`, value, 0);
    const { records, remaining } = await storage.list("/a/");
    expect(records.map((record) => record.value.length)).toEqual(records.map(() => value.length));
    expect([records.length, remaining]).toEqual([12, 0]);
  });

  it("refuses what is too large for etcd, in etcd's words", async () => {
    const storage = world.storage("/too-large");
    const put = storage.put("/a", Buffer.alloc(2_000_000, "x"), 0);
    await expect(put).rejects.toEqual(
      new StorageUnavailableError("etcdserver: request is too large"),
    );
  });

  it("loses nothing acknowledged and shows every write once when etcd is killed mid-write", async () => {
    const writer = new Writer(world.storage("/killed"));
    const witness = new Witness(world.storage("/killed"));
    await witness.begin();
    const writing = Array.from({ length: 8 }, (_, lane) => writer.run(lane));
    for (let kills = 0; kills < 3; kills += 1) {
      const before = writer.acknowledged.size;
      await world.until("writes go through", () => writer.acknowledged.size > before + 100);
      await world.kill();
    }
    const before = writer.acknowledged.size;
    await world.until("writes go through again", () => writer.acknowledged.size > before + 100);
    writer.stop();
    await Promise.all(writing);
    const stored = await storedRevisions(world.storage("/killed"));
    // A write whose answer was lost may be there or not; every other one is, or is not, as was reported.
    const certain = new Map([...stored].filter(([key]) => !writer.unknown.has(key)));
    expect(certain).toEqual(writer.acknowledged);
    const last = Math.max(...stored.values());
    await world.until("the witness has received the last write", () => witness.reached >= last);
    expect(witness.lost).toEqual([]);
    expect(witness.seen).toEqual([...stored].sort(([, one], [, other]) => one - other));
  });
});

/** Writes keys that no other client writes, and knows of each whether it was acknowledged. */
class Writer {
  readonly acknowledged = new Map<string, number>();
  readonly unknown = new Set<string>();
  readonly #storage: Storage;
  #stopped = false;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  stop(): void {
    this.#stopped = true;
  }

  async run(lane: number): Promise<void> {
    for (let number = 0; !this.#stopped; number += 1) {
      const key = `/a/${lane}-${number}`;
      try {
        const result = await this.#storage.put(key, Buffer.from("x"), 0);
        if (!result.done) throw new Error(`another client has written ${key}`);
        this.acknowledged.set(key, result.revision);
      } catch (error) {
        const isUnknown =
          error instanceof StorageUnavailableError || error instanceof StorageTimeoutError;
        if (!isUnknown) throw error;
        this.unknown.add(key);
      }
    }
  }
}

/** Receives every write through one watch that is never restarted. */
class Witness {
  readonly seen: [string, number][] = [];
  readonly lost: Error[] = [];
  reached = 0;
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  async begin(): Promise<void> {
    const { revision } = await this.#storage.get("/a/");
    this.#storage.watch("/a/", revision, {
      onEvent: (event) => this.#hear(event),
      onProgress: (reached) => {
        this.reached = reached;
      },
      onLost: (error) => this.lost.push(error),
    });
  }

  #hear(event: StorageEvent): void {
    if (event.type !== "put") throw new Error(`unexpected removal of ${event.key}`);
    this.seen.push([event.record.key, event.record.revision]);
    this.reached = event.record.revision;
  }
}

async function storedRevisions(storage: Storage): Promise<Map<string, number>> {
  const { records } = await storage.list("/a/");
  return new Map(records.map(({ key, revision }) => [key, revision]));
}
