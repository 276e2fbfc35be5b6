// The cost of keeping journeys: written through the history with its thread, beside a plain file to
// which the same JSON is appended in the same batches, each synced to the disk. Both run in turns
// on the same disk; figures are medians.
import { mkdtemp, open, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WallMs } from "../src/environment/clock.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { History } from "../src/history/history.ts";
import { HistoryReader } from "../src/history/history-reader.ts";
import type { JourneyRecord } from "../src/timeline/journey-record.ts";
import { type Benchmark, type Figures, median, percentile, plain } from "./benchmark.ts";

/** Half a minute of a thousand changes a second. */
const journeys = 30_000;
const quickJourneys = 5_000;
const turns = 3;

/** As many as wait at once; adding more would measure what is dropped. */
const waitingMost = 2_000;

/** As the history makes them. */
const batch = 500;

const environment = nodeEnvironment({ log: { level: () => "error" } });

export const historyBenchmark: Benchmark = {
  description: "journeys written to and read from a history, beside a file that is appended to",
  hasQuickRun: true,
  async run(progress, { quick }) {
    const count = quick ? quickJourneys : journeys;
    const records = Array.from({ length: count }, (_, number) => journey(number));
    const folder = await mkdtemp(join(tmpdir(), "bench-history-"));
    try {
      const kept: Kept[] = [];
      const appended: number[] = [];
      for (let turn = 1; turn <= turns; turn += 1) {
        progress(`${count} journeys, turn ${turn} of ${turns}`);
        appended.push(await append(`${folder}/log-${turn}`, records));
        kept.push(await keep(`${folder}/h-${turn}.db`, records));
      }
      progress("questions");
      return { ...figures(count, kept, appended), ...(await ask(`${folder}/h-1.db`)) };
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

interface Kept {
  readonly seconds: number;
  readonly addMicros: number;
  readonly commitMs: readonly number[];
  readonly bytes: number;
}

async function keep(path: string, records: readonly JourneyRecord[]): Promise<Kept> {
  const addedAt = new Map<string, number>();
  const commitMs: number[] = [];
  const history = await History.open({
    ...environment,
    path,
    onCommitted: (ids) => {
      const now = performance.now();
      for (const id of ids) commitMs.push(now - (addedAt.get(id) ?? now));
    },
  });
  const began = performance.now();
  let addingMs = 0;
  for (const record of records) {
    addedAt.set(record.id, performance.now());
    const before = performance.now();
    history.add(record);
    addingMs += performance.now() - before;
    while (history.waiting >= waitingMost) await environment.timers.sleep(1);
  }
  await history.flush();
  const seconds = (performance.now() - began) / 1_000;
  await history.close();
  const { size } = await stat(path);
  const addMicros = (addingMs * 1_000) / records.length;
  return { seconds, addMicros, commitMs, bytes: size / records.length };
}

/** Seconds. */
async function append(path: string, records: readonly JourneyRecord[]): Promise<number> {
  const file = await open(path, "a");
  const began = performance.now();
  for (let at = 0; at < records.length; at += batch) {
    const lines = records.slice(at, at + batch).map((one) => `${JSON.stringify(one)}\n`);
    await file.write(lines.join(""));
    await file.datasync();
  }
  const seconds = (performance.now() - began) / 1_000;
  await file.close();
  return seconds;
}

function figures(count: number, kept: readonly Kept[], appended: readonly number[]): Figures {
  const seconds = median(kept.map((one) => one.seconds));
  const reference = median(appended);
  const commitMs = kept.flatMap((one) => one.commitMs);
  return {
    journeysPerSecond: plain(count / seconds, "journeys/s", "committed, batches of at most 500"),
    appendedPerSecond: plain(
      count / reference,
      "journeys/s",
      "the reference: append and fdatasync",
    ),
    timesTheReference: plain(seconds / reference, "×", "of the time that appending takes"),
    addMicros: plain(median(kept.map((one) => one.addMicros)), "µs", "in the observer's thread"),
    commitP99Ms: plain(
      percentile(commitMs, 0.99),
      "ms",
      "from adding to acknowledged, at full speed",
    ),
    bytesPerJourney: plain(median(kept.map((one) => one.bytes)), "bytes", "with all indexes"),
    recordBytes: plain(JSON.stringify(journey(0)).length, "bytes", "the same as JSON"),
  };
}

async function ask(path: string): Promise<Figures> {
  const reader = await HistoryReader.open({ files: environment.files, path });
  const timed = (work: () => Iterable<unknown>): number => {
    const runs = Array.from({ length: 5 }, () => {
      const began = performance.now();
      for (const _ of work());
      return performance.now() - began;
    });
    return median(runs);
  };
  try {
    const limit = 50;
    const byService = { service: "shop/web-17" };
    return {
      latestMs: plain(
        timed(() => reader.records({}, { order: "latest first", limit })),
        "ms",
      ),
      slowestMs: plain(
        timed(() => reader.records({}, { order: "slowest first", limit })),
        "ms",
      ),
      serviceMs: plain(
        timed(() => reader.records(byService, { order: "latest first", limit })),
        "ms",
      ),
      allMs: plain(
        timed(() => reader.records({}, { order: "oldest first" })),
        "ms",
        "every journey",
      ),
    };
  } finally {
    reader.close();
  }
}

/** A leave that three hops and two replicas have shown. */
function journey(number: number): JourneyRecord {
  const lag = (number * 7_919) % 50;
  return {
    id: `6e1f1a0e-6a0c-4c55-9a8e-0d2f6f6b7c11-${number}`,
    cluster: "shop-1",
    service: `shop/web-${number % 400}`,
    address: `10.42.${number % 250}.${(number * 31) % 250}`,
    port: 8080,
    podUid: `0b6f2c9e-1111-4222-8333-${String(number).padStart(12, "0")}`,
    podName: `web-${number % 400}-7d9f8b6c5d-${number}`,
    direction: number % 2 === 0 ? "leave" : "join",
    cause: number % 2 === 0 ? "terminating" : "ready",
    originMs: (Date.now() - (journeys - number)) as WallMs,
    originNotBeforeMs: null,
    outcome: "complete",
    hops: [
      { hop: "pod", witness: "shop-1", state: "shown", lagMs: 0 },
      { hop: "published", witness: "shop-1", state: "shown", lagMs: 21.5 + lag },
      { hop: "synced", witness: "edge", state: "shown", lagMs: 35.25 + lag },
      { hop: "routed", witness: "edge-1", state: "shown", lagMs: 12.125 + lag },
      { hop: "routed", witness: "edge-2", state: "shown", lagMs: 14.75 + lag },
    ],
  };
}
