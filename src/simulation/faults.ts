// Fault plans: the faults of a simulated run, with their times. A plan drawn from a seed repeats
// with it and prints as text; every fault in it ends before the plan is quiet, so that a test can
// check whether the world recovers. Callers add their own kinds of faults as entries.
import { type Random, randomBetween, randomInt } from "../environment/random.ts";
import { uniformLatency } from "./network/link.ts";
import type { Simulation } from "./simulation.ts";

export interface Fault {
  /** When it begins, counted from where the plan is applied. */
  readonly atMs: number;
  /** When it ends; the same as `atMs` for a fault of one instant. */
  readonly untilMs: number;
  readonly describe: string;
  readonly begin: (simulation: Simulation) => void;
  readonly end: (simulation: Simulation) => void;
}

export interface FaultPlan {
  /** In order of their beginning. */
  readonly faults: readonly Fault[];
  /** From here on nothing is wrong any more. */
  readonly quietAfterMs: number;
}

export type FaultKind =
  | "latency"
  | "reset"
  | "partition"
  | "one-way"
  | "isolation"
  | "stall"
  | "clock";

export const allFaultKinds: readonly FaultKind[] = [
  "latency",
  "reset",
  "partition",
  "one-way",
  "isolation",
  "stall",
  "clock",
];

export interface FaultPlanOptions {
  /** Two at least, except for the kinds that need one: isolation and clock. */
  readonly hosts: readonly string[];
  /** Every fault has ended by then. */
  readonly quietAfterMs: number;
  /** On average one begins in this time; an eighth of the plan unless given. */
  readonly meanBetweenMs?: number;
  readonly kinds?: readonly FaultKind[];
}

/** Short glitches and long outages, on both sides of the time after which a peer counts as dead. */
const durationsMs = { shortest: 50, longest: 60_000 };

/** From a busy network to a congested line between continents. */
const spikeLatencyMs = { min: 5, max: 2_000 };

/** From a small correction to a wrong time zone. */
const clockJumpMs = { min: 500, max: 7_200_000 };

/** A plan cannot grow without bound, however short the mean time between its faults. */
const maxFaults = 10_000;

export function randomFaultPlan(random: Random, options: FaultPlanOptions): FaultPlan {
  const { hosts, quietAfterMs, kinds = allFaultKinds } = options;
  const meanBetweenMs = options.meanBetweenMs ?? quietAfterMs / 8;
  const faults: Fault[] = [];
  /** Two faults of one kind in one place would end each other. */
  const busyUntilMs = new Map<string, number>();
  let atMs = 0;
  while (faults.length < maxFaults) {
    atMs += -Math.log(1 - random.next()) * meanBetweenMs;
    if (atMs >= quietAfterMs) break;
    const kind = kinds[randomInt(random, kinds.length)];
    if (kind === undefined) break;
    const untilMs = Math.min(quietAfterMs, atMs + drawDurationMs(random));
    const { place, ...effect } = drawEffect(random, kind, hosts);
    if ((busyUntilMs.get(place) ?? 0) > atMs) continue;
    busyUntilMs.set(place, untilMs);
    faults.push({ atMs, untilMs: kind === "reset" ? atMs : untilMs, ...effect });
  }
  return { faults, quietAfterMs };
}

/** A plan with these faults as well. */
export function withFaults(plan: FaultPlan, added: readonly Fault[]): FaultPlan {
  const faults = [...plan.faults, ...added].sort((left, right) => left.atMs - right.atMs);
  const ends = added.map((fault) => fault.untilMs);
  return { faults, quietAfterMs: Math.max(plan.quietAfterMs, ...ends) };
}

/** Sets the plan going from now on. */
export function applyFaultPlan(simulation: Simulation, plan: FaultPlan): void {
  const startMs = simulation.now();
  for (const fault of plan.faults) {
    simulation.at(startMs + fault.atMs, () => {
      simulation.noteFault(`begin: ${fault.describe}`);
      fault.begin(simulation);
    });
    simulation.at(startMs + fault.untilMs, () => {
      simulation.noteFault(`end: ${fault.describe}`);
      fault.end(simulation);
    });
  }
}

