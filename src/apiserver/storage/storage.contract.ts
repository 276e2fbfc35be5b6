// Contract of every storage. Called from the test file of each implementation. Revisions are
// compared with each other and never with fixed numbers, because a shared etcd does not begin where
// a fresh memory does.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { CompactedError, type Storage, type StorageEvent, type StoredRecord } from "./storage.ts";

export interface StorageUnderTest {
  readonly storage: Storage;
  /**
   * The storage of another server of the same cluster: the same storage, or one on the same etcd.
   */
  another(): Promise<Storage>;
  /** Forgets history up to the present, as the implementation's compactor would. */
  compact(): Promise<void>;
  /** Resolves when everything written so far has reached the watches. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

export function storageContract(name: string, open: () => Promise<StorageUnderTest>): void {
  describe(`${name} as a storage`, () => {
    let subject: StorageUnderTest;
    let storage: Storage;

    beforeEach(async () => {
      subject = await open();
      storage = subject.storage;
    });
    afterEach(() => subject.close());

    /** Writes unconditionally and gives the revision. */
    async function write(key: string, text: string): Promise<number> {
      const { record } = await storage.get(key);
      const result = await storage.put(key, bytes(text), record?.revision ?? 0);
      if (!result.done) throw new Error(`the write of ${key} was refused`);
      return result.revision;
    }

    async function remove(key: string): Promise<number> {
      const { record } = await storage.get(key);
      const result = await storage.delete(key, record?.revision ?? 0);
      if (!result.done) throw new Error(`the removal of ${key} was refused`);
      return result.revision;
    }

    it("gives back what was put, with the revision that wrote it", async () => {
      const revision = await write("/a/1", "one");
      const { record, revision: now } = await storage.get("/a/1");
      expect(shown(record)).toEqual({ key: "/a/1", text: "one", revision });
      expect(now).toBe(revision);
    });

    it("knows nothing of a key that was never put", async () => {
      expect((await storage.get("/a/none")).record).toBeUndefined();
    });

    it("raises the revision by one with each write, over all keys", async () => {
      const first = await write("/a/1", "one");
      expect(await write("/b/1", "two")).toBe(first + 1);
      expect(await remove("/a/1")).toBe(first + 2);
    });

    it("refuses to create a key that exists and says what is there", async () => {
      const revision = await write("/a/1", "one");
      const result = await storage.put("/a/1", bytes("other"), 0);
      expect(result.done).toBe(false);
      expect(shown(result.done ? undefined : result.current)).toEqual({
        key: "/a/1",
        text: "one",
        revision,
      });
      expect((await storage.get("/a/1")).revision).toBe(revision);
    });

    it("refuses to write over a version other than the expected one", async () => {
      const old = await write("/a/1", "one");
      const current = await write("/a/1", "two");
      const put = await storage.put("/a/1", bytes("three"), old);
      const removal = await storage.delete("/a/1", old);
      const there = { key: "/a/1", text: "two", revision: current };
      expect([put, removal].map((result) => !result.done && shown(result.current))).toEqual([
        there,
        there,
      ]);
    });

    it("refuses to write over or remove a key that is gone", async () => {
      const revision = await write("/a/1", "one");
      await remove("/a/1");
      const refused = { done: false, current: undefined };
      expect(await storage.put("/a/1", bytes("two"), revision)).toEqual(refused);
      expect(await storage.delete("/a/1", revision)).toEqual(refused);
    });

    it("lists the keys under a prefix in order and no others", async () => {
      for (const key of ["/a/b/2", "/a/b1", "/a/b/1", "/a/a/9", "/a/b/10", "/b/1"]) {
        await write(key, key);
      }
      const revision = await write("/c/1", "last");
      const list = await storage.list("/a/b/");
      expect({ ...list, records: list.records.map((record) => record.key) }).toEqual({
        records: ["/a/b/1", "/a/b/10", "/a/b/2"],
        revision,
        remaining: 0,
      });
    });

    it("lists in pages, each saying how many records follow", async () => {
      for (const number of [1, 2, 3, 4, 5]) await write(`/a/${number}`, "x");
      await write("/b/1", "x");
      const pages: unknown[] = [];
      let afterKey: string | undefined;
      do {
        const options = afterKey === undefined ? { limit: 2 } : { limit: 2, afterKey };
        const page = await storage.list("/a/", options);
        pages.push([page.records.map((record) => record.key), page.remaining]);
        afterKey = page.remaining > 0 ? page.records.at(-1)?.key : undefined;
      } while (afterKey !== undefined);
      expect(pages).toEqual([
        [["/a/1", "/a/2"], 3],
        [["/a/3", "/a/4"], 1],
        [["/a/5"], 0],
      ]);
    });

    it("lists as it was at an older revision, page by page", async () => {
      await write("/a/1", "old");
      await write("/a/2", "stays");
      await write("/a/3", "goes");
      const atRevision = await write("/a/5", "last");
      await write("/a/1", "new");
      await remove("/a/3");
      await write("/a/4", "came later");
      const first = await storage.list("/a/", { atRevision, limit: 2 });
      const second = await storage.list("/a/", { atRevision, limit: 2, afterKey: "/a/2" });
      expect(
        [first, second].map(({ records, revision, remaining }) => ({
          records: records.map((record) => `${record.key}=${shown(record)?.text}`),
          revision,
          remaining,
        })),
      ).toEqual([
        { records: ["/a/1=old", "/a/2=stays"], revision: atRevision, remaining: 2 },
        { records: ["/a/3=goes", "/a/5=last"], revision: atRevision, remaining: 0 },
      ]);
    });

    it("refuses to list at a revision of the future", async () => {
      const revision = await write("/a/1", "one");
      await expect(storage.list("/a/", { atRevision: revision + 1 })).rejects.toThrow();
    });

