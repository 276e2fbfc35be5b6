// How long a pod's change takes from the API server's acceptance to a proxy's word that it routes by
// it: joins and leaves, at two rates, for Lockstep and for the stock model, which see the same
// changes of the same cluster at the same time. Everything but the two nginx runs in this process,
// so that all times are of one clock; what the lab itself costs is part of both sides' lag.

import { makeRunFolder } from "../src/cli/up/run-folder.ts";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { type Benchmark, CannotMeasureError, type Figures } from "./benchmark.ts";
import { seriesFigures } from "./path-figures.ts";
import { Flips, type Series } from "./path-flips.ts";
import { ChangeMeter } from "./path-meter.ts";
import { PathWorld } from "./path-world.ts";

/** The percentiles of the slow series are of few changes; more would take minutes. */
const measured: readonly Series[] = [
  { name: "1", changes: 32, perSecond: 1 },
  { name: "50", changes: 800, perSecond: 50 },
];

/** Compilers and connections get warm before anything counts. */
const warmUp: Series = { name: "warm-up", changes: 100, perSecond: 50 };
const preparationPerSecond = 100;

/** Stock routes by a change within 4.4 s: it syncs each 3.3 s, and its workers look each second. */
const settleLongestMs = 15_000;
const settlePollMs = 50;

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const environment = nodeEnvironment({ log: { level: "warn" } });

export const pathBenchmark: Benchmark = {
  description: "lag of pod changes from the API to routed, Lockstep beside the stock model",
  async run(progress) {
    await needNginx();
    const stop = new AbortController();
    const interrupt = (name: string): void => {
      stop.abort(new CannotMeasureError(`stopped by ${name}; nothing is left behind`));
    };
    // Lockstep's nginx outlives its controller by design, so a signal must not end us at once.
    for (const name of signals) process.on(name, interrupt);
    const { folder } = await makeRunFolder(environment);
    const meter = new ChangeMeter();
    const world = new PathWorld({ environment, folder, meter, signal: stop.signal });
    try {
      return await measure(world, meter, { progress, signal: stop.signal });
    } finally {
      await world.stop();
      await environment.files.remove(folder);
      for (const name of signals) process.off(name, interrupt);
    }
  },
};

async function measure(
  world: PathWorld,
  meter: ChangeMeter,
  { progress, signal }: { progress: (step: string) => void; signal: AbortSignal },
): Promise<Figures> {
  const client = await world.start(progress);
  const flips = new Flips({ ...environment, client, meter, signal });
  progress("the first endpoints, and a warm-up");
  await flips.prepare(preparationPerSecond);
  await settled(meter, signal);
  await flips.run(warmUp);
  await settled(meter, signal);
  const figures: Figures[] = [];
  for (const series of measured) {
    progress(`${series.changes} changes at ${series.perSecond} a second`);
    const startedAt = performance.now();
    const before = process.cpuUsage();
    await flips.run(series);
    const { user, system } = process.cpuUsage(before);
    const processorShare = (user + system) / 1000 / (performance.now() - startedAt);
    await settled(meter, signal);
    figures.push(seriesFigures(meter, series, processorShare));
  }
  return Object.assign({}, ...figures);
}

/** Waits until every hop shows every endpoint as it was last written. */
async function settled(meter: ChangeMeter, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; meter.outstanding > 0; waitedMs += settlePollMs) {
    if (waitedMs >= settleLongestMs) {
      throw new Error(`${meter.outstanding} endpoints are not routed as they should be`);
    }
    await environment.timers.sleep(settlePollMs, signal);
  }
}

async function needNginx(): Promise<void> {
  const needed = ["/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];
  const absent: string[] = [];
  for (const path of needed) {
    if ((await environment.files.read(path)) === undefined) absent.push(path);
  }
  if (absent.length === 0) return;
  throw new CannotMeasureError(
    `nginx with Lua is missing (${absent.join(", ")}), and this benchmark is of proxies.\n` +
      "Install it with: apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-cjson",
  );
}
