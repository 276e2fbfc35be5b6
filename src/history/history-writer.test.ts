import { copyFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  keptIn,
  record,
  stuckRecord,
  texts,
  withFolder,
  writerOf,
} from "../../tests/history/history-world.ts";
import { randomInt } from "../environment/random.ts";
import { SeededRandom } from "../simulation/seeded-random.ts";
import { isThorough } from "../simulation/seeds.ts";
import { HistoryDatabase } from "./history-database.ts";
import { leastSizeBytes } from "./history-retention.ts";

test("keeps what is written, in a file that opens again", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const first = writerOf(path);
    expect(first.write(texts(record(1), record(2)))).toBe(0);
    first.close();
    const second = writerOf(path);
    second.write(texts(record(3)));
    second.close();
    expect(keptIn(path)).toEqual([record(1), record(2), record(3)]);
  }));

test("a journey that is written again replaces what was known of it", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    writer.write(texts(stuckRecord(1)));
    expect(keptIn(path)).toEqual([stuckRecord(1)]);
    writer.write(texts(record(1)));
    expect(keptIn(path)).toEqual([record(1)]);
    writer.close();
  }));

test("what a writer left pending is unknown to the next one, and nothing else changes", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const first = writerOf(path);
    first.write(texts(stuckRecord(1), record(2)));
    first.close();
    const second = writerOf(path);
    expect(second.left).toEqual([stuckRecord(1)]);
    expect(keptIn(path)).toEqual([{ ...stuckRecord(1), outcome: "unknown" }, record(2)]);
    second.close();
  }));

test("a second writer is refused and gets the writer's name", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const first = writerOf(path, { pid: 4711 });
    expect(() => writerOf(path)).toThrow(
      `${path} is being written by process 4711: stop it, or give another file`,
    );
    first.write(texts(record(1)));
    first.close();
    writerOf(path).close();
    expect(keptIn(path)).toEqual([record(1)]);
  }));

test("others read while it is written", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    const reader = HistoryDatabase.openToRead(path);
    for (let number = 1; number <= 5; number += 1) {
      writer.write(texts(record(number)));
      expect(reader.number("SELECT count(*) FROM journeys")).toBe(number);
    }
    reader.close();
    writer.close();
  }));

test("a batch that cannot be written whole leaves nothing of it behind", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    expect(() => writer.write([...texts(record(1)), "{}"])).toThrow("cannot write to");
    writer.write(texts(record(2)));
    expect(keptIn(path)).toEqual([record(2)]);
    writer.close();
  }));

test("waits for a program that keeps the file locked, and says so", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path, { busyTimeoutMs: 10 });
    const other = HistoryDatabase.openToWrite(path);
    other.exec("BEGIN IMMEDIATE");
    expect(() => writer.write(texts(record(1)))).toThrow(`another program keeps ${path} locked`);
    other.exec("COMMIT");
    writer.write(texts(record(1)));
    expect(keptIn(path)).toEqual([record(1)]);
    other.close();
    writer.close();
  }));

test("the oldest go first when the file is full, and the files never exceed the bound", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const sizeMaxBytes = 4 * 1024 * 1024;
    const retention = { ageMaxMs: Number.POSITIVE_INFINITY, sizeMaxBytes };
    const writer = writerOf(path, { retention });
    const padding = "x".repeat(4_000);
    let removed = 0;
    let written = 0;
    for (let batch = 0; batch < 40; batch += 1) {
      const records = Array.from({ length: 40 }, () => {
        written += 1;
        return record(written, { cause: padding, service: `shop/web-${written % 97}` });
      });
      removed += writer.write(texts(...records));
      expect(await totalBytes(path)).toBeLessThanOrEqual(sizeMaxBytes);
    }
    expect(removed).toBeGreaterThan(0);
    const kept = keptIn(path).map(({ id }) => id);
    const expected = Array.from(
      { length: written - removed },
      (_, at) => `run-${removed + at + 1}`,
    );
    expect(kept).toEqual(expected);
    writer.close();
  }));

