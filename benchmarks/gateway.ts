// HTTPRoutes on one Gateway: the time from a change of one to the first request that is routed by it, its
// cost, and the memory of controller and proxy, with few routes and with many. Both sizes run at the
// same time and take turns, because the machine is shared and its speed changes. Lockstep leads and
// writes the status of the routes, as in a cluster.
import { once } from "node:events";
import { Agent, type IncomingMessage, request } from "node:http";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { freePort } from "../src/lab/free-port.ts";
import {
  atMost,
  type Benchmark,
  type Figure,
  type Figures,
  type Progress,
  percentile,
  plain,
} from "./benchmark.ts";
import {
  changeRoute,
  createGateway,
  hostOfRoute,
  untilStatusWritten,
  versionHeader,
} from "./gateway-objects.ts";
import { ChangeMeter } from "./ingress-meter.ts";
import { IngressWorld, type StartedIngress } from "./ingress-world.ts";
import { type BenchRun, withNginxRun } from "./nginx-run.ts";
import { backendConfiguration, PlainNginx } from "./plain-nginx.ts";
import { proportionalMegabytes } from "./process-cost.ts";

interface Plan {
  readonly few: number;
  readonly many: number;
  readonly rounds: number;
  /** Of each size in a round. */
  readonly changes: number;
}

const wholeRun: Plan = { few: 100, many: 5_000, rounds: 10, changes: 50 };
const quickRun: Plan = { few: 100, many: 1_000, rounds: 2, changes: 20 };

/** A change begins when all of the one before is over, its status included. */
const restMs = { least: 100, most: 200 } as const;
const askAgainMs = 1;
const routedWithinMs = 30_000;
const host = "127.0.0.1";

const goalP99Ms = 30;
/** Beside few routes: what changes more with the number of routes is not flat. */
const goalRatio = 1.5;

const environment = nodeEnvironment({ log: { level: "error" } });

export const gatewayBenchmark: Benchmark = {
  description: "5,000 HTTPRoutes on one Gateway: time until a change is routed, its cost, memory",
  hasQuickRun: true,
  run: (progress, { quick }) =>
    withNginxRun(environment, (run) => measure(quick ? quickRun : wholeRun, run, progress)),
};

interface Side {
  readonly routes: number;
  readonly started: StartedIngress;
  readonly agent: Agent;
  readonly lags: Lag[];
  cpuMs: number;
}

/** From two moments to the end of the first answer of the new version. */
interface Lag {
  readonly sentMs: number;
  readonly acceptedMs: number;
}

