import { chmod, stat } from "node:fs/promises";
import { expect, test } from "vitest";
import { environment, inThisThread, withFolder } from "../../tests/history/history-world.ts";
import { History } from "./history.ts";
import type { HistoryErrorCode } from "./history-error.ts";
import type { StartHistoryThread } from "./history-port.ts";
import { HistoryReader } from "./history-reader.ts";

const { files } = environment;

test("what cannot be a history is refused by writer and reader, and left as it is", () =>
  withFolder(async (folder) => {
    await files.write(`${folder}/byte`, "x");
    await files.write(`${folder}/text`, "SQLite is what this file is about, and no more than that");
    await environment.processes.run("mkfifo", [`${folder}/pipe`], { timeoutMs: 10_000 });
    const refusals: readonly (readonly [string, string])[] = [
      ["/dev/null", "cannot keep a history in /dev/null: it is no ordinary file"],
      [`${folder}/pipe`, `cannot keep a history in ${folder}/pipe: it is no ordinary file`],
      [folder, `cannot keep a history in ${folder}: it is a folder`],
      ...["byte", "text"].map((name): readonly [string, string] => {
        const path = `${folder}/${name}`;
        return [path, `${path} is not a history: give another file; this one is not changed`];
      }),
    ];
    for (const [path, message] of refusals) {
      const opening = History.open({ ...environment, path, startThread: inThisThread });
      await expect(opening).rejects.toThrow(message);
      await expect(HistoryReader.open({ files, path })).rejects.toThrow(message);
    }
    expect(await files.list(folder)).toEqual(["byte", "pipe", "text"]);
    expect(Buffer.from((await files.read(`${folder}/byte`)) ?? []).toString()).toBe("x");
    expect(await files.size("/dev/null-writer")).toBeUndefined();
  }));

/** Makes some of the files, as SQLite does, and then cannot go on. */
function failing(path: string, code: HistoryErrorCode): StartHistoryThread {
  return ({ onAnswer }) => ({
    post: () => {
      const made = [path, `${path}-journal`, `${path}-writer`];
      void Promise.all(made.map((name) => files.append(name, ""))).then(() =>
        onAnswer({ type: "not opened", code, message: `no room for ${path}` }),
      );
    },
    end: async () => undefined,
  });
}

test("a history that cannot be made leaves nothing behind but what was there before", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const open = (code: HistoryErrorCode) =>
      History.open({ ...environment, path, startThread: failing(path, code) });
    await expect(open("CANNOT_OPEN")).rejects.toThrow(`no room for ${path}`);
    expect(await files.list(folder)).toEqual([]);
    await files.write(`${path}-writer`, "");
    await expect(open("CANNOT_OPEN")).rejects.toThrow(`no room for ${path}`);
    expect(await files.list(folder)).toEqual(["h.db-writer"]);
    await expect(open("IN_USE")).rejects.toThrow(`no room for ${path}`);
    expect(await files.list(folder)).toEqual(["h.db", "h.db-journal", "h.db-writer"]);
  }));

test("that nothing can be removed either does not hide why a history cannot be made", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const stubborn = { ...files, remove: () => Promise.reject(new Error("read-only")) };
    const startThread = failing(path, "CANNOT_OPEN");
    const opening = History.open({ ...environment, files: stubborn, path, startThread });
    await expect(opening).rejects.toThrow(`no room for ${path}`);
  }));

test("a history that others could read is its owner's from then on", () =>
  withFolder(async (folder) => {
    const path = `${folder}/h.db`;
    const open = () => History.open({ ...environment, path, startThread: inThisThread });
    await (await open()).close();
    await chmod(path, 0o644);
    await (await open()).close();
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  }));
