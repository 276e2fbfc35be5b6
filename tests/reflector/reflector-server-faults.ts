// Faults of API servers, as entries of a fault plan. The network's own faults are in
// `src/simulation/faults.ts`.
import { type Random, randomBetween } from "../../src/environment/random.ts";
import type { Fault } from "../../src/simulation/faults.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import { logBetween, pick } from "./reflector-pick.ts";
import type { Departure, TestServer } from "./reflector-servers.ts";

export interface ServerFaultsOptions {
  readonly servers: readonly TestServer[];
  readonly clientNames: readonly string[];
  /** Every fault has ended by then. */
  readonly quietAfterMs: number;
  readonly count: number;
}

/** From a hiccup to longer than any bound of a reflector. */
const durationsMs = { shortest: 1_000, longest: 300_000 };
/** From an ordinary delay to a cache that is minutes behind. */
const lagsMs = { shortest: 1_000, longest: 200_000 };
/** A slow start of an API server. */
const longestRestartMs = 20_000;
/** The longest wait a server asks for. */
export const longestRetryAfterSeconds = 20;

/** Draws faults; at one time there is one of a kind at a server, or they would end each other. */
export function randomServerFaults(random: Random, options: ServerFaultsOptions): Fault[] {
  const { servers, quietAfterMs, count } = options;
  const faults: Fault[] = [];
  const taken: { readonly place: string; readonly atMs: number; readonly untilMs: number }[] = [];
  for (let drawn = 0; drawn < count; drawn += 1) {
    const server = pick(random, servers);
    const [kind, makeEffect] = pick(random, effects);
    const place = `${kind} ${server.name}`;
    const atMs = randomBetween(random, 0, quietAfterMs);
    const lastsMs = logBetween(random, durationsMs.shortest, durationsMs.longest);
    const untilMs = Math.min(quietAfterMs, atMs + lastsMs);
    const effect = makeEffect(random, server, options.clientNames);
    const isTaken = taken.some(
      (other) => other.place === place && other.atMs <= untilMs && atMs <= other.untilMs,
    );
    if (!isTaken) {
      taken.push({ place, atMs, untilMs });
      faults.push({ atMs, untilMs, ...effect });
    }
  }
  return faults;
}

type Effect = Pick<Fault, "describe" | "begin" | "end">;
type MakeEffect = (random: Random, server: TestServer, clientNames: readonly string[]) => Effect;

const effects: readonly (readonly [string, MakeEffect])[] = [
  ["errors", errors],
  ["throttling", throttling],
  ["resets", resets],
  ["latency", latency],
  ["capacity", capacity],
  ["stall", (random, server, names) => stalledWatches(server, pick(random, [undefined, ...names]))],
  ["lag", (random, server) => laggingCache(server, drawLagMs(random))],
  ["lag", (random, server) => laggingCache(server, drawLagMs(random))],
  ["lag", (random, server) => laggingRestart(random, server)],
  ["broken", (_, server) => brokenWatches(server)],
  ["down", (random, server) => down(server, pick(random, departures))],
  ["down", (random, server) => down(server, pick(random, departures))],
];

const departures: readonly Departure[] = ["stop", "crash", "vanish"];

function errors(random: Random, server: TestServer): Effect {
  const rate = randomBetween(random, 0.2, 1);
  const code = pick(random, [500, 503] as const);
  return rule(server, `refuses ${percent(rate)} with ${code}`, { errors: { rate, code } });
}

function throttling(random: Random, server: TestServer): Effect {
  const rate = randomBetween(random, 0.2, 1);
  const retryAfterSeconds = Math.ceil(randomBetween(random, 0, longestRetryAfterSeconds));
  const text = `throttles ${percent(rate)} for ${retryAfterSeconds} s`;
  return rule(server, text, { throttled: { rate, retryAfterSeconds } });
}

function resets(random: Random, server: TestServer): Effect {
  const rate = randomBetween(random, 0.1, 1);
  return rule(server, `breaks ${percent(rate)} of the requests`, { resets: { rate } });
}

function latency(random: Random, server: TestServer): Effect {
  const maxMs = Math.round(logBetween(random, 50, 70_000));
  return rule(server, `answers after up to ${maxMs} ms`, { latency: { minMs: 0, maxMs } });
}

function rule(
  server: TestServer,
  text: string,
  what: Omit<Parameters<TestServer["addRule"]>[0], "match">,
): Effect {
  let remove = (): void => undefined;
  return {
    describe: `${server.name} ${text}`,
    begin: () => {
      remove = server.addRule({ match: {}, ...what });
    },
    end: () => remove(),
  };
}

function capacity(random: Random, server: TestServer): Effect {
  const requestsPerSecond = randomBetween(random, 0.2, 5);
  return {
    describe: `${server.name} serves ${requestsPerSecond.toFixed(1)} requests a second`,
    begin: () => server.setCapacity({ requestsPerSecond, maxQueued: 3 }),
    end: () => server.setCapacity(undefined),
  };
}

/** The watches of one client, or all. */
export function stalledWatches(server: TestServer, clientName: string | undefined): Effect {
  return {
    describe: `${server.name} sends nothing to the watches of ${clientName ?? "all"}`,
    begin: () =>
      server.stallWatches((watch) => clientName === undefined || watch.clientName === clientName),
    end: () => server.stallWatches(undefined),
  };
}

export function laggingCache(server: TestServer, lagMs: number): Effect {
  return {
    describe: `the cache of ${server.name} is ${lagMs / 1000} s behind`,
    begin: () => server.setCacheLag(lagMs),
    end: () => server.setCacheLag(0),
  };
}

/** Its state at the restart stays its newest for a long time. */
function laggingRestart(random: Random, server: TestServer): Effect {
  const { describe, ...restart } = down(server, pick(random, departures));
  const downMs = logBetween(random, durationsMs.shortest, longestRestartMs);
  return {
    describe: `${describe} for ${Math.round(downMs)} ms, and its cache stands still from then on`,
    begin: (simulation) => {
      server.setCacheLag(Number.POSITIVE_INFINITY);
      restart.begin(simulation);
      simulation.at(simulation.now() + downMs, () => restart.end(simulation));
    },
    end: (simulation) => {
      server.setCacheLag(0);
      restart.end(simulation);
    },
  };
}

/** At the beginning and at the end. */
function brokenWatches(server: TestServer): Effect {
  return {
    describe: `the watches of ${server.name} break`,
    begin: () => server.resetWatches(),
    end: () => server.resetWatches(),
  };
}

export function down(server: TestServer, how: Departure): Effect {
  const failing = (simulation: Simulation, promise: Promise<void>): void => {
    promise.catch((error: unknown) => simulation.fail(error));
  };
  return {
    describe: `${server.name} is down (${how})`,
    begin: (simulation) => failing(simulation, server.goDown(how)),
    end: (simulation) => failing(simulation, server.start()),
  };
}

function drawLagMs(random: Random): number {
  const isFrozen = random.next() < 0.3;
  return isFrozen
    ? Number.POSITIVE_INFINITY
    : Math.round(logBetween(random, lagsMs.shortest, lagsMs.longest));
}

function percent(rate: number): string {
  return `${Math.round(rate * 100)} %`;
}
