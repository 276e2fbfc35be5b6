import { copyFile, readFile, stat, truncate, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  environment,
  record,
  texts,
  withFolder,
  writerOf,
} from "../../tests/history/history-world.ts";
import { HistoryDatabase } from "./history-database.ts";
import { HistoryError } from "./history-error.ts";
import { HistoryReader } from "./history-reader.ts";
import { checkReadable, schemaSteps, upgrade } from "./history-schema.ts";

const { files } = environment;

test("a file of something else is refused and left as it is, without a file beside it", () =>
  withFolder(async (folder) => {
    const path = `${folder}/notes.txt`;
    const content = "Not a database, and the only copy.\n".repeat(100);
    await writeFile(path, content);
    const refusal = `${path} is not a history: give another file; this one is not changed`;
    expect(failureOf(() => writerOf(path))).toEqual(["NOT_A_HISTORY", refusal]);
    expect(await readFile(path, "utf8")).toBe(content);
    expect(await files.list(folder)).toEqual(["notes.txt"]);
    await expect(HistoryReader.open({ files, path })).rejects.toThrow(refusal);
  }));

test("another program's database is refused and left as it is", () =>
  withFolder(async (folder) => {
    const path = `${folder}/other.db`;
    const other = HistoryDatabase.openToWrite(path);
    other.exec("CREATE TABLE journeys (a)");
    other.close();
    const content = await readFile(path);
    expect(failureOf(() => writerOf(path))).toEqual([
      "NOT_A_HISTORY",
      `${path} is a database of another program: give another file; this one is not changed`,
    ]);
    expect(content.equals(await readFile(path))).toBe(true);
  }));

test("a file of a newer version is refused", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    writerOf(path).close();
    const newer = HistoryDatabase.openToWrite(path);
    upgrade(newer, path, [...schemaSteps, "CREATE TABLE later (a)"]);
    newer.close();
    expect(failureOf(() => writerOf(path))).toEqual([
      "NEWER",
      `${path} was written by a newer Lockstep (its version is ${schemaSteps.length + 1}, ` +
        `this one knows ${schemaSteps.length}): use that one, or name another file`,
    ]);
  }));

test("a file of an older version keeps its journeys on the way to this one", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const steps = [
      "CREATE TABLE a (x TEXT)",
      "ALTER TABLE a ADD COLUMN y TEXT",
      "CREATE TABLE b (z)",
    ];
    const database = HistoryDatabase.openToWrite(path);
    upgrade(database, path, steps.slice(0, 1));
    database.exec("INSERT INTO a VALUES ('kept')");
    expect(failureOf(() => checkReadable(database, path, steps))).toEqual([
      "OLDER",
      `${path} was written by an older Lockstep`,
    ]);
    upgrade(database, path, steps);
    expect(database.number("PRAGMA user_version")).toBe(3);
    expect(database.rows("SELECT x, y FROM a")).toEqual([{ x: "kept", y: null }]);
    database.close();
  }));

test("a step that fails leaves the version before it", () =>
  withFolder((folder) => {
    const path = `${folder}/h.db`;
    const database = HistoryDatabase.openToWrite(path);
    const steps = ["CREATE TABLE a (x)", "CREATE TABLE b (y); CREATE TABLE a (x)"];
    expect(() => upgrade(database, path, steps)).toThrow("table a already exists");
    expect(database.number("PRAGMA user_version")).toBe(1);
    expect(database.rows("SELECT name FROM sqlite_schema")).toEqual([{ name: "a" }]);
    database.close();
  }));

test("a damaged file is refused with what can be done, and left as it is", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const writer = writerOf(path);
    writer.write(texts(...Array.from({ length: 200 }, (_, at) => record(at))));
    writer.emptyLog();
    writer.close();
    const { size } = await stat(path);
    await truncate(path, size - 3 * 4096);
    const content = await readFile(path);
    const [code, message] = failureOf(() => writerOf(path)) ?? [];
    expect(code).toBe("DAMAGED");
    expect(message).toMatch(
      / is damaged \(.*\): it is left as it is\. Move it away to begin a new/,
    );
    expect(content.equals(await readFile(path))).toBe(true);
  }));

test("a folder, a folder that is missing and a missing file are distinguished from a history", () =>
  withFolder(async (folder) => {
    for (const path of [folder, `${folder}/none/h.db`]) {
      expect(failureOf(() => writerOf(path))).toEqual([
        "CANNOT_OPEN",
        `cannot open ${path}: it is not a file, or its folder is missing, read-only or belongs to another user`,
      ]);
    }
    const path = `${folder}/none.db`;
    await expect(HistoryReader.open({ files, path })).rejects.toThrow(
      `there is no history at ${path}`,
    );
    expect(await files.list(folder)).toEqual([]);
  }));

test("a file in which nothing has been kept yet says so", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    await writeFile(path, "");
    await expect(HistoryReader.open({ files, path })).rejects.toThrow(
      `${path} is empty: nothing has been kept in it yet`,
    );
    writerOf(path).close();
    (await HistoryReader.open({ files, path })).close();
  }));

test("a file whose writer was killed as it made it is empty to readers, and a file to writers", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const half = HistoryDatabase.openToWrite(`${folder}/half`);
    half.exec("PRAGMA user_version = 0; PRAGMA cache_size = 1; BEGIN; CREATE TABLE a (x)");
    for (let row = 0; row < 50; row += 1) half.exec("INSERT INTO a VALUES (zeroblob(5000))");
    await copyFile(`${folder}/half`, path);
    await copyFile(`${folder}/half-journal`, `${path}-journal`);
    half.close();
    await expect(HistoryReader.open({ files, path })).rejects.toThrow(
      `${path} is empty: nothing has been kept in it yet`,
    );
    writerOf(path).close();
    (await HistoryReader.open({ files, path })).close();
  }));

function failureOf(attempt: () => unknown): readonly [string, string] | undefined {
  try {
    attempt();
    return undefined;
  } catch (error) {
    if (error instanceof HistoryError) return [error.code, error.message];
    throw error;
  }
}