    it("refuses to list at a compacted revision and goes on listing the present", async () => {
      const old = await write("/a/1", "one");
      const present = await write("/a/1", "two");
      await subject.compact();
      await expect(storage.list("/a/", { atRevision: old })).rejects.toThrow(CompactedError);
      const list = await storage.list("/a/", { atRevision: present });
      expect(list.records.map(shown)).toEqual([{ key: "/a/1", text: "two", revision: present }]);
    });

    it("delivers every event under the prefix after the revision, in order, each once", async () => {
      await write("/a/1", "before");
      const from = await write("/a/2", "before");
      await write("/a/1", "replayed");
      await write("/b/1", "elsewhere");
      const seen = record(storage, "/a/", from);
      await subject.settle();
      await write("/a/3", "live");
      await remove("/a/2");
      await write("/a", "not under the prefix");
      await write("/a/3", "again");
      await subject.settle();
      seen.stop();
      expect(seen.events).toEqual([
        `put /a/1=replayed@${from + 1} was before@${from - 1}`,
        `put /a/3=live@${from + 3} was nothing`,
        `delete /a/2@${from + 4} was before@${from}`,
        `put /a/3=again@${from + 6} was live@${from + 3}`,
      ]);
    });

    it("delivers nothing more once stopped, and stopping twice is harmless", async () => {
      const from = await write("/a/1", "one");
      const seen = record(storage, "/a/", from);
      seen.stop();
      seen.stop();
      await write("/a/1", "two");
      await subject.settle();
      expect(seen).toMatchObject({ events: [], progress: [], lost: [] });
    });

    it("lets a watch start in the future and skips what comes before", async () => {
      const now = await write("/a/1", "one");
      const seen = record(storage, "/a/", now + 1);
      await write("/a/1", "skipped");
      await write("/a/1", "seen");
      await subject.settle();
      seen.stop();
      expect(seen.events).toEqual([`put /a/1=seen@${now + 2} was skipped@${now + 1}`]);
    });

    it("tells a watch how far it is though nothing under its prefix changed", async () => {
      const from = await write("/a/1", "one");
      const seen = record(storage, "/a/", from);
      const last = await write("/b/1", "elsewhere");
      await subject.settle();
      seen.stop();
      expect(seen.events).toEqual([]);
      expect(seen.progress.at(-1)).toBe(last);
    });

    it("ends a watch that asks for compacted history", async () => {
      const from = await write("/a/1", "one");
      await write("/a/1", "two");
      await write("/a/1", "three");
      await subject.compact();
      const seen = record(storage, "/a/", from);
      await subject.settle();
      expect(seen.events).toEqual([]);
      expect(seen.lost).toEqual([expect.any(CompactedError)]);
    });

    it("keeps a watch that is up to date when history is compacted", async () => {
      const from = await write("/a/1", "one");
      const seen = record(storage, "/a/", from);
      await subject.settle();
      await subject.compact();
      await write("/a/1", "two");
      await subject.settle();
      seen.stop();
      expect(seen.events).toEqual([`put /a/1=two@${from + 1} was one@${from}`]);
      expect(seen.lost).toEqual([]);
    });

    it("lets a watcher write without disturbing the order others see", async () => {
      const from = await write("/a/start", "x");
      const writes: Promise<number>[] = [];
      const echo = storage.watch("/a/", from, {
        onEvent: (event) => {
          const key = keyOf(event);
          if (!key.startsWith("/a/echo")) writes.push(write(`/a/echo${key}`, "x"));
        },
        onProgress: () => undefined,
        onLost: () => undefined,
      });
      const seen = record(storage, "/a/", from);
      await Promise.all([write("/a/1", "x"), write("/a/2", "x")]);
      await subject.settle();
      await Promise.all(writes);
      await subject.settle();
      echo.stop();
      seen.stop();
      // The two echoes race each other in a storage that is asked over a network.
      const keys = seen.events.map((text) => text.split(/[ =]/)[1]);
      expect(new Set(keys)).toEqual(new Set(["/a/1", "/a/2", "/a/echo/a/1", "/a/echo/a/2"]));
      const revisions = seen.events.map((text) => Number(/@(\d+)/.exec(text)?.[1]));
      expect(revisions).toEqual([1, 2, 3, 4].map((later) => from + later));
    });
  });
}

interface Seen {
  readonly events: string[];
  readonly progress: number[];
  readonly lost: Error[];
  stop(): void;
}

function record(storage: Storage, prefix: string, from: number): Seen {
  const events: string[] = [];
  const progress: number[] = [];
  const lost: Error[] = [];
  const watch = storage.watch(prefix, from, {
    onEvent: (event) => events.push(describeEvent(event)),
    onProgress: (revision) => progress.push(revision),
    onLost: (error) => lost.push(error),
  });
  return { events, progress, lost, stop: () => watch.stop() };
}

function describeEvent(event: StorageEvent): string {
  const { previous } = event;
  const was = previous === undefined ? "nothing" : `${shown(previous)?.text}@${previous.revision}`;
  if (event.type === "delete") return `delete ${event.key}@${event.revision} was ${was}`;
  const { key, revision } = event.record;
  return `put ${key}=${shown(event.record)?.text}@${revision} was ${was}`;
}

function keyOf(event: StorageEvent): string {
  return event.type === "put" ? event.record.key : event.key;
}

function shown(
  record: StoredRecord | undefined,
): { key: string; text: string; revision: number } | undefined {
  if (record === undefined) return undefined;
  const { key, value, revision } = record;
  return { key, text: Buffer.from(value).toString("utf8"), revision };
}

function bytes(text: string): Uint8Array {
  return Buffer.from(text, "utf8");
}
