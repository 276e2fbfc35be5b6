// Runs `lockstep ingress`: starts the replica, follows the config file, and drains the replica
// before it stops.

import { resolve as absolute } from "node:path";
import type { Environment } from "../../../environment/environment.ts";
import type { Processes } from "../../../environment/processes.ts";
import { ingressMetrics } from "../../../ingress/ingress-metrics.ts";
import { IngressReplica } from "../../../ingress/ingress-replica.ts";
import { readRemembered } from "../../../ingress/nginx-output.ts";
import type { Readiness } from "../../../ingress/readiness.ts";
import type { ClusterAccess } from "../../../kube/credentials/credentials.ts";
import { inClusterAccess, isInCluster } from "../../../kube/credentials/credentials-in-cluster.ts";
import { kubeconfigAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { accessLogPathOf } from "../../../outputs/nginx/nginx-logs.ts";
import type { ListenAddress } from "../../../outputs/nginx/nginx-servers.ts";
import { ownerText } from "../../../outputs/nginx/prefix-owner.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { sameClusters } from "../../same-clusters.ts";
import { namingPortFlags, type PortFlag } from "../../taken-port.ts";
import { AccessLogOutput } from "./access-log-output.ts";
import type { ConfigSource } from "./config.ts";
import type { IngressConfig } from "./settings.ts";
import { leadershipOf } from "./settings.ts";
import {
  greetingLines,
  nothingSeenLines,
  sayWhenReady,
  shadowLines,
  stoppingLine,
} from "./view.ts";

/** Enough time for load balancers and kube-proxy to read /readyz. */
const drainDelayInPodMs = 5_000;

/** Each takes one of a worker's connections (proxy/nginx.conf) and one of its open files. */
const maxGatewaySockets = 1_000;

/** Interval of the log lines of a shadow. */
const shadowSummaryEveryMs = 60_000;

export async function runIngress(context: CommandContext, source: ConfigSource): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const { config } = source.current;
  context.setLogLevel?.(config.logLevel);
  const clusters = await ingressClusters(environment, config);
  const replica = await replicaOf(environment, config, clusters);
  const running = new AbortController();
  let unseen: Readiness | undefined;
  try {
    const accessLog = await accessLogOutput(context, config, replica);
    await namingPortFlags(environment, portFlags(config), () => replica.start(stop));
    context.onReopenLogs?.(() => replica.reopenLogs());
    terminal.writeError(greetingLines(terminal, config, replica));
    const beside = [
      source.follow((now) => adapt(context, replica, now.config), running.signal),
      sayWhenReady(environment, replica, { className: config.class, signal: running.signal }),
      reportShadow(context, replica, running.signal),
      ...(accessLog === undefined ? [] : [accessLog.run(running.signal)]),
      warnOfSameClusters(environment, clusters, running.signal),
    ];
    await aborted(AbortSignal.any([stop, replica.superseded]));
    unseen = whyNothingSeen(replica, config.class);
    await drain(context, config, replica);
    running.abort(new Error("the ingress is stopping"));
    await Promise.all(beside);
  } finally {
    running.abort(new Error("the ingress is stopping"));
    // The Lockstep that took over still needs nginx.
    const keepNginx = config.keepNginx || replica.superseded.aborted;
    await replica.stop({ keepNginx, drainMs: config.drainTimeoutMs });
  }
  if (replica.shadow !== undefined) {
    const summary = replica.shadow.summary();
    const lines = unseen ? nothingSeenLines(terminal, unseen) : shadowLines(terminal, summary);
    terminal.write(lines.join(""));
    return unseen ? 1 : 0;
  }
  if (!replica.superseded.aborted) return 0;
  const { replacedBy } = replica;
  if (replacedBy !== undefined) {
    const who = `${ownerText(replacedBy)} (class ${replacedBy.className})`;
    terminal.writeError(`${who} has taken over. This Lockstep has stopped; nginx continues.\n`);
    return 0;
  }
  terminal.writeError("Another Lockstep controls this nginx now. This one has stopped.\n");
  return 1;
}

