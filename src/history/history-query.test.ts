import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import {
  environment,
  record,
  stuckRecord,
  texts,
  withFolder,
  writerOf,
} from "../../tests/history/history-world.ts";
import type { WallMs } from "../environment/clock.ts";
import { HistoryDatabase } from "./history-database.ts";
import { type HistoryOrder, type HistoryQuery, pageSql } from "./history-query.ts";
import { HistoryReader } from "./history-reader.ts";
import type { HistoryWriter } from "./history-writer.ts";

const { files } = environment;

const slow = (number: number, lagMs: number) =>
  record(number, { hops: [{ hop: "published", witness: "east", state: "shown", lagMs }] });

const kept = [
  record(1),
  record(2, { service: "shop/cart" }),
  record(3, { cluster: "west" }),
  record(4, { direction: "join" }),
  stuckRecord(5),
  slow(6, 90_000),
  slow(7, 2_000),
  record(8, { cluster: null }),
  record(9, { hops: [{ hop: "traffic", witness: "log", state: "shown", lagMs: 3_600_000 }] }),
];

const at = (number: number) => record(number).originMs;

const cases: readonly (readonly [string, HistoryQuery, HistoryOrder, readonly number[]])[] = [
  ["everything", {}, "oldest first", [1, 2, 3, 4, 5, 6, 7, 8, 9]],
  ["the latest first", {}, "latest first", [9, 8, 7, 6, 5, 4, 3, 2, 1]],
  ["a time", { since: at(3), until: at(5) }, "oldest first", [3, 4]],
  ["a service", { service: "shop/cart" }, "oldest first", [2]],
  ["a cluster", { cluster: "west" }, "oldest first", [3]],
  ["joins", { direction: "join" }, "oldest first", [4]],
  ["what is stuck", { stuck: true }, "oldest first", [5]],
  ["what is slow, and what is stuck with it", { slowerThanMs: 2_000 }, "oldest first", [5, 6, 7]],
  ["the slowest first, what is stuck before all", { slowerThanMs: 40 }, "slowest first", [5, 6, 7]],
  [
    "several at once",
    { service: "shop/web", since: at(4), cluster: "east", slowerThanMs: 1 },
    "latest first",
    [7, 6, 5, 4],
  ],
  ["nothing", { service: "shop/none" }, "oldest first", []],
];

describe("asking a history", () => {
  let folder: string;
  let writer: HistoryWriter;
  let reader: HistoryReader;

  beforeAll(async () => {
    folder = await files.temporaryDirectory("history-");
    const path = `${folder}/h.db`;
    writer = writerOf(path);
    writer.write(texts(...kept));
    reader = await HistoryReader.open({ files, path });
  });

  afterAll(async () => {
    reader.close();
    writer.close();
    await files.remove(folder);
  });

  it.each(cases)("finds %s", (_, query, order, expected) => {
    const found = expected.map((number) => kept[number - 1]);
    expect([...reader.records(query, { order })]).toEqual(found);
    expect([...reader.records(query, { order, limit: 2 })]).toEqual(found.slice(0, 2));
  });

  it("finds what was stuck once it has arrived after all", () =>
    withFolder(async (folder) => {
      const path = `${folder}/h.db`;
      const writer = writerOf(path);
      writer.write(texts(stuckRecord(1), record(2)));
      writer.write(texts(slow(1, 31_000)));
      const reader = await HistoryReader.open({ files, path });
      const order = "oldest first";
      expect([...reader.records({ stuck: true }, { order })]).toEqual([slow(1, 31_000)]);
      expect([...reader.records({ slowerThanMs: 31_001 }, { order })]).toEqual([]);
      reader.close();
      writer.close();
    }));

  it("finds each once, over many pages, though all began in the same instant", () =>
    withFolder(async (folder) => {
      const path = `${folder}/h.db`;
      const writer = writerOf(path);
      const many = Array.from({ length: 2_500 }, (_, number) =>
        record(number, { originMs: at(1), hops: [] }),
      );
      writer.write(texts(...many));
      const reader = await HistoryReader.open({ files, path });
      for (const order of ["oldest first", "latest first", "slowest first"] as const) {
        const ids = [...reader.records({}, { order, limit: 2_400 })].map(({ id }) => id);
        expect(ids).toHaveLength(2_400);
        expect(new Set(ids).size).toBe(2_400);
      }
      reader.close();
      writer.close();
    }));
});

