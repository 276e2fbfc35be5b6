// `lockstep ingress`: routes traffic to the services of one or more clusters by what is true now.
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import type { Environment } from "../environment/environment.ts";
import { IngressReplica } from "../ingress/ingress-replica.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import { inClusterAccess, isInCluster } from "../kube/credentials/credentials-in-cluster.ts";
import { kubeconfigAccess } from "../kube/credentials/credentials-kubeconfig.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import {
  addLeadershipFlags,
  type LeadershipFlags,
  leadershipHelp,
  leadershipOf,
} from "./ingress/leadership-flags.ts";
import { paintFor } from "./paint.ts";
import { wholeNumber } from "./whole-number.ts";

interface IngressFlags extends LeadershipFlags {
  readonly kubeconfig?: string;
  readonly context: readonly string[];
  readonly accessContext?: string;
  readonly ingressClass: string;
  readonly followSlices: boolean;
  readonly httpAddress: string;
  readonly httpPort: number;
  readonly statusPort: number;
  readonly workers: number;
  readonly prefix?: string;
  readonly keepNginx: boolean;
}

interface Clusters {
  readonly clusters: readonly ClusterAccess[];
  readonly access: ClusterAccess;
  /** The access cluster is the one this process is a pod of. */
  readonly isOwnCluster: boolean;
}

const loopback = "127.0.0.1";

/** More than any machine has cores for. */
const maxWorkers = 64;

const epilogue = `
Routes come from the Ingresses of the access cluster; endpoints from the pods, services and
EndpointSlices of every --context. A service of the same name in several clusters is one backend.
A pod that terminates or becomes unready gets no more requests within milliseconds, and a ready one
joins as fast, whatever the EndpointSlices still say; every endpoint's reason is in /state.

Without permission to watch pods the slices are followed, and /state says so. One service follows
its slices exactly with the annotation lockstep.dev/follow-slices: "true", all with --follow-slices.

nginx runs by itself: if Lockstep dies it goes on, and the next start adopts it. SIGTERM or Ctrl-C
lets it finish its requests and ends it, unless --keep-nginx is given.
${leadershipHelp}

On http://127.0.0.1:<status-port>:
  /healthz, /readyz     alive; serving by a decision of this process
  /state                the truth table: every endpoint, what each witness says, state and reason
  /routed?after=N       when each change was routed, for observers
  /metrics              for Prometheus

Examples:
  lockstep ingress                                     the current context, on port 8080
  lockstep ingress --context east --context west --access-context edge
  lockstep ingress --http-port 80 --ingress-class web
  lockstep ingress --publish-address 192.0.2.10 --depose-ghosts
  lockstep ingress --watch-lock configmap/ingress-nginx/ingress-controller-leader-nginx
  curl -s http://127.0.0.1:10260/state | jq .services`;

export function ingressCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const collect = (value: string, known: readonly string[]) => [...known, value];
  const command = new Command("ingress")
    .description("route traffic to the services of one or more clusters, in step with the pods")
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option("--context <name>", "a cluster where pods run; repeatable", collect, [])
    .option(
      "--access-context <name>",
      "the cluster with the Ingresses; the first --context if absent",
    )
    .option("--ingress-class <name>", "the class to serve", "lockstep")
    .option("--follow-slices", "route by the EndpointSlices alone", false)
    .option("--http-address <ip>", "address to serve on", "0.0.0.0")
    .option("--http-port <n>", "port to serve on", wholeNumber(1, 65_535), 8080)
    .option("--status-port <n>", "port on 127.0.0.1; 0 for any", wholeNumber(0, 65_535), 10_260)
    .option("--workers <n>", "nginx workers", wholeNumber(1, maxWorkers), 2)
    .option("--prefix <dir>", "nginx's own folder; ~/.lockstep/ingress-<http-port> if absent")
    .option("--keep-nginx", "leave nginx serving when stopped", false);
  return addLeadershipFlags(command)
    .addHelpText("after", epilogue)
    .action(async (flags: IngressFlags) => done(await runIngress(context, flags)));
}

async function runIngress(context: CommandContext, flags: IngressFlags): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const { httpAddress, httpPort, statusPort, keepNginx } = flags;
  const { clusters, access, isOwnCluster } = await clustersOf(environment, flags);
  const className = flags.ingressClass;
  const replica = new IngressReplica({
    environment,
    clusters,
    access,
    className,
    leadership: leadershipOf(environment, flags, { className, isOwnCluster }),
    policy: { followSlices: flags.followSlices },
    listen: [{ address: httpAddress, port: httpPort }],
    prefix: prefixOf(environment, flags),
    workers: flags.workers,
    status: { host: loopback, port: statusPort },
  });
  try {
    await replica.start();
    terminal.writeError(greeting(context, flags, replica));
    await aborted(AbortSignal.any([stop, replica.superseded]));
  } finally {
    // Whoever has taken charge of nginx wants it to go on.
    await replica.stop({ keepNginx: keepNginx || replica.superseded.aborted });
  }
  if (!replica.superseded.aborted) return 0;
  terminal.writeError("Another Lockstep has taken charge of this nginx; this one has stopped.\n");
  return 1;
}

/** In a pod its own cluster, unless a kubeconfig or a context is asked for. */
async function clustersOf(environment: Environment, flags: IngressFlags): Promise<Clusters> {
  const { kubeconfig, context, accessContext } = flags;
  const isAsked = kubeconfig !== undefined || context.length > 0 || accessContext !== undefined;
  if (!isAsked && isInCluster(environment.processes)) {
    const access = inClusterAccess(environment);
    return { clusters: [access], access, isOwnCluster: true };
  }
  const names = [...new Set([...(accessContext === undefined ? [] : [accessContext]), ...context])];
  const accesses = await kubeconfigAccess({
    ...environment,
    path: kubeconfig === undefined ? undefined : absolute(kubeconfig),
    contexts: names.length === 0 ? "current" : names,
  });
  // The access context is named first, and the first --context stands in for it.
  const [access] = accesses;
  if (access === undefined) throw new UsageError("the kubeconfig names no cluster to watch");
  const wanted = new Set(context.length === 0 ? [access.name] : context);
  const clusters = accesses.filter(({ name }) => wanted.has(name));
  return { clusters, access, isOwnCluster: false };
}

function prefixOf({ processes }: Environment, { prefix, httpPort }: IngressFlags): string {
  if (prefix !== undefined) return absolute(prefix);
  const home = processes.variables["HOME"] ?? "";
  if (home === "") {
    throw new UsageError("HOME is not set: say with --prefix which folder nginx may use");
  }
  return `${home}/.lockstep/ingress-${httpPort}`;
}

function greeting({ terminal }: CommandContext, flags: IngressFlags, replica: IngressReplica) {
  const paint = paintFor(terminal);
  const { httpAddress, httpPort, ingressClass } = flags;
  const port = replica.statusAddress?.port ?? flags.statusPort;
  const clusters = replica.loop.sources.map(({ cluster }) => cluster).join(", ");
  const served = `http://${httpAddress}:${httpPort}`;
  return (
    `${paint.lockstep("●")} serving ${paint.strong(served)} for Ingress class ${ingressClass}\n` +
    `  pods of ${clusters}; routes of ${replica.loop.asked.cluster}\n` +
    `  ${paint.secondary(`truth table: http://${loopback}:${port}/state`)}\n`
  );
}
