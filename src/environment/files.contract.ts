// The contract of every `Files`, on a real disk and in memory.
import { describe, expect, it } from "vitest";
import { type Files, FilesError } from "./files.ts";

/** Runs one test body with an implementation and cleans up. */
export type RunWithFiles = (test: (files: Files) => Promise<void>) => Promise<void>;

export function filesContract(run: RunWithFiles): void {
  const inDirectory =
    (test: (files: Files, directory: string) => Promise<void>): (() => Promise<void>) =>
    () =>
      run(async (files) => {
        const directory = await files.temporaryDirectory("files-contract-");
        try {
          await test(files, directory);
        } finally {
          await files.remove(directory);
        }
      });
  describe("reading and writing", () => {
    contentContract(inDirectory);
  });
  describe("folders", () => {
    folderContract(inDirectory);
  });
  describe("locks", () => {
    lockContract(inDirectory);
  });
}

type InDirectory = (
  test: (files: Files, directory: string) => Promise<void>,
) => () => Promise<void>;

function contentContract(inDirectory: InDirectory): void {
  it(
    "reads what was written, text and bytes",
    inDirectory(async (files, directory) => {
      const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
      await files.write(`${directory}/bytes`, bytes);
      await files.write(`${directory}/text`, "héllo\n");
      expect(Buffer.from((await files.read(`${directory}/bytes`)) ?? []).equals(bytes)).toBe(true);
      expect(await text(files, `${directory}/text`)).toBe("héllo\n");
    }),
  );

  it(
    "reads undefined where there is no file",
    inDirectory(async (files, directory) => {
      expect(await files.read(`${directory}/absent`)).toBeUndefined();
      expect(await files.read(`${directory}/absent/below`)).toBeUndefined();
    }),
  );

  it(
    "tells files from folders and from nothing",
    inDirectory(async (files, directory) => {
      await files.write(`${directory}/file`, "");
      expect(await files.kind(`${directory}/file`)).toBe("file");
      expect(await files.kind(directory)).toBe("folder");
      expect(await files.kind(`${directory}/absent`)).toBeUndefined();
    }),
  );

  it(
    "replaces the whole file and leaves nothing beside it",
    inDirectory(async (files, directory) => {
      await files.write(`${directory}/file`, "a long first version", { mode: 0o600 });
      await files.write(`${directory}/file`, "short");
      expect(await text(files, `${directory}/file`)).toBe("short");
      expect(await files.list(directory)).toEqual(["file"]);
    }),
  );

  it(
    "shows a reader one of two versions, never a mixture",
    inDirectory(async (files, directory) => {
      const versions = ["a".repeat(100_000), "b".repeat(100_000)];
      await files.write(`${directory}/file`, versions[0] ?? "");
      const writing = Promise.all(versions.map((one) => files.write(`${directory}/file`, one)));
      for (let reads = 0; reads < 20; reads += 1) {
        expect(versions).toContain(await text(files, `${directory}/file`));
      }
      await writing;
      expect(await files.list(directory)).toEqual(["file"]);
    }),
  );

  it(
    "tells the size, and renames over what is there",
    inDirectory(async (files, directory) => {
      await files.write(`${directory}/log`, "four");
      await files.write(`${directory}/log.1`, "older");
      expect(await files.size(`${directory}/log`)).toBe(4);
      await files.rename(`${directory}/log`, `${directory}/log.1`);
      expect(await files.size(`${directory}/log`)).toBeUndefined();
      expect(await text(files, `${directory}/log.1`)).toBe("four");
      await expect(files.rename(`${directory}/log`, `${directory}/x`)).rejects.toThrow(FilesError);
    }),
  );

  it(
    "appends, and makes the file when it is absent",
    inDirectory(async (files, directory) => {
      await files.append(`${directory}/log`, "one\n");
      await files.append(`${directory}/log`, Buffer.from("two\n"));
      expect(await text(files, `${directory}/log`)).toBe("one\ntwo\n");
    }),
  );

  it(
    "reads a file in parts, and goes on with it when it has grown or has another name",
    inDirectory(async (files, directory) => {
      await files.append(`${directory}/log`, "first");
      const file = await files.open(`${directory}/log`);
      const again = await files.open(`${directory}/log`);
      const read = async (offset: number, bytes: number) =>
        Buffer.from((await file?.read(offset, bytes)) ?? []).toString("utf8");
      expect([await read(0, 3), await read(3, 100), await read(5, 100)]).toEqual(["fir", "st", ""]);
      await files.rename(`${directory}/log`, `${directory}/log.1`);
      await files.append(`${directory}/log.1`, "second");
      await files.append(`${directory}/log`, "another");
      expect([await file?.size(), await read(5, 100)]).toEqual([11, "second"]);
      const other = await files.open(`${directory}/log`);
      expect(again?.id).toBe(file?.id);
      expect(other?.id).not.toBe(file?.id);
      expect(await files.open(`${directory}/absent`)).toBeUndefined();
      for (const one of [file, file, again, other]) await one?.close();
    }),
  );

  it(
    "fails with a FilesError that names the path when a folder is in the place of a file",
    inDirectory(async (files, directory) => {
      await files.makeDirectory(`${directory}/folder`);
      for (const attempt of [
        () => files.read(`${directory}/folder`),
        () => files.open(`${directory}/folder`),
        () => files.write(`${directory}/folder`, "content"),
        () => files.append(`${directory}/folder`, "content"),
      ]) {
        const error = await failureOf(attempt());
        const { code, path } = error;
        expect({ code, path }).toEqual({ code: "NOT_A_FILE", path: `${directory}/folder` });
        expect(error.message).toContain(path);
      }
      expect(await files.list(directory)).toEqual(["folder"]);
    }),
  );
}

