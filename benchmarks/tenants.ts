// The effect of a hostile tenant on a calm one: the latency of its requests and the lag of its changes
// while another namespace creates, patches and deletes the largest objects it can, beside the same
// without it. A third part has the same bytes written as objects that Lockstep does not read: that is
// the share of the machine and of the API server. The three take turns, because the machine is shared
// and its speed changes.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { freePort } from "../src/lab/free-port.ts";
import { BenchChild } from "./bench-child.ts";
import type { HostileOrder, HostileResult, HostileTarget } from "./bench-hostile-tenant.ts";
import type { LoadResult } from "./bench-load.ts";
import {
  atMost,
  type Benchmark,
  type Figure,
  type Figures,
  median,
  type Progress,
  percentile,
  plain,
} from "./benchmark.ts";
import { Flips } from "./ingress-flips.ts";
import { ChangeMeter } from "./ingress-meter.ts";
import type { ClusterSize } from "./ingress-objects.ts";
import { type CpuUse, IngressWorld, type StartedIngress } from "./ingress-world.ts";
import { createMachineService, machineService } from "./machine-service.ts";
import { type BenchRun, withNginxRun } from "./nginx-run.ts";
import { backendConfiguration, PlainNginx } from "./plain-nginx.ts";
import { LoadProcess } from "./proxy-load.ts";

interface Plan {
  readonly size: ClusterSize;
  readonly rounds: number;
  /** Of each part of a round. */
  readonly changes: number;
}

const wholeRun: Plan = { size: { services: 200, pods: 2_000 }, rounds: 5, changes: 400 };
const quickRun: Plan = { size: { services: 50, pods: 500 }, rounds: 2, changes: 100 };

const changesPerSecond = 20;
/** Of up to a megabyte each: several times the rate that an API server allows one user by default. */
const hostileWritesPerSecond = 20;
/** Some 400 requests a second: enough to see a pause of a worker, and far from its limit. */
const load = { connections: 4, restMs: 10 } as const;

const goalRatio = 1.5;
const calmHost = "calm.example";
const settlePollMs = 50;
const settleLongestMs = 60_000;

const environment = nodeEnvironment({ log: { level: "error" } });

const titles = {
  without: "without",
  unread: "as ConfigMaps",
  hostile: "with hostile",
} as const;

type PartName = keyof typeof titles;

const partNames: readonly PartName[] = ["without", "unread", "hostile"];

/** One part of a round. */
interface Part {
  readonly requests: LoadResult;
  readonly cpu: CpuUse;
  readonly hostile: HostileResult;
}

type Parts = Readonly<Record<PartName, Part[]>>;

export const tenantsBenchmark: Benchmark = {
  description: "the effect of a hostile tenant on a calm one: latency of requests, lag of changes",
  hasQuickRun: true,
  run: (progress, { quick }) =>
    withNginxRun(environment, (run) => measure(quick ? quickRun : wholeRun, run, progress)),
};

