// A hundred watchers of one collection: how many events reach them in a second when writers do not
// rest, and how long an event takes from its write to each watcher when writes come at a steady
// pace. The bare server writes the same bytes to as many connections.
import { Audience, type FanOutRate, watchersCount } from "./apiserver-audience.ts";
import type { ServerPair } from "./apiserver-creates.ts";
import { atLeast, atMost, type Figures, median, plain } from "./benchmark.ts";

const turns = 7;
const warmUpTurns = 2;

/** At most so many events wait for a watcher that does not read: far from where it is dropped. */
const writesPerTurn = 200;

const pacedTurns = 3;
const pacedWrites = 150;

/** About a tenth of what saturates the server, so that nothing queues. */
const pacedWritesPerSecond = 50;

interface Audiences {
  readonly lab: Audience;
  readonly bare: Audience;
}

export async function measureFanOut(
  servers: ServerPair,
  progress: (step: string) => void,
): Promise<Figures> {
  const lab = await Audience.open(servers.lab);
  const bare = await Audience.open(servers.bare);
  return {
    ...(await measureRates({ lab, bare }, progress)),
    ...(await measureLatencies({ lab, bare }, progress)),
  };
}

async function measureRates(
  { lab, bare }: Audiences,
  progress: (step: string) => void,
): Promise<Figures> {
  const labRates: FanOutRate[] = [];
  const bareRates: FanOutRate[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    progress(`fan-out, turn ${turn + 1} of ${turns}`);
    const ofLab = await lab.saturate(writesPerTurn);
    const ofBare = await bare.saturate(writesPerTurn);
    if (turn >= warmUpTurns) {
      labRates.push(ofLab);
      bareRates.push(ofBare);
    }
  }
  const middle = (rates: readonly FanOutRate[], key: keyof FanOutRate): number =>
    median(rates.map((rate) => rate[key]));
  const ratios = labRates.map(
    (rate, at) => rate.eventsPerSecond / (bareRates[at]?.eventsPerSecond ?? 0),
  );
  const cost = "processor time of the server for one event to one watcher";
  return {
    fanOutEventsPerSecond: plain(
      middle(labRates, "eventsPerSecond"),
      "events/s",
      `to ${watchersCount} watchers in all`,
    ),
    bareFanOutEventsPerSecond: plain(middle(bareRates, "eventsPerSecond"), "events/s"),
    fanOutRatio: atLeast(median(ratios), 0.66, "× bare", "share of the bare server's rate"),
    fanOutServerMicroseconds: plain(middle(labRates, "cpuMicroseconds"), "µs", cost),
    bareFanOutServerMicroseconds: plain(middle(bareRates, "cpuMicroseconds"), "µs", cost),
  };
}

async function measureLatencies(
  { lab, bare }: Audiences,
  progress: (step: string) => void,
): Promise<Figures> {
  const labTurns: (readonly number[])[] = [];
  const bareTurns: (readonly number[])[] = [];
  for (let turn = 1; turn <= pacedTurns; turn += 1) {
    progress(`fan-out at a steady pace, turn ${turn} of ${pacedTurns}`);
    labTurns.push(await lab.pace(pacedWrites, pacedWritesPerSecond));
    bareTurns.push(await bare.pace(pacedWrites, pacedWritesPerSecond));
  }
  const middle = (latencies: readonly (readonly number[])[], share: number): number =>
    median(latencies.map((one) => quantile(one, share)));
  const p99 = middle(labTurns, 0.99);
  const bareP99 = middle(bareTurns, 0.99);
  const note = `from the write to a delivery, ${pacedWritesPerSecond} writes/s`;
  return {
    fanOutP50Ms: plain(middle(labTurns, 0.5), "ms", note),
    bareFanOutP50Ms: plain(middle(bareTurns, 0.5), "ms"),
    fanOutP99Ms: plain(p99, "ms", note),
    bareFanOutP99Ms: plain(bareP99, "ms"),
    fanOutP99Ratio: atMost(p99 / bareP99, 1.5, "× bare"),
  };
}

function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}
