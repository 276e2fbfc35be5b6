import { rm } from "node:fs/promises";
import { expect, test } from "vitest";
import {
  environment,
  inThisThread,
  keptIn,
  record,
  stuckRecord,
  withFolder,
} from "../../tests/history/history-world.ts";
import { History } from "./history.ts";

test("journeys are kept in a folder that is made for them, each as it was added last", () =>
  withFolder(async (folder) => {
    const path = `${folder}/state/lockstep/h.db`;
    const committed: string[] = [];
    const history = await History.open({
      ...environment,
      path,
      startThread: inThisThread,
      onCommitted: (ids) => committed.push(...ids),
    });
    history.add(record(1));
    history.add(stuckRecord(2));
    await history.flush();
    expect(keptIn(path)).toEqual([record(1), stuckRecord(2)]);
    history.add(record(2));
    await history.close();
    expect(keptIn(path)).toEqual([record(1), record(2)]);
    expect(committed).toEqual(["run-1", "run-2", "run-2"]);
  }));

test("the next observer gets what the last one left pending", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const first = await History.open({ ...environment, path, startThread: inThisThread });
    expect(first.left).toEqual([]);
    first.add(stuckRecord(1));
    first.add(record(2));
    await first.close();
    const second = await History.open({ ...environment, path, startThread: inThisThread });
    expect(second.left).toEqual([stuckRecord(1)]);
    await second.close();
  }));

test("a history whose folder was removed starts again in a new one", () =>
  withFolder(async (folder) => {
    const path = `${folder}/state/h.db`;
    const history = await History.open({ ...environment, path, startThread: inThisThread });
    history.add(record(1));
    await history.flush();
    await rm(`${folder}/state`, { recursive: true });
    history.add(record(2));
    await history.flush();
    expect(history.counts).toMatchObject({ committed: 2, dropped: 0 });
    await history.close();
    expect(keptIn(path)).toEqual([record(2)]);
  }));

test("a second observer is refused as long as the first one runs", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const options = { ...environment, path, startThread: inThisThread };
    const first = await History.open(options);
    await expect(History.open(options)).rejects.toThrow(
      `${path} is being written by process ${process.pid}: stop it, or give another file`,
    );
    await first.close();
    await (await History.open(options)).close();
  }));

test("a history too small to hold journeys is refused", () =>
  withFolder(async (folder) => {
    const retention = { sizeMaxBytes: 1_000 };
    const path = `${folder}/h.db`;
    const opening = History.open({ ...environment, path, retention, startThread: inThisThread });
    await expect(opening).rejects.toThrow("the history needs at least 16 MiB");
  }));

test("a folder that cannot be made is reported with the file that was to be in it", () =>
  withFolder(async (folder) => {
    await environment.files.write(`${folder}/file`, "");
    const path = `${folder}/file/below/h.db`;
    const opening = History.open({ ...environment, path, startThread: inThisThread });
    await expect(opening).rejects.toThrow(
      `cannot keep a history in ${path}: cannot make the folder`,
    );
  }));
