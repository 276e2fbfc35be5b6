import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect } from "vitest";
import { withFolder, writerOf } from "../../tests/history/history-world.ts";
import { type Random, randomInt } from "../environment/random.ts";
import { SeededRandom } from "../simulation/seeded-random.ts";
import { forEachSeed, isThorough } from "../simulation/seeds.ts";
import { HistoryDatabase } from "./history-database.ts";
import { leastSizeBytes } from "./history-retention.ts";

// Real processes and a real disk, at random moments from a seed: the file is whole and nothing that
// was acknowledged is missing. The writer runs from the build, in a thread as in `lockstep watch`.

/** Writes as fast as it can and says what has been committed, until it is killed. */
const program = `
  import { writeSync } from "node:fs";
  const build = process.argv[1];
  const { nodeClock } = await import(build + "environment/node/node-clock.js");
  const { nodeFiles } = await import(build + "environment/node/node-files.js");
  const { nodeTimers } = await import(build + "environment/node/node-timers.js");
  const { History } = await import(build + "history/history.js");
  const { path, life, retention } = JSON.parse(process.argv[2]);
  const say = (line) => writeSync(1, line + "\\n");
  const quiet = () => undefined;
  const log = { debug: quiet, info: quiet, warn: say, error: say, child: () => log };
  say("opening");
  const history = await History.open({
    clock: nodeClock, timers: nodeTimers, files: nodeFiles, processes: { pid: process.pid }, log,
    path, retention, onCommitted: (ids) => say("committed " + ids.join(" ")),
  });
  say("opened");
  const hop = { hop: "published", witness: "east" };
  const record = (number, outcome) => ({
    id: "life-" + life + "-" + number, cluster: "east", service: "shop/web-" + (number % 50),
    address: "10.1.0.7", port: 8080, podUid: "uid-" + number, podName: null, direction: "leave",
    cause: "x".repeat(number % 2 === 0 ? 6000 : 60),
    originMs: Date.now(), originNotBeforeMs: null, outcome,
    hops: [outcome === "pending" ? { ...hop, state: "stuck", lagMs: null }
      : { ...hop, state: "shown", lagMs: number }],
  });
  for (let number = 0; ; number += 1) {
    if (number % 5 === 0) history.add(record(number, "pending"));
    history.add(record(number, "complete"));
    if (number % 50 !== 49) continue;
    if (number % 250 === 249) history.flush();
    do await new Promise((resolve) => setTimeout(resolve, 1)); while (history.waiting > 1000);
  }`;

const build = fileURLToPath(new URL("../../dist/src/", import.meta.url));

const livesPerFile = 4;

/** From what it is killed, within how many milliseconds at most. */
const moments = {
  /** The file is there: it gets its tables now. */
  created: 20,
  /** The file of an earlier writer is looked at, and what that one left. */
  opening: 150,
  opened: 200,
};

type Moment = keyof typeof moments;

describe.runIf(isThorough(process.env))("a writer that is killed", () => {
  forEachSeed("leaves a whole file with all it has acknowledged", { seeds: 1 }, (seed) =>
    withFolder(async (folder) => {
      const random = new SeededRandom({ seed, name: "kills" });
      const path = `${folder}/h.db`;
      const committed = new Set<string>();
      for (let life = 0; life < livesPerFile; life += 1) {
        // Every third finds all that is there too old: it is killed while it removes and vacuums.
        const ageMaxMs = randomInt(random, 3) === 0 ? 1 : 3_600_000;
        const acknowledged = await livedAndKilled({ path, life, ageMaxMs }, random);
        for (const id of acknowledged) committed.add(id);
        const kept = checkFile(path, committed);
        const newest = acknowledged.slice(-1);
        if (ageMaxMs > 1) expect(kept).toEqual(expect.arrayContaining(newest));
      }
    }),
  );
});

/** The ids that were acknowledged before it was killed, in the order of their origins. */
async function livedAndKilled(
  { path, life, ageMaxMs }: { path: string; life: number; ageMaxMs: number },
  random: Random,
): Promise<readonly string[]> {
  const retention = { ageMaxMs, sizeMaxBytes: leastSizeBytes };
  const asked = JSON.stringify({ path, life, retention });
  const child = spawn(process.execPath, ["--input-type=module", "-e", program, build, asked], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const early: Moment = life === 0 ? "created" : "opening";
  const moment = randomInt(random, 3) === 0 ? early : "opened";
  const delayMs = randomInt(random, moments[moment]);
  const isThere = (said: string) =>
    moment === "created" ? existsSync(path) : said.includes(`${moment}\n`);
  const lines = await killedAfter(child, isThere, delayMs);
  return lines.flatMap((line) =>
    line.startsWith("committed ") ? line.slice("committed ".length).split(" ") : [],
  );
}

/** All that it said until its end, which comes so long after it has come to the moment. */
async function killedAfter(
  child: ChildProcessByStdio<null, Readable, null>,
  isThere: (said: string) => boolean,
  delayMs: number,
): Promise<readonly string[]> {
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const closed = once(child, "close");
  while (!isThere(said) && child.exitCode === null) await sleep(1);
  await sleep(delayMs);
  child.kill("SIGKILL");
  const [, signal] = await closed;
  if (signal !== "SIGKILL") throw new Error(`it ended by itself: ${said.slice(0, 2_000)}`);
  return said.split("\n").slice(0, -1);
}

/** The ids in it, oldest first. */
function checkFile(path: string, committed: ReadonlySet<string>): readonly string[] {
  // It opens, whatever state it was left in.
  writerOf(path).close();
  const database = HistoryDatabase.openToRead(path);
  expect(database.rows("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
  const kept = database.rows("SELECT id, record FROM journeys ORDER BY origin_ms, rowid");
  database.close();
  const ids = kept.map(({ id }) => String(id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(kept.map(({ record }) => JSON.parse(String(record)).id)).toEqual(ids);
  expect(ids.filter((id) => committed.has(id))).toEqual(lastOf(committed, ids));
  return ids;
}

/** Retention takes the oldest only: of what was acknowledged, all since the first that is there. */
function lastOf(committed: ReadonlySet<string>, ids: readonly string[]): readonly string[] {
  const inOrder = [...committed];
  const first = ids.find((id) => committed.has(id));
  return first === undefined ? [] : inOrder.slice(inOrder.indexOf(first));
}
