// A run of `lockstep ingress` from its settings to its end: the replica is started, follows the config
// file, and is drained when it is asked to stop.
import type { Environment } from "../../../environment/environment.ts";
import { ingressMetrics } from "../../../ingress/ingress-metrics.ts";
import { IngressReplica } from "../../../ingress/ingress-replica.ts";
import { readRemembered } from "../../../ingress/nginx-side.ts";
import type { Readiness } from "../../../ingress/readiness.ts";
import { isInCluster } from "../../../kube/credentials/credentials-in-cluster.ts";
import { accessLogPathOf } from "../../../outputs/nginx/nginx-logs.ts";
import type { ListenAddress } from "../../../outputs/nginx/nginx-servers.ts";
import { ownerText } from "../../../outputs/nginx/prefix-owner.ts";
import { aborted, type CommandContext, type ExitCode } from "../../command.ts";
import { namingPortFlags, type PortFlag } from "../../taken-port.ts";
import { AccessLogOutput } from "./access-log-output.ts";
import type { ConfigSource } from "./config-source.ts";
import { greetingLines, stoppingLine } from "./greeting.ts";
import { type IngressClusters, ingressClusters, warnOfSameClusters } from "./ingress-clusters.ts";
import type { IngressConfig } from "./ingress-settings.ts";
import { leadershipOf } from "./leadership-config.ts";
import { nginxFolder } from "./nginx-folder.ts";
import { sayWhenReady } from "./ready-lines.ts";
import { nothingSeenLines, shadowLines } from "./shadow-lines.ts";

/** Long enough for load balancers and kube-proxy to have looked at /readyz. */
const drainDelayInPodMs = 5_000;

/** How often a shadow says what it has seen. */
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
    // Whoever has taken charge of nginx wants it to go on.
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

/** Undefined unless lines are to be printed. Comes before the start of nginx, to print its first. */
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

/** What a shadow was kept from looking at; undefined when there was something to see. */
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
    // A shadow writes nothing; it may look for ghosts.
    leadership: shadow ? { watchedLocks: leadership.watchedLocks } : leadership,
    ...config.nginx,
    // Somebody else serves the class that a shadow looks at; it takes nothing from them.
    routing: { ...config.routing, ofAnyController: shadow },
    defaultCertificate: config.defaultCertificate,
    policy: config.policy,
    freshness: config.freshness,
    listen: listenAddresses(config),
    prefix,
    snapshot,
    takeOver,
    replaceState,
    ...(!shadow && snapshot && { remembered: await readRemembered(environment, prefix) }),
    ...(shadow && { shadow: { probe: config.shadowProbe } }),
    status: { host: config.statusAddress, port: config.statusPort, hostNames: config.statusHosts },
  });
}

/** What the config file says may change while it runs. */
function adapt(context: CommandContext, replica: IngressReplica, config: IngressConfig): void {
  context.setLogLevel?.(config.logLevel);
  replica.setPolicy(config.policy);
  replica.setFreshness(config.freshness);
}

/** From now on unready, and serving for a little longer, so that nobody is sent here any more. */
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
  ];
}

function listenAddresses(config: IngressConfig): readonly ListenAddress[] {
  const { listen, httpPort, httpsPort, grpcPort, proxyProtocol } = config;
  return listen.flatMap((address) => {
    const shared = { address, ...(proxyProtocol && { proxyProtocol }) };
    return [
      { ...shared, port: httpPort },
      ...(httpsPort === undefined ? [] : [{ ...shared, port: httpsPort, tls: true }]),
      ...(grpcPort === undefined ? [] : [{ ...shared, port: grpcPort, http2: true }]),
    ];
  });
}
