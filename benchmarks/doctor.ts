// How fast the doctor reads logs, beside the least that any reader does: finding the ends of lines and
// making a string of each. Both run in turns in one process over the same bytes. A second process reads
// a stream of two gigabytes and reports the most memory that it had.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { BenchChild } from "./bench-child.ts";
import { readLog } from "./bench-doctor.ts";
import { type BenchLog, logBytes } from "./bench-log.ts";
import {
  atLeast,
  atMost,
  type Benchmark,
  type Figure,
  type Figures,
  median,
  plain,
} from "./benchmark.ts";

const megabyte = 1e6;
const logMegabytes = 64;
const quickMegabytes = 16;
const turns = 7;

const streamMegabytes = 2_000;
const quickStreamMegabytes = 200;

export const doctorBenchmark: Benchmark = {
  description: "logs read by the doctor, beside finding line ends and making a string per line",
  hasQuickRun: true,
  async run(progress, { quick }) {
    const megabytes = quick ? quickMegabytes : logMegabytes;
    const ordinary = await measure("ordinary", megabytes, progress);
    const incident = await measure("incident", megabytes, progress);
    return {
      ...figures("log", ordinary, {
        note: "one line in fifty is a known message",
        ratio: (value) => atLeast(value, 0.25, "×", ofReference),
      }),
      ...figures("knownLog", incident, {
        note: "every line is a known message",
        ratio: (value) => plain(value, "×", ofReference),
      }),
      ...(await memory(quick ? quickStreamMegabytes : streamMegabytes, progress)),
    };
  },
};

const ofReference = "of the speed of the reference";

interface Speed {
  /** Megabytes a second. */
  readonly doctor: number;
  readonly reference: number;
}

async function measure(
  kind: BenchLog,
  megabytes: number,
  progress: (step: string) => void,
): Promise<Speed> {
  const log = logBytes(kind, megabytes * megabyte, 0);
  const times = { doctor: [] as number[], reference: [] as number[] };
  for (let turn = 1; turn <= turns; turn += 1) {
    progress(`${kind} log of ${megabytes} MB, turn ${turn} of ${turns}`);
    times.reference.push(await secondsOf(() => splitOnly(log)));
    times.doctor.push(await secondsOf(() => readLog(environment, [log])));
  }
  const speed = (seconds: readonly number[]): number => log.length / megabyte / median(seconds);
  return { doctor: speed(times.doctor), reference: speed(times.reference) };
}

const environment = nodeEnvironment({ log: { level: () => "error" } });

/** Of the processor, all threads together: other load on the machine does not count. */
async function secondsOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

const newline = 0x0a;

/** The reference; returns the number of characters, so that no string is left out as unused. */
function splitOnly(log: Buffer): number {
  let characters = 0;
  for (let start = 0; start < log.length; ) {
    const end = log.indexOf(newline, start);
    characters += log.toString("utf8", start, end).length;
    start = end + 1;
  }
  return characters;
}

type Ratio = (value: number) => Figure;

function figures(
  name: string,
  { doctor, reference }: Speed,
  { note, ratio }: { readonly note: string; readonly ratio: Ratio },
): Figures {
  return {
    [`${name}MegabytesPerSecond`]: plain(doctor, "MB/s", `${note}; by processor time`),
    [`${name}ReferenceMegabytesPerSecond`]: plain(reference, "MB/s", "line ends and strings"),
    [`${name}Ratio`]: ratio(doctor / reference),
  };
}

async function memory(megabytes: number, progress: (step: string) => void): Promise<Figures> {
  progress(`a stream of ${megabytes} MB in another process`);
  const { child } = await BenchChild.start<string>("bench-doctor", { megabytes });
  try {
    const { peakMegabytes } = await child.ask<{ peakMegabytes: number }>("read");
    const note = `resident set of the process at its most, a stream of ${megabytes} MB`;
    return { streamPeakMegabytes: atMost(peakMegabytes, 200, "MB", note) };
  } finally {
    await child.stop();
  }
}
