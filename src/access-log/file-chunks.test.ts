import { open, truncate } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import type { Environment } from "../environment/environment.ts";
import { nodeEnvironment } from "../environment/node/node-environment.ts";
import { simulate } from "../simulation/simulation.ts";
import { fileChunks, followFile, type ReadProblem } from "./file-chunks.ts";

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const chunk of chunks) all.push(chunk);
  return Buffer.concat(all).toString("utf8");
}

/** Follows the file during the steps; returns the data that had been read by then. */
async function followed(
  environment: Pick<Environment, "files" | "timers">,
  from: "start" | "end",
  path: string,
  story: (look: () => Promise<void>) => Promise<void>,
): Promise<string> {
  const stop = new AbortController();
  const read = textOf(followFile({ ...environment, path, from, signal: stop.signal }));
  const look = () => environment.timers.sleep(600);
  await look();
  await story(look);
  stop.abort();
  return await read;
}

describe("a whole file", () => {
  const { files } = nodeEnvironment();

  async function readWhole(path: string) {
    const problems: string[] = [];
    const text = await textOf(fileChunks(files, path, ({ text }) => void problems.push(text)));
    return { text, problems };
  }

  it("is read as it is, or as what was compressed", async () => {
    const folder = await files.temporaryDirectory("file-chunks-");
    try {
      const text = "a line of a log\n".repeat(50_000);
      await files.write(`${folder}/log`, text);
      await files.write(`${folder}/log.gz`, Buffer.concat([gzipSync(text), gzipSync("more\n")]));
      expect(await readWhole(`${folder}/log`)).toEqual({ text, problems: [] });
      expect(await readWhole(`${folder}/log.gz`)).toEqual({ text: `${text}more\n`, problems: [] });
      for await (const chunk of fileChunks(files, `${folder}/log.gz`, () => undefined)) {
        expect(chunk.byteLength).toBeGreaterThan(0);
        break;
      }
    } finally {
      await files.remove(folder);
    }
  });

  it("that decompresses to far more than any log is read only so far, and reported", async () => {
    const folder = await files.temporaryDirectory("file-chunks-");
    try {
      const path = `${folder}/newlines.gz`;
      await files.write(path, gzipSync(Buffer.alloc(100_000_000, "\n")));
      const problems: ReadProblem[] = [];
      let bytes = 0;
      for await (const chunk of fileChunks(files, path, (problem) => void problems.push(problem))) {
        bytes += chunk.byteLength;
      }
      expect(bytes).toBeLessThan(40_000_000);
      const readMb = Math.round(bytes / 1_000_000);
      const text =
        `${path} was read only up to ${readMb} MB: it decompresses to more than 200 times its ` +
        "size; decompress it first to have all of it read";
      expect(problems).toEqual([{ isLimit: true, text }]);
    } finally {
      await files.remove(folder);
    }
  });

  it("that was compressed and breaks off is read that far, and reported", async () => {
    const folder = await files.temporaryDirectory("file-chunks-");
    try {
      const text = Array.from({ length: 50_000 }, (_, line) => `line ${line}\n`).join("");
      const compressed = gzipSync(text);
      const half = Math.floor(compressed.length / 2);
      const damage = Buffer.alloc(200, 0xff);
      await files.write(`${folder}/half.gz`, compressed.subarray(0, half));
      await files.write(`${folder}/head.gz`, compressed.subarray(0, 5));
      await files.write(`${folder}/more.gz`, Buffer.concat([compressed, Buffer.from("rubbish")]));
      await files.write(
        `${folder}/damaged.gz`,
        Buffer.concat([compressed.subarray(0, half), damage, compressed.subarray(half + 200)]),
      );
      const problem = (name: string, why: string) =>
        `${folder}/${name} can be decompressed only so far (${why}): copy it again for the rest`;
      const cut = await readWhole(`${folder}/half.gz`);
      expect(cut.problems).toEqual([problem("half.gz", "unexpected end of file")]);
      expect(text.startsWith(cut.text)).toBe(true);
      expect(cut.text.length).toBeGreaterThan(text.length / 4);
      const damaged = await readWhole(`${folder}/damaged.gz`);
      expect(damaged.problems.length).toBe(1);
      expect(damaged.text.length).toBeGreaterThan(text.length / 4);
      expect(await readWhole(`${folder}/head.gz`)).toEqual({
        text: "",
        problems: [problem("head.gz", "unexpected end of file")],
      });
      const followed = await readWhole(`${folder}/more.gz`);
      expect(followed.problems).toEqual([problem("more.gz", "incorrect header check")]);
      expect(followed.text.length).toBeGreaterThan(text.length - 16_384);
    } finally {
      await files.remove(folder);
    }
  });

  it("that is not there is reported as missing", async () => {
    await expect(readWhole("/nowhere/log")).rejects.toThrow(
      "file /nowhere/log does not exist: give the access log of the proxy, or - for standard input",
    );
  });
});

