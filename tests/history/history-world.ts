// Only for tests: journeys to keep, a folder to keep them in, and the history's service in the
// test's own thread, behind a real message channel.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MessageChannel } from "node:worker_threads";
import type { WallMs } from "../../src/environment/clock.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { HistoryDatabase } from "../../src/history/history-database.ts";
import type {
  HistoryAnswer,
  HistoryRequest,
  StartHistoryThread,
} from "../../src/history/history-port.ts";
import { defaultRetention } from "../../src/history/history-retention.ts";
import { HistoryWriter, type HistoryWriterOptions } from "../../src/history/history-writer.ts";
import { historyService } from "../../src/history/serve-history.ts";
import type { JourneyRecord } from "../../src/timeline/journey-record.ts";

export const environment = nodeEnvironment({ log: { level: () => "error" } });

export async function withFolder(test: (folder: string) => Promise<void> | void): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "history-"));
  try {
    await test(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** A leave that every hop has shown, a second after the one before. */
export function record(number: number, changed: Partial<JourneyRecord> = {}): JourneyRecord {
  return {
    id: `run-${number}`,
    cluster: "east",
    service: "shop/web",
    address: "10.1.0.7",
    port: 8080,
    podUid: `uid-${number}`,
    podName: `web-${number}`,
    direction: "leave",
    cause: "terminating",
    originMs: (1_000_000 + number * 1_000) as WallMs,
    originNotBeforeMs: null,
    outcome: "complete",
    hops: [
      { hop: "pod", witness: "east", state: "shown", lagMs: 0 },
      { hop: "published", witness: "east", state: "shown", lagMs: 20 },
      { hop: "routed", witness: "edge-1", state: "shown", lagMs: 35 },
    ],
    ...changed,
  };
}

/** The same, stuck at `published`. */
export function stuckRecord(number: number): JourneyRecord {
  const hops: JourneyRecord["hops"] = [
    { hop: "pod", witness: "east", state: "shown", lagMs: 0 },
    { hop: "published", witness: "east", state: "stuck", lagMs: null },
    { hop: "routed", witness: "edge-1", state: "shown", lagMs: 35 },
  ];
  return record(number, { outcome: "pending", hops });
}

export function writerOf(path: string, changed: Partial<HistoryWriterOptions> = {}): HistoryWriter {
  return new HistoryWriter({ path, retention: defaultRetention, pid: 4711, nowMs: 0, ...changed });
}

export function texts(...records: readonly JourneyRecord[]): readonly string[] {
  return records.map((one) => JSON.stringify(one));
}

/** Every journey in the file, oldest first. */
export function keptIn(path: string): readonly JourneyRecord[] {
  const database = HistoryDatabase.openToRead(path);
  try {
    const rows = database.rows("SELECT record FROM journeys ORDER BY origin_ms, rowid");
    return rows.map((row) => JSON.parse(String(row["record"])));
  } finally {
    database.close();
  }
}

export const inThisThread: StartHistoryThread = ({ onAnswer }) => {
  const { port1, port2 } = new MessageChannel();
  const answer = historyService();
  port2.on("message", (request: HistoryRequest) => port2.postMessage(answer(request)));
  port1.on("message", (given: HistoryAnswer) => onAnswer(given));
  return {
    post: (request) => port1.postMessage(request),
    end: async () => {
      port1.close();
      answer({ type: "close" });
    },
  };
};
