// What each ingress controller needs at a given number of routes while endpoints change: memory and
// processor time of all its processes, and the time from its start until it serves all routes. No
// requests pass meanwhile.
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { fixedAccess } from "../src/kube/credentials/credentials.ts";
import { BenchChild } from "./bench-child.ts";
import type { BenchClusterAddress, BenchClusterOptions } from "./bench-cluster.ts";
import { Flips } from "./ingress-flips.ts";
import { ChangeMeter } from "./ingress-meter.ts";
import { hostOf } from "./ingress-objects.ts";
import type { BySubject } from "./peers-situations.ts";
import { type RunningProxy, startProxies, subjects } from "./peers-world.ts";
import { cpuMicroseconds, proportionalMegabytes } from "./process-cost.ts";

export interface Cost {
  readonly megabytes: number;
  /** Of one core, in percent. */
  readonly processorPercent: number;
}

export interface CostPlan {
  readonly routes: number;
  readonly changes: number;
  readonly perSecond: number;
  readonly folder: string;
}

const podsOfService = 4;
const samples = 20;
const servesWithinMs = 240_000;
const pollMs = 100;
/** Late work of the start is over by then. */
const restMs = 10_000;
const unlimitedQps = 10_000;

const environment = nodeEnvironment({ log: { write: () => undefined } });

export async function measureCost(plan: CostPlan): Promise<BySubject<Cost>> {
  const { routes, changes, perSecond, folder } = plan;
  const { timers } = environment;
  const undo: (() => Promise<void>)[] = [];
  const otherClasses = subjects.filter((one) => one !== "lockstep");
  const size = { services: routes, pods: routes * podsOfService, otherClasses };
  const options: BenchClusterOptions = { size, controllerQps: unlimitedQps, hasTls: true };
  const { child, ready } = await BenchChild.start<BenchClusterAddress>("bench-cluster", options);
  undo.push(() => child.stop());
  try {
    const { url: server, token, ca = "" } = ready;
    const access = fixedAccess({ name: "bench", server, token, tls: { ca } });
    const context = { name: "bench", server, token, ca };
    const atStop = (one: () => Promise<void>) => void undo.push(one);
    const proxies = await startProxies({ environment, access, context, folder, atStop });
    for (const proxy of proxies) await servesAll(proxy, routes);
    await timers.sleep(restMs);
    const before = proxies.map(processorMs);
    const startedAt = performance.now();
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "peers" });
    const { signal } = new AbortController();
    const meter = new ChangeMeter([]);
    const flips = new Flips({ ...environment, client, meter, size, signal });
    await flips.run({ name: "changes", changes, perSecond });
    const elapsedMs = performance.now() - startedAt;
    const costs = proxies.map((proxy, index): readonly [string, Cost] => [
      proxy.name,
      {
        megabytes: sum(proxy.pids().map(proportionalMegabytes)),
        processorPercent: (100 * (processorMs(proxy) - (before[index] ?? 0))) / elapsedMs,
      },
    ]);
    return Object.fromEntries(costs);
  } finally {
    for (const one of undo.reverse()) await one();
  }
}

/** The pods have no program, so a known host is not answered with 404 but with an error. */
async function servesAll({ name, url }: RunningProxy, routes: number): Promise<void> {
  const { clock, network, timers } = environment;
  const beganAt = clock.monotonicMs();
  for (let sample = 0; sample < samples; sample += 1) {
    const host = hostOf(Math.floor((sample * (routes - 1)) / (samples - 1)));
    for (;;) {
      if (clock.monotonicMs() - beganAt > servesWithinMs) {
        throw new Error(`${name} does not route ${host}`);
      }
      if ((await statusOf()) >= 500) break;
      await timers.sleep(pollMs);
    }
    async function statusOf(): Promise<number> {
      try {
        const { status, body } = await network.request({ method: "GET", url, headers: { host } });
        for await (const _ of body);
        return status;
      } catch {
        return 0;
      }
    }
  }
}

function processorMs({ pids }: RunningProxy): number {
  return sum(pids().map((pid) => cpuMicroseconds(pid) / 1_000));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, one) => total + one, 0);
}
