// The doctor reading a stream, as `lockstep doctor -` does; and a process that reads a long one and
// answers with the most memory that it had.

import { diagnose } from "../src/doctor/diagnose.ts";
import { evidenceIn, noFacts } from "../src/doctor/evidence/evidence.ts";
import { emptySummary, readStream } from "../src/doctor/evidence/read-paths.ts";
import type { Environment } from "../src/environment/environment.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { logBytes } from "./bench-log.ts";

/** As files are read. */
const chunkBytes = 262_144;

/** Each piece has other names and times. */
const pieceBytes = 1_000_000;
const linesPerPiece = 10_000;

export async function readLog(
  { files, log }: Pick<Environment, "files" | "log">,
  pieces: Iterable<Buffer>,
): Promise<number> {
  const facts = noFacts();
  const { signal } = new AbortController();
  const summary = emptySummary();
  await readStream({ files, log, facts, signal }, chunks(pieces), { name: "bench.log", summary });
  return diagnose(evidenceIn(facts)).findings.length;
}

async function* chunks(pieces: Iterable<Buffer>): AsyncGenerator<Uint8Array> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += chunkBytes) {
      yield piece.subarray(at, at + chunkBytes);
    }
  }
}

function* stream(megabytes: number): Generator<Buffer> {
  for (let made = 0, seed = 0; made < megabytes * 1e6; seed += linesPerPiece) {
    const piece = logBytes(seed % 3 === 0 ? "incident" : "ordinary", pieceBytes, seed);
    made += piece.length;
    yield piece;
  }
}

if (process.send !== undefined) {
  const { megabytes } = JSON.parse(process.argv[2] ?? "{}") as { megabytes: number };
  const environment = nodeEnvironment({ log: { level: () => "error" } });
  process.on("message", () => {
    void readLog(environment, stream(megabytes)).then(() => {
      process.send?.({ peakMegabytes: (process.resourceUsage().maxRSS * 1024) / 1e6 });
    });
  });
  process.on("disconnect", () => process.exit());
  process.send("ready");
}