async function measure(plan: Plan, run: BenchRun, progress: Progress): Promise<Figures> {
  const ends: (() => Promise<void>)[] = [];
  try {
    const port = await freePort(environment, host);
    const configuration = backendConfiguration(port);
    const backend = new PlainNginx({ environment, prefix: `${run.folder}/backend`, configuration });
    ends.push(() => backend.stop());
    await backend.start(run.signal);
    const few = await startSide(plan.few, { run, port, progress, ends });
    const many = await startSide(plan.many, { run, port, progress, ends });
    for (const side of [few, many]) await changeSome(side, plan.changes, run.signal);
    for (const side of [few, many]) Object.assign(side, { lags: [], cpuMs: 0 });
    for (let round = 1; round <= plan.rounds; round += 1) {
      progress(`round ${round} of ${plan.rounds}: ${plan.changes} changes of each size`);
      for (const side of [few, many]) await changeSome(side, plan.changes, run.signal);
    }
    return await figuresOf(few, many);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function startSide(
  routes: number,
  {
    run,
    port,
    progress,
    ends,
  }: {
    readonly run: BenchRun;
    readonly port: number;
    readonly progress: Progress;
    readonly ends: (() => Promise<void>)[];
  },
): Promise<Side> {
  progress(`${routes} routes`);
  const world = new IngressWorld({
    ...run,
    folder: `${run.folder}/${routes}`,
    environment,
    meter: new ChangeMeter(["lockstep"]),
    size: { services: 1, pods: 2 },
    controllerQps: 10_000,
    withStock: false,
    witnessed: "pods",
    publishAddress: host,
    prepare: (client) => createGateway(client, { routes, port }),
  });
  ends.push(() => world.stop());
  const started = await world.start(progress);
  progress("the status of all routes");
  await untilStatusWritten(started.client);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  ends.push(async () => agent.destroy());
  return { routes, started, agent, lags: [], cpuMs: 0 };
}

async function changeSome(side: Side, changes: number, signal: AbortSignal): Promise<void> {
  const { timers, random } = environment;
  const before = await side.started.cpuUse();
  for (let change = 0; change < changes; change += 1) {
    side.lags.push(await changeOne(side, signal));
    await timers.sleep(restMs.least + random.next() * (restMs.most - restMs.least), signal);
  }
  side.cpuMs += (await side.started.cpuUse()).lockstepMs - before.lockstepMs;
}

async function changeOne(side: Side, signal: AbortSignal): Promise<Lag> {
  const { routes, started } = side;
  const { random, timers } = environment;
  const route = Math.floor(random.next() * routes);
  const version = random.uuid();
  const sentAt = performance.now();
  let acceptedAt = Number.POSITIVE_INFINITY;
  const accepted = changeRoute(started.client, { route, version }).then(() => {
    acceptedAt = performance.now();
  });
  while ((await versionOf(side, hostOfRoute(route))) !== version) {
    if (performance.now() - sentAt > routedWithinMs) throw new Error("a change is not routed");
    await timers.sleep(askAgainMs, signal);
  }
  const routedAt = performance.now();
  await accepted;
  return { sentMs: routedAt - sentAt, acceptedMs: Math.max(0, routedAt - acceptedAt) };
}

async function versionOf({ started, agent }: Side, name: string): Promise<string | undefined> {
  const headers = { host: name };
  const asked = request({ agent, host, port: started.port, headers }).end();
  const [answer]: IncomingMessage[] = await once(asked, "response");
  if (answer === undefined) return undefined;
  await once(answer.resume(), "end");
  const version = answer.headers[versionHeader];
  return typeof version === "string" ? version : undefined;
}

async function figuresOf(few: Side, many: Side): Promise<Figures> {
  const figures: Record<string, Figure> = {};
  for (const [name, { routes, lags, cpuMs, started }] of Object.entries({ few, many })) {
    const accepted = lags.map(({ acceptedMs }) => acceptedMs);
    const sent = lags.map(({ sentMs }) => sentMs);
    const of = `${routes} routes, ${lags.length} changes`;
    const note = `${of}; from accepted by the API server to the first request routed by it`;
    const pids = await started.nginxPids();
    const { residentBytes } = await started.replica.usage();
    const nginxMb = pids.reduce((sum, pid) => sum + proportionalMegabytes(pid), 0);
    const p99 = percentile(accepted, 0.99);
    Object.assign(figures, {
      [`${name}LagP50Ms`]: plain(percentile(accepted, 0.5), "ms", note),
      [`${name}LagP99Ms`]:
        name === "many" ? atMost(p99, goalP99Ms, "ms", note) : plain(p99, "ms", note),
      [`${name}SentP50Ms`]: plain(
        percentile(sent, 0.5),
        "ms",
        `${of}; from the start of the write`,
      ),
      [`${name}SentP99Ms`]: plain(
        percentile(sent, 0.99),
        "ms",
        `${of}; from the start of the write`,
      ),
      [`${name}CpuMs`]: plain(cpuMs / lags.length, "ms", `${of}; of the controller for each`),
      [`${name}ResidentMb`]: plain(
        residentBytes / 1e6,
        "MB",
        `${routes} routes, RSS of the controller`,
      ),
      [`${name}NginxMb`]: plain(nginxMb, "MB", `${routes} routes, PSS of nginx`),
    });
  }
  const p50 = ({ lags }: Side) =>
    percentile(
      lags.map(({ acceptedMs }) => acceptedMs),
      0.5,
    );
  const cpu = ({ cpuMs, lags }: Side) => cpuMs / lags.length;
  const beside = `${many.routes} routes beside ${few.routes}`;
  return {
    ...figures,
    lagRatio: atMost(p50(many) / p50(few), goalRatio, "×", `p50 of the lag, ${beside}`),
    cpuRatio: atMost(
      cpu(many) / cpu(few),
      goalRatio,
      "×",
      `processor time of one change, ${beside}`,
    ),
  };
}
