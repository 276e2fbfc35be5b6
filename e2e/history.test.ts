// The history with its own thread, other processes beside it, and a disk that is really full.

import { execFileSync } from "node:child_process";
import { afterAll, beforeAll, expect, it } from "vitest";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { History } from "../src/history/history.ts";
import { record, stuckRecord } from "../tests/history/history-world.ts";

const environment = nodeEnvironment({ log: { level: () => "error" } });
const { files, processes, clock } = environment;

let folder: string;

beforeAll(async () => {
  folder = await files.temporaryDirectory("history-");
});

afterAll(() => files.remove(folder));

const node = (...args: readonly string[]) =>
  processes.run(process.execPath, args, { timeoutMs: 240_000 });

it("writes in a thread of its own, while others may read but not write", async () => {
  const path = `${folder}/h.db`;
  const history = await History.open({ ...environment, path });
  const originMs = clock.wallMs();
  const records = [record(1, { originMs }), { ...stuckRecord(2), originMs }];
  for (const one of records) history.add(one);
  await history.flush();
  const read = () => node("bin/lockstep.mjs", "journeys", "--history", path, "--json");
  expect(recordsIn((await read()).output)).toEqual(records);
  const second = await node("--input-type=module", "-e", secondWriter, path);
  expect(second.output).toBe(
    `IN_USE ${path} is being written by process ${process.pid}: stop it, or give another file\n`,
  );
  await history.close();
  expect(history.counts).toEqual({ added: 2, committed: 2, dropped: 0, removed: 0 });
  const [first, lost] = records;
  expect(recordsIn((await read()).output)).toEqual([first, { ...lost, outcome: "unknown" }]);
});

const secondWriter = `
  import { nodeEnvironment } from "./dist/src/environment/node/node-environment.js";
  import { History } from "./dist/src/history/history.js";
  try {
    await History.open({ ...nodeEnvironment(), path: process.argv[1] });
  } catch (error) {
    console.log(error.code, error.message);
  }`;

it.skipIf(!canMount())(
  "waits while the disk is full, goes on when there is room, and has all it acknowledged",
  async () => {
    // A disk of its own, which only this process and its children see.
    const shell = 'mount -t tmpfs -o size=24m none "$0" && exec "$@"';
    const program = [process.execPath, "--input-type=module", "-e", fillsDisk, folder];
    const result = await processes.run(
      "unshare",
      ["--user", "--map-root-user", "--mount", "sh", "-c", shell, folder, ...program],
      { timeoutMs: 240_000 },
    );
    expect(result.errorOutput).toBe("");
    const printed: unknown = JSON.parse(result.output);
    expect(printed).toEqual({
      trouble: `cannot write ${folder}/h.db: its disk is full`,
      isWaiting: true,
      troubleAfter: null,
      counts: { added: 4_000, committed: 4_000, dropped: 0, removed: 0 },
      missing: [],
      integrity: "ok",
      said: ["changes are waiting to be saved", "changes are saved again"],
    });
  },
);

/** Leaves a few megabytes, writes until nothing goes any more, and then makes room. */
const fillsDisk = `
  import { rmSync, writeFileSync } from "node:fs";
  import { setTimeout as sleep } from "node:timers/promises";
  import { nodeEnvironment } from "./dist/src/environment/node/node-environment.js";
  import { History } from "./dist/src/history/history.js";
  import { HistoryDatabase } from "./dist/src/history/history-database.js";
  const [, folder] = process.argv;
  const path = folder + "/h.db";
  const said = [];
  const quiet = () => undefined;
  const say = (message) => said.push(message);
  const log = { debug: quiet, info: say, warn: say, error: say, child: () => log };
  const committed = new Set();
  const environment = { ...nodeEnvironment(), log };
  const history = await History.open({
    ...environment, path, onCommitted: (ids) => ids.forEach((id) => committed.add(id)),
  });
  writeFileSync(folder + "/filler", Buffer.alloc(18 << 20));
  for (let number = 0; number < 4000; number += 1) {
    history.add({
      id: "run-" + number, cluster: "east", service: "shop/web", address: "10.1.0.7", port: 80,
      podUid: null, podName: null, direction: "leave", cause: "x".repeat(2000),
      originMs: Date.now(), originNotBeforeMs: null, outcome: "complete", hops: [],
    });
  }
  while (history.trouble === undefined) await sleep(10);
  const { trouble } = history;
  const isWaiting = history.waiting > 0;
  rmSync(folder + "/filler");
  await history.flush();
  const troubleAfter = history.trouble ?? null;
  await history.close();
  const database = HistoryDatabase.openToRead(path);
  const ids = new Set(database.rows("SELECT id FROM journeys").map(({ id }) => id));
  const integrity = database.rows("PRAGMA integrity_check")[0].integrity_check;
  const missing = [...committed].filter((id) => !ids.has(id));
  const { counts } = history;
  console.log(JSON.stringify({
    trouble, isWaiting, troubleAfter, counts, missing, integrity, said,
  }));`;

function recordsIn(text: string): readonly unknown[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line): unknown => JSON.parse(line));
}

/** Mounting needs a user namespace, which not every machine gives. */
function canMount(): boolean {
  try {
    const mount = ["sh", "-c", "mount -t tmpfs none /tmp"];
    const args = ["--user", "--map-root-user", "--mount", ...mount];
    execFileSync("unshare", args, { stdio: "ignore" });
    return true;
  } catch {
    // No such program, or no such right.
    return false;
  }
}