/** One line a fault: when it begins and ends, in seconds, and what it is. */
export function printFaultPlan(plan: FaultPlan): string {
  const lines = plan.faults.map(
    (fault) => `${seconds(fault.atMs)} – ${seconds(fault.untilMs)}  ${fault.describe}`,
  );
  return [...lines, `${seconds(plan.quietAfterMs)}  quiet`].join("\n");
}

/** Even over the orders of magnitude: as many of tenths of a second as of tens. */
function drawDurationMs(random: Random): number {
  const { shortest, longest } = durationsMs;
  return Math.exp(randomBetween(random, Math.log(shortest), Math.log(longest)));
}

type Effect = Pick<Fault, "describe" | "begin" | "end">;

/** The effect of a fault, and the place it takes: at one time there is one fault in a place. */
function drawEffect(
  random: Random,
  kind: FaultKind,
  hosts: readonly string[],
): Effect & { place: string } {
  const from = pick(random, hosts);
  if (kind === "isolation" || kind === "clock") {
    return { place: `${kind} ${from}`, ...hostFault(random, kind, from) };
  }
  const others = hosts.filter((host) => host !== from);
  const to = pick(random, others);
  const sort = kind === "one-way" ? "partition" : kind;
  const place = `${sort} ${[from, to].sort().join(" ")}`;
  return { place, ...linkFault(random, kind, from, to) };
}

function hostFault(random: Random, kind: "isolation" | "clock", host: string): Effect {
  if (kind === "isolation") {
    return {
      describe: `${host} is cut off from all others`,
      begin: (simulation) => simulation.network.isolate(host),
      end: (simulation) => simulation.network.rejoin(host),
    };
  }
  const sign = random.next() < 0.5 ? -1 : 1;
  const jumpMs = sign * Math.round(randomBetween(random, clockJumpMs.min, clockJumpMs.max));
  const jump = (simulation: Simulation, byMs: number): void =>
    simulation.setWallSkew(host, simulation.wallSkewMs(host) + byMs);
  return {
    describe: `the clock of ${host} is ${seconds(jumpMs)} off`,
    begin: (simulation) => jump(simulation, jumpMs),
    end: (simulation) => jump(simulation, -jumpMs),
  };
}

function linkFault(
  random: Random,
  kind: Exclude<FaultKind, "isolation" | "clock">,
  from: string,
  to: string,
): Effect {
  const [a = from, b = to] = [from, to].sort();
  switch (kind) {
    case "latency": {
      const maxMs = Math.round(randomBetween(random, spikeLatencyMs.min, spikeLatencyMs.max));
      return {
        describe: `messages between ${a} and ${b} take up to ${maxMs} ms`,
        begin: ({ network }) => network.setLatency(a, b, uniformLatency(1, maxMs)),
        end: ({ network }) => network.setLatency(a, b, undefined),
      };
    }
    case "reset":
      return {
        describe: `connections between ${a} and ${b} break`,
        begin: ({ network }) => network.resetConnections(a, b),
        end: () => undefined,
      };
    case "partition":
      return {
        describe: `${a} and ${b} do not reach each other`,
        begin: ({ network }) => network.partition(a, b),
        end: ({ network }) => network.heal(a, b),
      };
    case "one-way":
      return {
        describe: `nothing passes from ${from} to ${to}`,
        begin: ({ network }) => network.partitionOneWay(from, to),
        end: ({ network }) => network.healOneWay(from, to),
      };
    case "stall":
      return {
        describe: `open connections from ${from} to ${to} stall`,
        begin: ({ network }) => network.stall(from, to),
        end: ({ network }) => network.unstall(from, to),
      };
  }
}

function pick(random: Random, hosts: readonly string[]): string {
  const host = hosts[randomInt(random, hosts.length)];
  if (host === undefined) throw new RangeError("a fault plan needs more hosts for these kinds");
  return host;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
