import { describe, expect, test } from "vitest";
import { Evidence } from "../../src/blame/evidence.ts";
import { RecordingReader } from "../../src/blame/recording-reader.ts";
import { type Files, FilesError } from "../../src/environment/files.ts";
import { mayRecordTo, readRecording } from "../../src/recording/recording-file.ts";
import { changeLine, listedLine } from "../../src/recording/recording-line.ts";
import { RecordingWriter } from "../../src/recording/recording-writer.ts";
import { recordedRun } from "../../src/recording/watched-run.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import { at, pod } from "../blame/blame-world.ts";

const path = "/pods.jsonl";

/** More than the writer tries again after. */
const aWhileMs = 10_000;

function podLine(seconds: number, name: string): string {
  return changeLine({
    atMs: at(seconds),
    cluster: "prod",
    kind: "Pod",
    change: "updated",
    by: "watch",
    afterMs: undefined,
    json: JSON.stringify(pod({ name })),
  });
}

/** A disk with so much room: of what is appended as much is written as there is room for. */
class SmallDisk {
  roomBytes = Infinity;
  /** Waited for before anything is appended. */
  ready: Promise<void> = Promise.resolve();
  readonly files: Pick<Files, "append" | "rename" | "size" | "write">;

  constructor(files: Files) {
    this.files = {
      append: async (file, content) => {
        await this.ready;
        const bytes = Buffer.from(content);
        const part = bytes.subarray(0, this.roomBytes);
        this.roomBytes -= part.length;
        if (part.length > 0) await files.append(file, part);
        if (part.length < bytes.length) throw noSpace(file);
      },
      write: async (file, content) => {
        if (content.length > this.roomBytes) throw noSpace(file);
        this.roomBytes -= content.length;
        await files.write(file, content);
      },
      rename: (file, to) => files.rename(file, to),
      size: (file) => files.size(file),
    };
  }
}

function noSpace(file: string): FilesError {
  return new FilesError("NO_SPACE", file, "no space");
}

interface Scene {
  readonly simulation: Simulation;
  readonly files: Files;
  readonly disk: SmallDisk;
  readonly writer: RecordingWriter;
}

function onSmallDisk(story: (scene: Scene) => Promise<void>, maxBytes = 1_000_000): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const host = simulation.host("here");
    const disk = new SmallDisk(host.files);
    const place = { cluster: "prod", kind: "Pod", namespace: undefined } as const;
    const baseline = () => [podLine(50, "known"), listedLine({ atMs: at(50), ...place })];
    const started = { monotonicMs: host.clock.monotonicMs(), wallMs: host.clock.wallMs() };
    const run = { name: "one", watched: recordedRun({ name: "one", ...started }, []) };
    const files = { ...host, files: disk.files, path, maxBytes };
    const writer = new RecordingWriter({ ...files, run, baseline });
    await writer.start();
    await story({ simulation, files: host.files, disk, writer });
  });
}

async function readBack(files: Files) {
  const evidence = new Evidence();
  const reader = new RecordingReader(evidence);
  await readRecording(files, path, reader);
  return { counts: reader.counts, evidence };
}

describe("a new file that could not be begun for want of room", () => {
  const maxBytes = 2_000;

  /** Enough for another file, of which nothing can be written. */
  async function failToBegin({ simulation, disk, writer }: Scene): Promise<void> {
    const lines = [1, 2, 3].map((seconds) => podLine(seconds, `web-${seconds}`));
    disk.roomBytes = lines.reduce((sum, line) => sum + line.length + 1, 0);
    for (const line of lines) writer.add(line);
    await simulation.sleep(aWhileMs);
    expect(await simulation.host("here").files.size(`${path}.1`)).toBeGreaterThan(maxBytes / 2);
  }

  test("begins with all that is known as soon as there is some", () =>
    onSmallDisk(async (scene) => {
      const { simulation, files, disk, writer } = scene;
      await failToBegin(scene);
      writer.add(podLine(60, "late"));
      disk.roomBytes = Infinity;
      await simulation.sleep(aWhileMs);
      await writer.stop();
      await files.remove(`${path}.1`);
      expect(await mayRecordTo(files, path)).toBe(true);
      const { counts, evidence } = await readBack(files);
      expect(counts).toEqual({ lines: 4, runs: 1, unreadable: 0 });
      expect(["known", "late"].map((name) => evidence.lives.isGone(`uid-${name}`))).toEqual([
        false,
        false,
      ]);
      expect(evidence.coverage).toHaveLength(1);
    }, maxBytes));

  test("is not missed by a reader of the one before", () =>
    onSmallDisk(async (scene) => {
      await failToBegin(scene);
      await scene.writer.stop();
      expect(scene.writer.dropped).toBe(0);
      const { counts } = await readBack(scene.files);
      expect(counts).toEqual({ lines: 4, runs: 1, unreadable: 0 });
    }, maxBytes));
});

describe("lines that were not written", () => {
  test("are counted when it is stopped", () =>
    onSmallDisk(async ({ simulation, disk, writer }) => {
      disk.roomBytes = 0;
      writer.add(podLine(1, "web-1"));
      await simulation.sleep(aWhileMs);
      writer.add(podLine(2, "web-1"));
      await writer.stop();
      await writer.stop();
      expect(writer.dropped).toBe(2);
    }));

  test("are none that there is room for beside those that are being written", () =>
    onSmallDisk(async ({ simulation, files, disk, writer }) => {
      const added = 200_000;
      const more = 1_000;
      let goOn = (): void => undefined;
      disk.ready = new Promise((resolve) => {
        goOn = resolve;
      });
      for (let index = 0; index < added; index += 1) writer.add(String(index));
      await simulation.sleep(1_000);
      for (let index = 0; index < more; index += 1) writer.add(String(index));
      goOn();
      await simulation.sleep(aWhileMs);
      await writer.stop();
      const { counts } = await readBack(files);
      expect([counts.lines - 1, writer.dropped]).toEqual([added + more, 0]);
    }, 1_000_000_000));

  test("are written once, each as a line, where a part of them was written before", () =>
    onSmallDisk(async ({ simulation, files, disk, writer }) => {
      const lines = [1, 2, 3, 4].map((seconds) => podLine(seconds, `web-${seconds % 2}`));
      const [first = "", second = ""] = lines;
      const before = Buffer.from((await files.read(path)) ?? []).toString();
      disk.roomBytes = first.length + 1 + second.length / 2;
      for (const line of lines) writer.add(line);
      await simulation.sleep(1_000);
      // No more than the end of the half line.
      disk.roomBytes = 1;
      await simulation.sleep(aWhileMs);
      disk.roomBytes = Infinity;
      await simulation.sleep(aWhileMs);
      await writer.stop();
      const text = Buffer.from((await files.read(path)) ?? []).toString();
      const half = second.slice(0, second.length / 2);
      expect(text).toBe(`${before}${first}\n${half}\n${lines.slice(1).join("\n")}\n`);
      const { counts } = await readBack(files);
      expect([counts.unreadable, writer.dropped]).toEqual([1, 0]);
    }));
});