/**
 * Undefined without --access-log stdout. Must be opened before nginx starts, to print its first
 * line.
 */
async function accessLogOutput(
  { environment, terminal }: CommandContext,
  config: IngressConfig,
  { metrics }: IngressReplica,
): Promise<AccessLogOutput | undefined> {
  if (config.shadow || config.nginx.accessLog !== "stdout") return undefined;
  const path = accessLogPathOf(nginxFolder(environment.processes, config));
  return await AccessLogOutput.open({
    ...environment,
    terminal,
    path,
    dropped: ingressMetrics(metrics).accessLogDropped,
  });
}

/** Why a shadow saw nothing; undefined when it saw something. */
function whyNothingSeen({ loop, readiness }: IngressReplica, className: string) {
  if (!loop.isReady) return readiness;
  if (loop.decisions.truths.size > 0) return undefined;
  const problem = `no Ingress with class ${className} has a service. Use --class for another class`;
  return { problem, notes: [] };
}

async function replicaOf(
  environment: Environment,
  config: IngressConfig,
  { clusters, access, isOwnCluster }: IngressClusters,
): Promise<IngressReplica> {
  const { shadow, snapshot, takeOver, replaceState } = config;
  const className = config.class;
  const prefix = shadow ? "" : nginxFolder(environment.processes, config);
  const leadership = leadershipOf(environment, config.leadership, { className, isOwnCluster });
  return new IngressReplica({
    environment,
    clusters,
    access,
    className,
    // A shadow writes nothing, but it may look for ghosts.
    leadership: shadow ? { watchedLocks: leadership.watchedLocks } : leadership,
    ...config.nginx,
    // Another controller serves the class that a shadow observes.
    routing: { ...config.routing, ofAnyController: shadow },
    defaultCertificate: config.defaultCertificate,
    policy: config.policy,
    freshness: config.freshness,
    listen: listenAddresses(config),
    gatewayAddresses: config.gatewayAddresses,
    prefix,
    snapshot,
    takeOver,
    replaceState,
    ...(!shadow && snapshot && { remembered: await readRemembered(environment, prefix) }),
    ...(shadow && { shadow: { probe: config.shadowProbe } }),
    status: { host: config.statusAddress, port: config.statusPort, hostNames: config.statusHosts },
  });
}

/** Applies the live settings. */
function adapt(context: CommandContext, replica: IngressReplica, config: IngressConfig): void {
  context.setLogLevel?.(config.logLevel);
  replica.setPolicy(config.policy);
  replica.setFreshness(config.freshness);
}

/** Becomes unready, but serves for some time, until clients use other replicas. */
async function drain(
  { environment, terminal }: CommandContext,
  config: IngressConfig,
  replica: IngressReplica,
): Promise<void> {
  replica.drain();
  if (replica.superseded.aborted || replica.shadow !== undefined) return;
  const isPod = isInCluster(environment.processes);
  const delayMs = config.drainDelayMs ?? (isPod ? drainDelayInPodMs : 0);
  terminal.writeError(stoppingLine(config, delayMs));
  await environment.timers.sleep(delayMs);
}

