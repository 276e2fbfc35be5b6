// The proxy's figures, from what was measured.
import { atLeast, atMost, type Figures, median, percentile, plain } from "./benchmark.ts";
import { proportionalMegabytes, residentMegabytes } from "./process-cost.ts";
import type { PeersRounds } from "./proxy.ts";
import type { PushResult } from "./proxy-pushes.ts";
import { type Compared, ratioOf } from "./proxy-rounds.ts";
import { endpointsCount, hostsCount, manyPeers } from "./proxy-scale.ts";
import type { ProxyBenchWorld } from "./proxy-world.ts";

const throughputGoal = 0.85;
const pushGoalMs = 10;

const scale = `${hostsCount} hosts and services, ${endpointsCount} endpoints`;

export function throughputFigures(compared: readonly Compared[], workers: number): Figures {
  const after = workers === 1 ? "1Worker" : `${workers}Workers`;
  const throughput = ratioOf(
    compared,
    ({ lockstep, reference }) => lockstep.requestsPerSecond / reference.requestsPerSecond,
  );
  const processor = ratioOf(
    compared,
    ({ lockstep, reference }) => reference.cpuUs / lockstep.cpuUs,
  );
  const p99 = ratioOf(compared, ({ lockstep, reference }) => lockstep.p99Ms / reference.p99Ms);
  const of = (side: keyof Compared, what: "requestsPerSecond" | "cpuUs" | "p99Ms"): number =>
    median(compared.map((pair) => pair[side][what]));
  return {
    [`throughputRatio${after}`]: atLeast(
      throughput,
      throughputGoal,
      "of static",
      `requests/s with ${scale} ÷ those of a static nginx with one server, in turns`,
    ),
    [`processorRatio${after}`]: plain(
      processor,
      "of static",
      "worker time for a request: static ÷ Lockstep; less noisy than the throughput",
    ),
    [`p99Ratio${after}`]: plain(p99, "× static", "latency of the same rounds, Lockstep ÷ static"),
    [`requestsPerSecond${after}`]: plain(of("lockstep", "requestsPerSecond"), "1/s", "Lockstep"),
    [`staticPerSecond${after}`]: plain(of("reference", "requestsPerSecond"), "1/s", "static"),
    [`requestUs${after}`]: plain(of("lockstep", "cpuUs"), "µs", "worker time, Lockstep"),
    [`staticRequestUs${after}`]: plain(of("reference", "cpuUs"), "µs", "worker time, static"),
    [`p99Ms${after}`]: plain(of("lockstep", "p99Ms"), "ms", "Lockstep"),
  };
}

export function pushFigures({ routedMs, asked, stale }: PushResult, perSecond: number): Figures {
  const note = `from the decision to nginx's word, ${routedMs.length} changes at ${Math.round(perSecond)} requests/s`;
  return {
    pushToRoutedP50Ms: plain(percentile(routedMs, 0.5), "ms", note),
    pushToRoutedP99Ms: atMost(percentile(routedMs, 0.99), pushGoalMs, "ms", note),
    pushStale: atMost(stale, 0, "requests", `of ${asked} that began after nginx's word`),
  };
}

export function handshakeFigures(compared: readonly Compared[]): Figures {
  const ratio = ratioOf(compared, ({ lockstep, reference }) => reference.cpuUs / lockstep.cpuUs);
  const lockstepUs = median(compared.map(({ lockstep }) => lockstep.cpuUs));
  const note = "worker time for a full handshake: static ÷ certificate as data";
  return {
    handshakeRatio: plain(ratio, "of static", note),
    handshakeUs: plain(lockstepUs, "µs", "worker time, certificate as data"),
  };
}

export function memoryFigures(
  { loadMs }: ProxyBenchWorld,
  lockstepPids: readonly number[],
  staticPids: readonly number[],
): Figures {
  const mean = (pids: readonly number[], of: (pid: number) => number): number =>
    pids.reduce((sum, pid) => sum + of(pid), 0) / pids.length;
  return {
    fullLoadMs: plain(loadMs, "ms", `${scale}, until all of it is seen; before any traffic`),
    workerResidentMb: plain(
      mean(lockstepPids, residentMegabytes),
      "MB",
      "RSS, mean of the workers",
    ),
    workerProportionalMb: plain(
      mean(lockstepPids, proportionalMegabytes),
      "MB",
      "PSS: what the workers share is divided among them",
    ),
    staticResidentMb: plain(mean(staticPids, residentMegabytes), "MB", "RSS, one server block"),
    controllerResidentMb: plain(
      residentMegabytes(process.pid),
      "MB",
      "RSS of the pusher with the whole decision, without watches: bench ingress has those",
    ),
  };
}

export function peersFigures({
  large,
  distinct,
  reference,
  few,
}: PeersRounds & { readonly few: readonly Compared[] }): Figures {
  const lockstepUs = median(few.map(({ lockstep }) => lockstep.cpuUs));
  const staticUs = median(few.map((pair) => pair.reference.cpuUs));
  const more = "worker time for a request, more than with few peers";
  return {
    peersOfOneServiceUs: plain(
      large.cpuUs - lockstepUs,
      "µs",
      `${more}: one service of ${manyPeers} peers, each request to the next`,
    ),
    distinctPeersUs: plain(
      distinct.cpuUs - lockstepUs,
      "µs",
      `${more}: ${manyPeers} peers of many services`,
    ),
    staticPeersUs: plain(
      reference.cpuUs - staticUs,
      "µs",
      `${more}: a static upstream of ${manyPeers} servers that keeps as many connections`,
    ),
  };
}
