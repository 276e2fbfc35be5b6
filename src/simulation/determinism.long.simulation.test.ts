// The promise the whole simulation rests on: the same seed gives the same run, to the last byte, in
// this process and in another.
import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { devNull, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Environment } from "../environment/environment.ts";
import { NetworkError, type ServerExchange } from "../environment/network.ts";
import { randomBetween, randomInt } from "../environment/random.ts";
import { applyFaultPlan, randomFaultPlan } from "./faults.ts";
import { forEachSeed, isThorough } from "./seeds.ts";
import { type Simulation, simulate } from "./simulation.ts";
import { firstDifference, type RecordedTrace } from "./trace.ts";

const servers = ["server-1", "server-2", "server-3"];
const clients = ["client-1", "client-2"];
const runMs = 120_000;

/** Longer than any exchange goes on after its client has left. */
const settleMs = 30_000;

/** Where a process that was started for its hash is asked to write it. */
const hashFile = process.env["LOCKSTEP_HASH_FILE"] ?? devNull;
const hashTest = "a run can hand its hash to another process";

interface Outcome {
  readonly hash: string;
  readonly events: number;
  readonly exchanges: number;
  readonly leftOpen: number;
  readonly recorded: RecordedTrace;
}

/** Streams, uploads, timers, chance, logs, a restart and faults of every kind, all at once. */
function busyRun(seed: number, decide: (size: number) => string = sizeWord): Promise<Outcome> {
  return simulate({ seed, recordLast: 1_000_000 }, async (simulation) => {
    for (const name of servers) await serve(simulation.host(name), name);
    const random = simulation.random;
    applyFaultPlan(
      simulation,
      randomFaultPlan(random, {
        hosts: [...servers, ...clients],
        quietAfterMs: runMs / 2,
        meanBetweenMs: 3_000,
      }),
    );
    simulation.at(runMs / 3, () => {
      simulation.crash("server-1", { vanish: seed % 2 === 0 });
      void simulation.sleep(2_000).then(() => serve(simulation.host("server-1"), "server-1"));
    });
    await Promise.all(clients.map((name) => ask(simulation, simulation.host(name), decide)));
    await simulation.sleep(settleMs);
    return {
      hash: simulation.trace.hash(),
      events: simulation.events,
      exchanges: simulation.network.exchanges,
      leftOpen: simulation.network.openExchanges(),
      recorded: simulation.trace.recorded(),
    };
  });
}

async function serve(environment: Environment, host: string): Promise<void> {
  const { timers, random } = environment;
  await environment.network.listen({ host, port: 443 }, async (exchange: ServerExchange) => {
    let received = 0;
    for await (const chunk of exchange.request.body) received += chunk.length;
    const writer = exchange.respond(200, { "x-received": String(received) });
    const chunks = randomInt(random, 20);
    for (let index = 0; index < chunks && !exchange.request.closed.aborted; index++) {
      writer.write(Buffer.alloc(randomInt(random, 20_000), index));
      await timers.sleep(randomBetween(random, 0, 300));
    }
    writer.end();
  });
}

async function ask(
  simulation: Simulation,
  { network, timers, random, log }: Environment,
  decide: (size: number) => string,
): Promise<void> {
  while (simulation.now() < runMs) {
    const server = servers[randomInt(random, servers.length)] ?? "";
    const controller = new AbortController();
    const cancel = timers.after(randomBetween(random, 500, 20_000), () => controller.abort());
    try {
      const response = await network.request({
        method: "POST",
        url: `https://${server}/work/${random.uuid()}`,
        body: Buffer.alloc(randomInt(random, 1_000)),
        signal: controller.signal,
      });
      let size = 0;
      for await (const chunk of response.body) size += chunk.length;
      log.info("an answer came", { server, decision: decide(size) });
    } catch (error) {
      if (!(error instanceof NetworkError)) throw error;
      log.warn("no answer", { server, code: error.code });
    } finally {
      cancel();
    }
    await timers.sleep(randomBetween(random, 10, 500));
  }
}

function sizeWord(size: number): string {
  return size > 50_000 ? "large" : "small";
}

forEachSeed("the same seed gives the same run", { seeds: 10 }, repeats);

async function repeats(seed: number): Promise<void> {
  const first = await busyRun(seed);
  const second = await busyRun(seed);
  expect(firstDifference(first.recorded, second.recorded)).toBeUndefined();
  expect(second).toEqual(first);
  expect(first.exchanges).toBeGreaterThan(50);
  expect(first.leftOpen).toBe(0);
}

test("another seed gives another run", async () => {
  const hashes = [];
  for (const seed of [1, 2, 3]) hashes.push((await busyRun(seed)).hash);
  expect(new Set(hashes).size).toBe(3);
});

test("one decision taken otherwise changes the hash, and the trace shows where", async () => {
  const usual = await busyRun(1);
  let decisions = 0;
  const changed = await busyRun(1, (size) => {
    decisions += 1;
    return decisions === 20 ? "neither" : sizeWord(size);
  });
  expect(changed.hash).not.toBe(usual.hash);
  const difference = firstDifference(usual.recorded, changed.recorded);
  expect(difference?.left).toMatch(/log .* an answer came .*"decision":"(large|small)"}$/);
  expect(difference?.right).toMatch(/log .* an answer came .*"decision":"neither"}$/);
});

test.runIf(isThorough(process.env))("another process gives the same hash", async () => {
  const folder = await mkdtemp(join(tmpdir(), "determinism-"));
  try {
    const file = join(folder, "hash");
    const vitest = join(
      dirname(fileURLToPath(import.meta.resolve("vitest/package.json"))),
      "vitest.mjs",
    );
    const self = fileURLToPath(import.meta.url);
    const args = [vitest, "run", "--project", "simulation", self, "-t", hashTest];
    const env = { ...process.env, LOCKSTEP_HASH_FILE: file };
    await promisify(execFile)(process.execPath, args, { env });
    expect(await readFile(file, "utf8")).toBe((await busyRun(17)).hash);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test(hashTest, async () => {
  const { hash } = await busyRun(17);
  expect(hash).toMatch(/^[0-9a-f]{64}$/);
  await writeFile(hashFile, hash);
});