async function measure(plan: Plan, run: BenchRun, progress: Progress): Promise<Figures> {
  const meter = new ChangeMeter(["lockstep"]);
  const { size } = plan;
  const controllerQps = 10_000;
  const world = new IngressWorld({
    ...run,
    environment,
    meter,
    size,
    controllerQps,
    withStock: false,
    witnessed: "pods",
  });
  const ends: (() => Promise<void>)[] = [() => world.stop()];
  try {
    const started = await world.start(progress);
    const port = await freePort(environment, "127.0.0.1");
    const backend = new PlainNginx({
      environment,
      prefix: `${run.folder}/stock-2`,
      configuration: backendConfiguration(port),
    });
    ends.push(() => backend.stop());
    await backend.start(run.signal);
    await createCalmTenant(started.client, port);
    const hostile = await startHostile(started);
    ends.push(() => hostile.stop());
    const requests = await startLoad(started);
    ends.push(() => requests.stop());
    const flips = new Flips({ ...environment, ...run, client: started.client, meter, size });
    const parts: Parts = { without: [], unread: [], hostile: [] };
    await flips.run({ name: "warm-up", changes: plan.changes, perSecond: changesPerSecond });
    for (let round = 1; round <= plan.rounds; round += 1) {
      for (const name of partNames) {
        progress(`round ${round} of ${plan.rounds}: ${titles[name]}`);
        await beginHostile(hostile, name, round);
        const before = await started.cpuUse();
        await requests.begin();
        await flips.run({ name, changes: plan.changes, perSecond: changesPerSecond });
        const answered = await requests.end();
        const cpu = difference(await started.cpuUse(), before);
        parts[name].push({ requests: answered, cpu, hostile: await endHostile(hostile, name) });
        await settled(meter, run.signal);
      }
    }
    return figuresOf(parts, meter);
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

async function startHostile({ cluster }: StartedIngress): Promise<BenchChild> {
  const target: HostileTarget = {
    cluster,
    namespace: "hostile",
    writesPerSecond: hostileWritesPerSecond,
  };
  const { child } = await BenchChild.start("bench-hostile-tenant", target);
  return child;
}

async function beginHostile(hostile: BenchChild, name: PartName, seed: number): Promise<void> {
  if (name === "without") return;
  const as = name === "unread" ? "unread" : "written";
  const order: HostileOrder = { order: "begin", seed, as };
  await hostile.ask(order);
}

/** Resolves when everything that was written is removed. */
async function endHostile(hostile: BenchChild, name: PartName): Promise<HostileResult> {
  if (name === "without") return { writes: 0, bytes: 0 };
  const order: HostileOrder = { order: "end" };
  return await hostile.ask<HostileResult>(order);
}

function difference(after: CpuUse, before: CpuUse): CpuUse {
  return {
    apiServerMs: after.apiServerMs - before.apiServerMs,
    lockstepMs: after.lockstepMs - before.lockstepMs,
    nginxMs: after.nginxMs - before.nginxMs,
  };
}

async function startLoad({ port }: StartedIngress): Promise<LoadProcess> {
  const hosts = { name: calmHost, count: 1 };
  const process = await LoadProcess.start({ port, path: "/", hosts, ...load });
  for (let waitedMs = 0; waitedMs < settleLongestMs; waitedMs += settlePollMs) {
    const { errors, requests } = await process.run(settlePollMs);
    if (errors === 0 && requests > 0) return process;
  }
  throw new Error("the calm tenant's host is not served");
}

async function createCalmTenant(client: KubeClient, port: number): Promise<void> {
  const namespace = "calm";
  await createMachineService(client, { namespace, port });
  const backend = { service: { name: machineService, port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  await client.request({
    verb: "create",
    method: "POST",
    path: `/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`,
    body: {
      metadata: { name: "web" },
      spec: { ingressClassName: "lockstep", rules: [{ host: calmHost, http }] },
    },
  });
}

async function settled(meter: ChangeMeter, signal: AbortSignal): Promise<void> {
  for (let waitedMs = 0; meter.outstanding > 0; waitedMs += settlePollMs) {
    if (waitedMs >= settleLongestMs) {
      throw new Error(`${meter.outstanding} endpoints are not routed as they should be`);
    }
    await environment.timers.sleep(settlePollMs, signal);
  }
}

function figuresOf(parts: Parts, meter: ChangeMeter): Figures {
  const figures: Record<string, Figure> = {};
  const add = (key: string, row: string, unit: string, of: (name: PartName) => number) => {
    for (const name of partNames) {
      const figure = plain(of(name), unit, `${parts[name].length} rounds${columnNotes[name]}`);
      figures[`${key}${keyEndings[name]}`] = { ...figure, place: { row, column: titles[name] } };
    }
    return of;
  };
  const total = (name: PartName, of: (part: Part) => number) =>
    parts[name].reduce((sum, part) => sum + of(part), 0);
  const leaves = (name: PartName) => meter.lags(name, "lockstep", "leave").lagsMs;
  const requestP99 = add("requestP99Ms", "p99 of requests", "ms", (name) =>
    median(parts[name].map(({ requests }) => requests.p99Ms)),
  );
  const leaveP99 = add("leaveP99Ms", "p99 of leave lag", "ms", (name) =>
    percentile(leaves(name), 0.99),
  );
  add("requests", "requests", "requests", (name) =>
    total(name, ({ requests }) => requests.requests),
  );
  add("errors", "requests failed", "requests", (name) =>
    total(name, ({ requests }) => requests.errors),
  );
  add("leaves", "leaves measured", "changes", (name) => leaves(name).length);
  add("writes", "writes of the tenant", "writes", (name) =>
    total(name, ({ hostile }) => hostile.writes),
  );
  add("megabytes", "bytes of the tenant", "MB", (name) =>
    total(name, ({ hostile }) => hostile.bytes / 1e6),
  );
  add("apiServerCpuSeconds", "CPU of the API server", "s", (name) =>
    total(name, ({ cpu }) => cpu.apiServerMs / 1000),
  );
  add("lockstepCpuSeconds", "CPU of Lockstep", "s", (name) =>
    total(name, ({ cpu }) => cpu.lockstepMs / 1000),
  );
  add("nginxCpuSeconds", "CPU of nginx", "s", (name) =>
    total(name, ({ cpu }) => cpu.nginxMs / 1000),
  );
  const ratio = (of: (name: PartName) => number, to: "without" | "unread") =>
    atMost(of("hostile") / of(to), goalRatio, "×", ratioNotes[to]);
  return {
    requestP99Ratio: ratio(requestP99, "without"),
    leaveP99Ratio: ratio(leaveP99, "without"),
    requestP99OwnRatio: ratio(requestP99, "unread"),
    leaveP99OwnRatio: ratio(leaveP99, "unread"),
    ...figures,
  };
}

const keyEndings = { without: "Without", unread: "Unread", hostile: "With" } as const;

const columnNotes = {
  without: "",
  unread: ", the same bytes at the same rate, which Lockstep does not read",
  hostile: "",
} as const;

const ratioNotes = {
  without: "with the hostile tenant ÷ without it",
  unread: "with the hostile tenant ÷ the same bytes as ConfigMaps: the share of Lockstep",
} as const;