describe("a growing file", () => {
  it("that PowerShell has written is read as text", async () => {
    await simulate({ seed: 1 }, async (simulation) => {
      const { files } = simulation.host("a");
      await files.write("/log", Buffer.from("\ufeffone\r\nzwölf\r\n", "utf16le"));
      expect(await textOf(fileChunks(files, "/log", () => undefined))).toBe("one\r\nzwölf\r\n");
    });
  });

  const inMemory = (test: (environment: Environment) => Promise<void>) =>
    simulate({ seed: 1 }, (simulation) => test(simulation.host("a")));

  it("is read from its start or from its end, as it grows", () =>
    inMemory(async (environment) => {
      const { files } = environment;
      await files.append("/tmp/log", "old\n");
      const grow = async (look: () => Promise<void>) => {
        await files.append("/tmp/log", "ne");
        await look();
        await files.append("/tmp/log", "w\n");
        await look();
      };
      expect(await followed(environment, "start", "/tmp/log", grow)).toBe("old\nnew\n");
      expect(await followed(environment, "end", "/tmp/log", grow)).toBe("new\n");
    }));

  it("that is renamed is read to its end, and then the new one of its name", () =>
    inMemory(async (environment) => {
      const { files } = environment;
      await files.append("/tmp/log", "1\n");
      const text = await followed(environment, "start", "/tmp/log", async (look) => {
        await files.append("/tmp/log", "2\n");
        await files.rename("/tmp/log", "/tmp/log.1");
        await files.append("/tmp/log.1", "3\n");
        await look();
        await files.append("/tmp/log.1", "4\n");
        await files.append("/tmp/log", "6\n");
        await environment.timers.sleep(260);
        await files.append("/tmp/log.1", "5");
        await look();
      });
      expect(text).toBe("1\n2\n3\n4\n5\n6\n");
    }));

  it("that is emptied is read from its start again", async () => {
    const { files, timers } = nodeEnvironment();
    const folder = await files.temporaryDirectory("file-chunks-");
    const stop = new AbortController();
    const hurried = {
      ...timers,
      sleep: (_: number, signal?: AbortSignal) => timers.sleep(1, signal),
    };
    const chunks = followFile({
      files,
      timers: hurried,
      path: `${folder}/log`,
      from: "start",
      signal: stop.signal,
    });
    try {
      await files.append(`${folder}/log`, "before\nhal");
      const read: string[] = [];
      for await (const chunk of chunks) {
        read.push(Buffer.from(chunk).toString("utf8"));
        if (read.length === 1) await truncate(`${folder}/log`, 0);
        if (read.length === 2) await files.append(`${folder}/log`, "after\n");
        if (read.length === 3) stop.abort();
      }
      expect(read).toEqual(["before\nhal", "\n", "after\n"]);
    } finally {
      await files.remove(folder);
    }
  });

  it("that is a pipe is read on, and left at once while it is silent", async () => {
    const { files, timers, processes } = nodeEnvironment();
    const folder = await files.temporaryDirectory("file-chunks-");
    const path = `${folder}/pipe`;
    const stop = new AbortController();
    try {
      await processes.run("mkfifo", [path], { timeoutMs: 5_000 });
      const read: string[] = [];
      const following = async (): Promise<void> => {
        const options = { files, timers, path, from: "end", signal: stop.signal } as const;
        for await (const chunk of followFile(options)) {
          read.push(Buffer.from(chunk).toString("utf8"));
          stop.abort();
        }
      };
      const followed = following();
      const writer = await open(path, "w");
      await writer.write("one\n");
      await followed;
      expect(read).toEqual(["one\n"]);
      await writer.close();
    } finally {
      await files.remove(folder);
    }
  });
});
