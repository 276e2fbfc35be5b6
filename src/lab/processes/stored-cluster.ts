// A cluster with its objects in etcd and every API server in a process of its own. Its controllers and
// nodes are in the lab's process and use any server that accepts connections.

import { Klog } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import {
  type Cluster,
  type ClusterOptions,
  type ReachableServer,
  type ServerSurroundings,
  startClusterWith,
} from "../cluster.ts";
import { type ServerPlan, urlOf } from "../cluster-server.ts";
import { clusterTokens, componentToken, serverPlans } from "../cluster-servers.ts";
import { freePort } from "../free-port.ts";
import { machineNames, nodeUser } from "../machines.ts";
import { type PodLogService, servePodLogs } from "./pod-log-service.ts";
import { ServerBalancer } from "./server-balancer.ts";
import { configKind, type ServerProcessConfig } from "./server-process.ts";
import { SupervisedProcess } from "./supervised-process.ts";

export interface StoredClusterOptions {
  readonly environment: Environment;
  /** Everything runs in the one environment. */
  readonly cluster: Omit<ClusterOptions, "environmentOf">;
  /** Of the etcd; several clusters may share one. */
  readonly endpoints: readonly string[];
  /** For the configuration files of the servers. */
  readonly folder: string;
  /** Called when a server ends and when it is back. */
  readonly onNews?: (news: string) => void;
}

export async function startStoredCluster(
  options: StoredClusterOptions,
): Promise<Cluster<ServerProcess>> {
  const { environment, endpoints, folder, onNews } = options;
  const token = environment.random.uuid();
  const balancer = new ServerBalancer(environment.network);
  const { name, hostOf } = options.cluster;
  const cluster: ClusterOptions = {
    ...options.cluster,
    // A server keeps its port when it is started again.
    ports: await fixedPorts(environment, hostOf(name), options.cluster.ports),
    environmentOf: () => ({ ...environment, network: balancer }),
    nodeToken: (user) => componentToken(token, user),
  };
  return startClusterWith(cluster, async (surroundings) => {
    const servers = await startServerProcesses(
      {
        environment,
        cluster,
        token,
        folder,
        store: { endpoints, root: `/${name}` },
        ...(onNews === undefined ? {} : { onNews }),
      },
      surroundings,
    );
    balancer.serve(servers.map(({ url }) => url));
    return servers;
  });
}

/** Free ports for those that are 0, all different. */
async function fixedPorts(
  environment: Environment,
  host: string,
  ports: readonly number[],
): Promise<readonly number[]> {
  const fixed: number[] = [];
  for (const port of ports) {
    let next = port;
    while (next === 0 || (port === 0 && fixed.includes(next))) {
      next = await freePort(environment, host);
    }
    fixed.push(next);
  }
  return fixed;
}

interface ServerProcessesOptions {
  readonly environment: Environment;
  readonly cluster: ClusterOptions;
  /** The administrator's, of which the others are made. */
  readonly token: string;
  /** For the configuration files of the servers. */
  readonly folder: string;
  readonly store: ServerProcessConfig["store"];
  readonly onNews?: (news: string) => void;
}

interface ServerProcess extends ReachableServer {
  /** Undefined while it is being started again. */
  readonly pid: number | undefined;
}

const askDeadlineMs = 2_000;

/** All of them, or none. The service for their pods' logs ends with the first server. */
async function startServerProcesses(
  options: ServerProcessesOptions,
  { podLogs }: ServerSurroundings,
): Promise<readonly ServerProcess[]> {
  const { environment, cluster, token } = options;
  const loopbackToken = environment.random.uuid();
  const logs = await servePodLogs({ ...environment, logs: podLogs });
  const plans = serverPlans(cluster, { token, loopbackToken });
  const tokens = [
    ...clusterTokens(token, loopbackToken),
    ...machineNames(cluster)
      .map(nodeUser)
      .map((user) => [componentToken(token, user.name), user] as const),
  ];
  // The first finds out whether it works at all; the others then take no longer than one.
  const servers: ServerProcess[] = [];
  const start = async (plan: ServerPlan): Promise<void> => {
    const server = await startOne(options, plan, tokens, logs);
    servers.push(server);
    cluster.onReady?.(server);
  };
  try {
    for (const plan of plans.slice(0, 1)) await start(plan);
    const results = await Promise.allSettled(plans.slice(1).map(start));
    for (const result of results) if (result.status === "rejected") throw result.reason;
  } catch (error) {
    await Promise.all([logs.stop(), ...servers.map((server) => server.stop())]);
    throw error;
  }
  const places = plans.map(({ name }) => name);
  return servers.sort((one, other) => places.indexOf(one.name) - places.indexOf(other.name));
}

async function startOne(
  options: ServerProcessesOptions,
  plan: ServerPlan,
  tokens: ServerProcessConfig["tokens"],
  logs: PodLogService,
): Promise<ServerProcess> {
  const { environment, cluster, token, folder, store, onNews } = options;
  const { files, clock, processes } = environment;
  const config: ServerProcessConfig = {
    kind: configKind,
    plan,
    tokens,
    store,
    podLogs: logs.address,
  };
  const file = `${folder}/${plan.name}.json`;
  await files.write(file, JSON.stringify(config), { mode: 0o600 });
  const klog = new Klog({ clock });
  const url = urlOf(plan.listen, plan.listen.port);
  const supervised = await SupervisedProcess.start({
    ...environment,
    name: plan.name,
    command: [...processes.self, "lab", "apiserver", "--config", file],
    isReady: () => answers(environment, url, cluster.tls?.ca),
    onLine: (line) => noteLine(klog, line),
    ...(onNews === undefined ? {} : { onNews }),
  });
  return {
    cluster: cluster.name,
    name: plan.name,
    url,
    token,
    klog,
    get pid() {
      return supervised.pid;
    },
    stop: async () => {
      await supervised.stop();
      if (plan.isFirst) await logs.stop();
    },
  };
}

/** The server writes its log as JSON, with the time of each line. */
function noteLine(klog: Klog, line: string): void {
  const parsed: unknown = JSON.parse(line);
  if (isLogLine(parsed)) klog.add(parsed);
}

function isLogLine(value: unknown): value is Parameters<Klog["add"]>[0] {
  if (typeof value !== "object" || value === null || !("at" in value) || !("text" in value)) {
    return false;
  }
  return typeof value.at === "number" && typeof value.text === "string";
}

async function answers(
  { network, timers }: Environment,
  url: string,
  ca: string | undefined,
): Promise<boolean> {
  const deadline = new AbortController();
  const cancel = timers.after(askDeadlineMs, () => deadline.abort());
  const tls = ca === undefined ? {} : { tls: { ca } };
  try {
    const { status, body } = await network.request({
      method: "GET",
      url: `${url}/readyz`,
      signal: deadline.signal,
      ...tls,
    });
    for await (const chunk of body) void chunk;
    return status === 200;
  } catch (error) {
    if (!(error instanceof NetworkError)) throw error;
    return false;
  } finally {
    cancel();
  }
}