async function reportShadow(
  { environment }: CommandContext,
  { shadow }: IngressReplica,
  signal: AbortSignal,
): Promise<void> {
  const { timers, log } = environment;
  try {
    while (shadow !== undefined && !signal.aborted) {
      await timers.sleep(shadowSummaryEveryMs, signal);
      const { left, joined, probes } = shadow.summary();
      log.info("EndpointSlices behind the pods so far", {
        left,
        joined,
        ...(probes !== undefined && { probes }),
      });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

function portFlags(config: IngressConfig): readonly PortFlag[] {
  return [
    { flag: "--status-port", port: config.statusPort },
    { flag: "--http-port", port: config.httpPort },
    { flag: "--https-port", port: config.httpsPort },
    { flag: "--grpc-port", port: config.grpcPort },
    ...config.gatewayPorts.map((port) => ({ flag: "--gateway-port", port })),
    ...config.gatewayHttpsPorts.map((port) => ({ flag: "--gateway-https-port", port })),
  ];
}

function listenAddresses(config: IngressConfig): readonly ListenAddress[] {
  const { listen, httpPort, httpsPort, grpcPort, proxyProtocol } = config;
  const { gatewayPorts, gatewayHttpsPorts } = config;
  const opened = listen.length * (gatewayPorts.length + gatewayHttpsPorts.length);
  if (opened > maxGatewaySockets) {
    throw new UsageError(
      `--gateway-port and --gateway-https-port open ${opened} ports, counted for each --listen: ` +
        `${maxGatewaySockets} are possible.`,
    );
  }
  return listen.flatMap((address) => {
    const shared = { address, ...(proxyProtocol && { proxyProtocol }) };
    return [
      { ...shared, port: httpPort },
      ...(httpsPort === undefined ? [] : [{ ...shared, port: httpsPort, tls: true }]),
      ...(grpcPort === undefined ? [] : [{ ...shared, port: grpcPort, http2: true }]),
      ...gatewayPorts.map((port) => ({ ...shared, port, forGateways: true })),
      ...gatewayHttpsPorts.map((port) => ({ ...shared, port, tls: true, forGateways: true })),
    ];
  });
}

/**
 * The folder of nginx without --prefix. If root starts nginx, its workers are another user and
 * cannot enter root's home.
 */
export function nginxFolder(
  { isRoot, variables }: Pick<Processes, "isRoot" | "variables">,
  { prefix, httpPort }: Pick<IngressConfig, "prefix" | "httpPort">,
): string {
  if (prefix !== undefined) return absolute(prefix);
  if (isRoot) return `/var/lib/lockstep/ingress-${httpPort}`;
  const home = variables["HOME"] ?? "";
  if (home === "") {
    throw new UsageError("HOME is not set: give a folder for nginx with --prefix");
  }
  return `${home}/.lockstep/ingress-${httpPort}`;
}

interface IngressClusters {
  readonly clusters: readonly ClusterAccess[];
  readonly access: ClusterAccess;
  /** This process is a pod of the access cluster. */
  readonly isOwnCluster: boolean;
}

/** The given contexts; in a pod its own cluster; else the current context. */
async function ingressClusters(
  environment: Environment,
  { kubeconfig, contexts, accessContext }: IngressConfig,
): Promise<IngressClusters> {
  const isAsked = kubeconfig !== undefined || contexts.length > 0 || accessContext !== undefined;
  if (!isAsked && isInCluster(environment.processes)) {
    const access = inClusterAccess(environment);
    return { clusters: [access], access, isOwnCluster: true };
  }
  const first = accessContext === undefined ? [] : [accessContext];
  const names = [...new Set([...first, ...contexts])];
  const accesses = await kubeconfigAccess({
    ...environment,
    path: kubeconfig,
    contexts: names.length === 0 ? "current" : names,
  });
  // The access context comes first; its default is the first --context.
  const [access] = accesses;
  if (access === undefined) throw new UsageError("the kubeconfig has no cluster to watch");
  const wanted = new Set(contexts.length === 0 ? [access.name] : contexts);
  const clusters = accesses.filter(({ name }) => wanted.has(name));
  return { clusters, access, isOwnCluster: false };
}

/**
 * Logs a warning for two contexts of one cluster. Both are used, because an ingress that does not
 * start would be worse.
 */
export async function warnOfSameClusters(
  environment: Environment,
  { clusters }: Pick<IngressClusters, "clusters">,
  signal: AbortSignal,
): Promise<void> {
  const contexts = clusters.map((access) => ({ name: access.name, access }));
  const options = { ...environment, userAgent: "lockstep-ingress", signal };
  for (const { name, first, why } of await sameClusters(contexts, options)) {
    environment.log.warn(
      `contexts ${first} and ${name} are the same cluster, so each endpoint is counted ` +
        "twice: give only one of them",
      { why },
    );
  }
}
