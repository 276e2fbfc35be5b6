// What a calm tenant notices of a hostile one: the latency of its requests and the lag of its changes
// while another namespace creates, patches and deletes the largest objects it can, beside the same
// without it. The two take turns, because the machine is shared and its speed changes.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { freePort } from "../src/lab/free-port.ts";
import { BenchChild } from "./bench-child.ts";
import type { HostileResult, HostileTarget } from "./bench-hostile-tenant.ts";
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
import { IngressWorld, type StartedIngress } from "./ingress-world.ts";
import { type NginxRun, withNginxRun } from "./nginx-run.ts";
import { backendConfiguration, PlainNginx } from "./plain-nginx.ts";
import { LoadProcess } from "./proxy-load.ts";

interface Plan {
  readonly size: ClusterSize;
  readonly rounds: number;
  /** Of each half of a round. */
  readonly changes: number;
}

const wholeRun: Plan = { size: { services: 200, pods: 2_000 }, rounds: 5, changes: 400 };
const quickRun: Plan = { size: { services: 50, pods: 500 }, rounds: 2, changes: 100 };

const changesPerSecond = 20;
/** Of up to a megabyte each: several times what an API server gives one user of its own accord. */
const hostileWritesPerSecond = 20;
/** Some 400 requests a second: enough to see a pause of a worker, and far from its limit. */
const load = { connections: 4, restMs: 10 } as const;

const goalRatio = 1.5;
const calmHost = "calm.example";
const settlePollMs = 50;
const settleLongestMs = 60_000;

const environment = nodeEnvironment({ log: { level: "error" } });

interface Half {
  readonly requests: LoadResult;
  readonly hostile: HostileResult | undefined;
}

export const tenantsBenchmark: Benchmark = {
  description: "what a calm tenant notices of a hostile one: latency of requests, lag of changes",
  hasQuickRun: true,
  run: (progress, { quick }) =>
    withNginxRun(environment, (run) => measure(quick ? quickRun : wholeRun, run, progress)),
};

async function measure(plan: Plan, run: NginxRun, progress: Progress): Promise<Figures> {
  const meter = new ChangeMeter(["lockstep"]);
  const { size } = plan;
  const controllerQps = 10_000;
  const parts = { environment, meter, size, controllerQps, withStock: false };
  const world = new IngressWorld({ ...run, ...parts });
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
    const halves = { calm: [] as Half[], hostile: [] as Half[] };
    await flips.run({ name: "warm-up", changes: plan.changes, perSecond: changesPerSecond });
    for (let round = 1; round <= plan.rounds; round += 1) {
      for (const name of ["calm", "hostile"] as const) {
        progress(`round ${round} of ${plan.rounds}: ${name}`);
        if (name === "hostile") await hostile.ask("begin");
        await requests.begin();
        await flips.run({ name, changes: plan.changes, perSecond: changesPerSecond });
        const answered = await requests.end();
        const harm = name === "hostile" ? await hostile.ask<HostileResult>("end") : undefined;
        halves[name].push({ requests: answered, hostile: harm });
        await settled(meter, run.signal);
      }
    }
    return figuresOf(halves, meter);
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

async function startLoad({ port }: StartedIngress): Promise<LoadProcess> {
  const hosts = { name: calmHost, count: 1 };
  const process = await LoadProcess.start({ port, path: "/", hosts, ...load });
  for (let waitedMs = 0; waitedMs < settleLongestMs; waitedMs += settlePollMs) {
    const { errors, requests } = await process.run(settlePollMs);
    if (errors === 0 && requests > 0) return process;
  }
  throw new Error("the calm tenant's host is not served");
}

/** A service with one pod, which is a listener on this machine. */
async function createCalmTenant(client: KubeClient, port: number): Promise<void> {
  const namespace = "calm";
  const create = (path: string, body: object) =>
    client.request({ verb: "create", method: "POST", path, body });
  const core = `/api/v1/namespaces/${namespace}`;
  await create("/api/v1/namespaces", { metadata: { name: namespace } });
  await create(`${core}/services`, {
    metadata: { name: "web" },
    spec: { selector: { app: "web" }, ports: [{ port: 80, targetPort: port }] },
  });
  await create(`${core}/pods`, {
    metadata: { name: "web", labels: { app: "web" } },
    spec: { nodeName: "node-1", containers: [{ name: "web", image: "web" }] },
  });
  const podIP = "127.0.0.1";
  const conditions = [{ type: "Ready", status: "True" }];
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `${core}/pods/web/status`,
    contentType: "application/merge-patch+json",
    body: { status: { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions } },
  });
  const backend = { service: { name: "web", port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  await create(`/apis/networking.k8s.io/v1/namespaces/${namespace}/ingresses`, {
    metadata: { name: "web" },
    spec: { ingressClassName: "lockstep", rules: [{ host: calmHost, http }] },
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

function figuresOf(
  halves: Readonly<Record<"calm" | "hostile", readonly Half[]>>,
  meter: ChangeMeter,
): Figures {
  const names = ["calm", "hostile"] as const;
  const titles = { calm: "without", hostile: "with hostile" } as const;
  const figures: Record<string, Figure> = {};
  const add = (
    key: string,
    row: string,
    unit: string,
    of: (name: "calm" | "hostile") => number,
  ) => {
    for (const name of names) {
      const figure = plain(of(name), unit, `${halves[name].length} rounds`);
      figures[`${key}${name === "calm" ? "Without" : "With"}`] = {
        ...figure,
        place: { row, column: titles[name] },
      };
    }
    return of("hostile") / of("calm");
  };
  const requests = (name: "calm" | "hostile") => halves[name].map((half) => half.requests);
  const total = (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0);
  const requestRatio = add("requestP99Ms", "p99 of requests", "ms", (name) =>
    median(requests(name).map(({ p99Ms }) => p99Ms)),
  );
  const leaves = (name: string) => meter.lags(name, "lockstep", "leave").lagsMs;
  const lagRatio = add("leaveP99Ms", "p99 of leave lag", "ms", (name) =>
    percentile(leaves(name), 0.99),
  );
  add("requests", "requests", "requests", (name) =>
    total(requests(name).map((one) => one.requests)),
  );
  add("errors", "requests failed", "requests", (name) =>
    total(requests(name).map(({ errors }) => errors)),
  );
  add("leaves", "leaves measured", "changes", (name) => leaves(name).length);
  const harm = halves.hostile.flatMap(({ hostile }) => (hostile === undefined ? [] : [hostile]));
  const beside = "median of the rounds, with the hostile tenant to without it";
  return {
    requestP99Ratio: atMost(requestRatio, goalRatio, "×", beside),
    leaveP99Ratio: atMost(lagRatio, goalRatio, "×", "with the hostile tenant to without it"),
    hostileWrites: plain(total(harm.map(({ writes }) => writes)), "writes"),
    hostileMegabytes: plain(total(harm.map(({ bytes }) => bytes)) / 1e6, "MB"),
    ...figures,
  };
}