test("a journey that is not as it was written is left out and counted, and harms no other", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    writer.write(texts(record(1), record(2), record(3), record(4), record(5)));
    writer.close();
    const database = HistoryDatabase.openToWrite(path);
    const change = "UPDATE journeys SET record = ? WHERE id = ?";
    database.run(change, ['{"id":"run-1"', "run-1"]);
    database.run(change, [JSON.stringify({ ...record(2), hops: {} }), "run-2"]);
    database.run(change, ["null", "run-3"]);
    database.exec("UPDATE journeys SET record = CAST(x'7bff7d' AS TEXT) WHERE id = 'run-4'");
    database.close();
    const reader = await HistoryReader.open({ files, path });
    expect([...reader.records({}, { order: "oldest first" })]).toEqual([record(5)]);
    expect([...reader.records({}, { order: "latest first" })]).toEqual([record(5)]);
    expect(reader.damaged).toBe(4);
    reader.close();
  }));

test("a file with a damaged page is reported as damaged", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    writer.write(texts(...Array.from({ length: 500 }, (_, number) => record(number))));
    writer.emptyLog();
    writer.close();
    const whole = Buffer.from((await files.read(path)) ?? []);
    await files.write(path, whole.fill(0, 40 * 4_096, 60 * 4_096));
    const reader = await HistoryReader.open({ files, path });
    expect(() => [...reader.records({}, { order: "oldest first" })]).toThrow(
      `${path} is damaged (database disk image is malformed): it is left as it is.`,
    );
    reader.close();
  }));

test("a pending journey is pending while a writer runs, and unknown after that", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    writer.write(texts(stuckRecord(1)));
    const outcomes = async () => {
      const reader = await HistoryReader.open({ files, path });
      const found = [...reader.records({}, { order: "oldest first" })];
      reader.close();
      return found.map(({ outcome }) => outcome);
    };
    expect(await outcomes()).toEqual(["pending"]);
    writer.write(texts(stuckRecord(2)));
    writer.close();
    expect(await outcomes()).toEqual(["unknown", "unknown"]);
  }));

test("every question walks an index in its order, and sorts nothing", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    writerOf(path).close();
    const database = HistoryDatabase.openToRead(path);
    const plan = (query: HistoryQuery, order: HistoryOrder, after = false) => {
      const page = { order, limit: 10, ...(after && { after: { value: 1, row: 1 } }) };
      const { sql, values } = pageSql(query, page);
      return database.rows(`EXPLAIN QUERY PLAN ${sql}`, values).map(({ detail }) => detail);
    };
    const since = 5 as WallMs;
    expect({
      everything: plan({}, "latest first"),
      since: plan({ since }, "oldest first"),
      sinceAfter: plan({ since }, "oldest first", true),
      service: plan({ service: "a/b", since }, "latest first"),
      cluster: plan({ cluster: "a", since }, "latest first"),
      stuck: plan({ stuck: true, since }, "latest first"),
      slowest: plan({ since }, "slowest first"),
      slowestAfter: plan({ slowerThanMs: 5 }, "slowest first", true),
    }).toMatchInlineSnapshot(`
      {
        "cluster": [
          "SEARCH journeys USING INDEX journeys_by_cluster (cluster=? AND origin_ms>?)",
        ],
        "everything": [
          "SCAN journeys USING INDEX journeys_by_origin",
        ],
        "service": [
          "SEARCH journeys USING INDEX journeys_by_service (service=? AND origin_ms>?)",
        ],
        "since": [
          "SEARCH journeys USING INDEX journeys_by_origin (origin_ms>?)",
        ],
        "sinceAfter": [
          "SEARCH journeys USING INDEX journeys_by_origin (origin_ms>?)",
        ],
        "slowest": [
          "SCAN journeys USING INDEX journeys_by_lateness",
        ],
        "slowestAfter": [
          "SEARCH journeys USING INDEX journeys_by_lateness (late_ms>? AND late_ms<?)",
        ],
        "stuck": [
          "SEARCH journeys USING INDEX journeys_stuck (origin_ms>?)",
        ],
      }
    `);
    database.close();
  }));
