// One side of the comparison: three ingress replicas behind an entry that stands for the load
// balancer. The sides differ in who drives the proxies: Lockstep, or the labelled stock model.

import { isRouted } from "../../../decide/decision.ts";
import type { Environment } from "../../../environment/environment.ts";
import { IngressReplica } from "../../../ingress/ingress-replica.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import { freePort } from "../../../lab/free-port.ts";
import { ingressClass, shopPort, shopService } from "../../../lab/shop.ts";
import { LivePlane } from "../../../lab/stock/live/live-plane.ts";
import type { StockBackend } from "../../../lab/stock/stock-configuration.ts";
import { StockController } from "../../../lab/stock/stock-controller.ts";
import { Entry } from "../../../lab/traffic/entry.ts";
import type { RoutedWitness } from "../../../observe/routed-witness.ts";

export interface IngressSide {
  readonly name: "stock" | "lockstep";
  readonly entry: Entry;
  /** Ends every replica and its nginx. Idempotent. */
  stop(): Promise<void>;
}

export interface SideOptions {
  readonly environment: Environment;
  readonly access: ClusterAccess;
  /** A folder of this run alone; each replica gets one inside. */
  readonly folder: string;
  readonly entryPort: number;
  readonly replica: (name: string) => RoutedWitness;
}

export const replicas = 3;

export const host = "127.0.0.1";

/** Enough for the story's gentle traffic; the machine runs three clusters beside. */
const workers = 1;

export async function startLockstepSide(
  options: SideOptions & {
    readonly clusters: readonly ClusterAccess[];
    readonly followSlices: boolean;
  },
): Promise<IngressSide> {
  const { environment, access, clusters, folder, followSlices } = options;
  const { clock } = environment;
  const started: IngressReplica[] = [];
  const stop = async () => {
    await Promise.all(started.map((replica) => replica.stop({ keepNginx: false })));
  };
  return await withEntry(options, "lockstep", stop, async (name) => {
    const port = await freePort(environment, host);
    const witness = options.replica(name);
    const replica = new IngressReplica({
      environment,
      clusters,
      access,
      className: ingressClass,
      policy: { followSlices },
      listen: [{ address: host, port }],
      prefix: `${folder}/${name}`,
      workers,
      status: { host, port: 0 },
      onRouted: () => witness.routed(shopService, routedBy(replica), clock.monotonicMs()),
    });
    started.push(replica);
    await replica.start();
    while (replica.notReadyBecause !== undefined) await environment.timers.sleep(readyPollMs);
    return `${host}:${port}`;
  });
}

export async function startStockSide(options: SideOptions): Promise<IngressSide> {
  const { environment, access, folder } = options;
  const { clock } = environment;
  const started: StockController[] = [];
  const stop = async () => {
    await Promise.all(started.map((controller) => controller.stop()));
  };
  return await withEntry(options, "stock", stop, async (name) => {
    const witness = options.replica(name);
    const plane = new LivePlane({
      ...environment,
      host,
      port: 0,
      prefix: `${folder}/${name}`,
      onRouted: (backends) =>
        witness.routed(shopService, endpointsOf(backends), clock.monotonicMs()),
    });
    const client = new HttpKubeClient({ ...environment, cluster: access, userAgent: "stock" });
    const controller = new StockController({
      ...environment,
      client,
      cluster: access.name,
      published: "endpointslices",
      plane,
    });
    started.push(controller);
    await controller.start();
    return plane.address;
  });
}

/** How often a replica that starts is asked whether it serves. */
const readyPollMs = 20;

async function withEntry(
  options: SideOptions,
  name: IngressSide["name"],
  stopReplicas: () => Promise<void>,
  startReplica: (name: string) => Promise<string>,
): Promise<IngressSide> {
  const { clock, network } = options.environment;
  try {
    const addresses: { name: string; address: string }[] = [];
    for (let number = 1; number <= replicas; number += 1) {
      const replica = `${name}-${number}`;
      addresses.push({ name: replica, address: await startReplica(replica) });
    }
    const entry = new Entry({ clock, network, host, port: options.entryPort, replicas: addresses });
    await entry.start();
    const stop = async () => {
      await entry.stop();
      await stopReplicas();
    };
    return { name, entry, stop };
  } catch (error) {
    await stopReplicas();
    throw error;
  }
}

/** What a Lockstep replica routes the shop's requests to. */
function routedBy(replica: IngressReplica) {
  const decided = replica.loop.decisions.truths.get(`${shopService}:${shopPort}`);
  return (decided?.truth.endpoints ?? []).filter(isRouted);
}

function endpointsOf(backends: readonly StockBackend[]) {
  const name = `${shopService.replace("/", "-")}-${shopPort}`;
  return backends.find((backend) => backend.name === name)?.endpoints ?? [];
}