function folderContract(inDirectory: InDirectory): void {
  it(
    "makes a folder with its parents; making it again is no error",
    inDirectory(async (files, directory) => {
      await files.makeDirectory(`${directory}/a/b/c`);
      await files.makeDirectory(`${directory}/a/b/c`);
      await files.write(`${directory}/a/b/c/file`, "content");
      expect(await files.list(`${directory}/a/b`)).toEqual(["c"]);
    }),
  );

  it(
    "lists the names in a folder, sorted, and nothing for an absent folder",
    inDirectory(async (files, directory) => {
      for (const name of ["b", "a", "B", "10", "9"]) await files.write(`${directory}/${name}`, "");
      expect(await files.list(directory)).toEqual(["10", "9", "B", "a", "b"]);
      expect(await files.list(`${directory}/absent`)).toEqual([]);
    }),
  );

  it(
    "removes a file, or a folder with all in it; removing what is absent is no error",
    inDirectory(async (files, directory) => {
      await files.makeDirectory(`${directory}/folder/below`);
      await files.write(`${directory}/folder/below/file`, "content");
      await files.write(`${directory}/single`, "content");
      await files.remove(`${directory}/folder`);
      await files.remove(`${directory}/single`);
      await files.remove(`${directory}/absent`);
      expect(await files.list(directory)).toEqual([]);
    }),
  );

  it(
    "gives a new empty temporary folder each time",
    inDirectory(async (files, directory) => {
      const other = await files.temporaryDirectory("files-contract-");
      expect(other).not.toBe(directory);
      expect(await files.list(other)).toEqual([]);
      await files.remove(other);
    }),
  );
}

function lockContract(inDirectory: InDirectory): void {
  it(
    "gives a lock to one holder at a time, and to the next once it is released",
    inDirectory(async (files, directory) => {
      const path = `${directory}/a.lock`;
      const attempts = await Promise.all([files.lock(path), files.lock(path), files.lock(path)]);
      const held = attempts.filter((lock) => lock !== undefined);
      expect(held.length).toBe(1);
      expect(await files.lock(`${directory}/b.lock`)).toBeDefined();
      await held[0]?.release();
      const next = await files.lock(path);
      expect(next).toBeDefined();
      await held[0]?.release();
      expect(await files.lock(path)).toBeUndefined();
      await next?.release();
    }),
  );

  it(
    "fails where the folder is absent",
    inDirectory(async (files, directory) => {
      const failure = await failureOf(files.lock(`${directory}/absent/a.lock`));
      expect(failure.code).toBe("FAILED");
    }),
  );
}

async function text(files: Files, path: string): Promise<string> {
  return Buffer.from((await files.read(path)) ?? []).toString("utf8");
}

async function failureOf(attempt: Promise<unknown>): Promise<FilesError> {
  const outcome = await attempt.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (outcome instanceof FilesError) return outcome;
  throw new Error("expected a FilesError", { cause: outcome });
}