test("a reader that stays makes writers wait rather than let the log grow without bound", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path, { busyTimeoutMs: 10 });
    writer.write(texts(record(1)));
    const reader = HistoryDatabase.openToRead(path);
    reader.exec("BEGIN");
    expect(reader.number("SELECT count(*) FROM journeys")).toBe(1);
    writer.write(texts(record(2)));
    expect(() => writer.emptyLog()).toThrow("another program has been reading");
    reader.exec("COMMIT");
    writer.emptyLog();
    reader.close();
    writer.close();
  }));

test("journeys beyond the age go, step by step, and the disk gets their room back", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const retention = { ageMaxMs: 100_000, sizeMaxBytes: leastSizeBytes };
    const writer = writerOf(path, { retention });
    const records = Array.from({ length: 2_000 }, (_, at) =>
      record(at, { cause: "x".repeat(900) }),
    );
    writer.write(texts(...records));
    writer.emptyLog();
    const before = (await stat(path)).size;
    let removed = 0;
    for (let more = true; more; ) {
      const step = writer.tidy(1_000_000 + 2_000 * 1_000);
      removed += step.removed;
      more = step.more;
      expect(step.removed).toBeLessThanOrEqual(500);
    }
    expect(removed).toBe(1_900);
    expect(keptIn(path).map(({ id }) => id)).toEqual(records.slice(1_900).map(({ id }) => id));
    writer.emptyLog();
    expect((await stat(path)).size).toBeLessThan(before / 2);
    writer.close();
  }));

test.runIf(isThorough(process.env))("a smaller bound than before is reached step by step", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const large = writerOf(path);
    for (let batch = 0; batch < 20; batch += 1) {
      const records = Array.from({ length: 250 }, (_, at) =>
        record(batch * 250 + at, { cause: "x".repeat(4_000) }),
      );
      large.write(texts(...records));
    }
    large.close();
    expect((await stat(path)).size).toBeGreaterThan(leastSizeBytes);
    const retention = { ageMaxMs: Number.POSITIVE_INFINITY, sizeMaxBytes: leastSizeBytes };
    const small = writerOf(path, { retention });
    while (small.tidy(0).more);
    small.emptyLog();
    expect(await totalBytes(path)).toBeLessThanOrEqual(leastSizeBytes);
    expect(keptIn(path).at(-1)?.id).toBe("run-4999");
    small.close();
  }),
);

test("a copy whose log is torn at any byte opens with whole batches, the first ones", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    const batches = 12;
    for (let batch = 0; batch < batches; batch += 1) {
      writer.write(texts(...Array.from({ length: 3 }, (_, at) => record(batch * 3 + at))));
    }
    const log = await readFile(`${path}-wal`);
    await copyFile(path, `${folder}/main`);
    writer.close();
    const random = new SeededRandom({ seed: 7, name: "torn" });
    const seen = new Set<number>();
    for (let copy = 0; copy < 15; copy += 1) {
      const torn = `${folder}/torn-${copy}`;
      await copyFile(`${folder}/main`, torn);
      await writeFile(`${torn}-wal`, log);
      await truncate(`${torn}-wal`, randomInt(random, log.length));
      writerOf(torn).close();
      expect(integrityOf(torn)).toBe("ok");
      const ids = keptIn(torn).map(({ id }) => id);
      expect(ids).toEqual(ids.map((_, at) => `run-${at}`));
      expect(ids.length % 3).toBe(0);
      seen.add(ids.length);
    }
    expect(seen.size).toBeGreaterThan(5);
  }));

function integrityOf(path: string): unknown {
  const database = HistoryDatabase.openToRead(path);
  const [row] = database.rows("PRAGMA integrity_check");
  database.close();
  return row?.["integrity_check"];
}

async function totalBytes(path: string): Promise<number> {
  const sizes = await Promise.all(
    ["", "-wal", "-shm", "-writer"].map((end) =>
      stat(path + end).then(
        ({ size }) => size,
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
