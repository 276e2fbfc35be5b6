// Runs `lockstep sync`: keeps copies of the services of business clusters in an access cluster, or prints
// the planned writes with --dry-run.
import { Registry } from "prom-client";
import { defaultUnreachableAfterMs } from "../../../decide/truth/truth-policy.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { logThrottled, RateLimitedClient } from "../../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { LeaderElection } from "../../../kube/leader/leader-election.ts";
import { outsideIdentity, podIdentity } from "../../../kube/leader/leader-identity.ts";
import { defaultElectionTimes } from "../../../kube/leader/leader-rules.ts";
import { RuleView } from "../../../outputs/rules/rule-view.ts";
import {
  ServiceSyncer,
  type ServiceSyncerOptions,
  type SyncedReport,
} from "../../../outputs/slices/service-syncer.ts";
import { SourceLeases } from "../../../outputs/slices/source-leases.ts";
import { SyncView } from "../../../outputs/slices/sync-view.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { namingPortFlags } from "../../taken-port.ts";
import type { SyncAction, SyncFlags } from "./command.ts";
import { runPrune } from "./prune.ts";
import { type SyncSetup, syncSetup } from "./setup.ts";
import { printStatus, startSyncStatus } from "./status.ts";
import {
  describeReport,
  type NamedRulePlan,
  type NothingOptions,
  nothingSelected,
  nothingToForget,
  nothingToWrite,
  obstacleAfter,
  planAsJson,
  planAsText,
  plansOf,
  rulePlansOf,
  staysText,
  unclaimedLines,
} from "./view.ts";

/** A dry run waits this long for every cluster; a run then prints the clusters that do not answer. */
export const answerWithinMs = 30_000;

const answerCheckMs = 50;

export async function runSync(
  context: CommandContext,
  action: SyncAction | undefined,
  flags: SyncFlags,
): Promise<ExitCode> {
  const setup = await syncSetup(context.environment, flags);
  if (action === "status") return await printStatus(context, setup.config, flags);
  if (action === "prune") return await runPrune(context, setup, flags);
  return flags.dryRun
    ? await printPlan(context, flags, setup)
    : await keepInStep(context, flags, setup);
}

async function keepInStep(
  { environment, terminal, stop }: CommandContext,
  flags: SyncFlags,
  setup: SyncSetup,
): Promise<ExitCode> {
  const { timers } = environment;
  const { config, sources, target, selection, policy } = setup;
  const report = (synced: SyncedReport) =>
    terminal.write(flags.json ? `${JSON.stringify(synced)}\n` : describeReport(synced));
  const metrics = new Registry();
  const syncer: ServiceSyncer = new ServiceSyncer({
    ...(config.probe ? environment : quiet(environment)),
    sources,
    target,
    policy,
    metrics,
    ...(config.ingresses === undefined ? {} : { rules: config.ingresses }),
    ...writing(environment, setup, metrics, () => syncer),
    onSynced: report,
    onKnown: (view) => {
      const nothing = nothingToForget(config, view);
      terminal.writeError(nothing === undefined ? "" : `${nothing}\n`);
      terminal.writeError(unclaimedLines(view.unclaimed()).join(""));
    },
  });
  const names = sources.map(({ cluster }) => cluster).join(", ");
  const { statusPort } = config;
  const listener =
    statusPort === undefined
      ? undefined
      : await namingPortFlags(environment, [{ flag: "statusPort", port: statusPort }], () =>
          startSyncStatus(environment, { ...config, statusPort }, metrics, syncer),
        );
  terminal.writeError(`Syncing ${names} to ${target.cluster}. Ctrl-C stops it.\n`);
  for (const cluster of config.forget) {
    terminal.writeError(`Removing the copies from ${cluster}.\n`);
  }
  const cancel = timers.after(answerWithinMs, () => {
    for (const line of syncer.view.waitingFor()) terminal.writeError(`still waiting for ${line}\n`);
  });
  const options = { sources, target: target.cluster, selection };
  const over = new AbortController();
  const explainNothing = async (): Promise<void> => {
    const signal = AbortSignal.any([stop, over.signal]);
    const why = await whyNothingIsSelected(timers, syncer.view, options, signal);
    const stays = staysText(syncer.view, selection);
    for (const line of [why, stays]) if (line !== undefined) terminal.writeError(`${line}\n`);
  };
  try {
    await Promise.all([syncer.run(stop), explainNothing()]);
  } finally {
    cancel();
    over.abort(new Error("the sync has ended"));
    await listener?.close();
  }
  return 0;
}

/** Alone, or in turns with others by the Lease. */
function writing(
  environment: Environment,
  setup: SyncSetup,
  metrics: Registry,
  syncer: () => ServiceSyncer,
): Pick<
  ServiceSyncerOptions,
  "writeClient" | "untilMayWrite" | "election" | "exportStatusClients"
> {
  const { config, target, targetAccess, onTargetForbidden: onForbidden, policy } = setup;
  const { clock, timers, log } = environment;
  const qps = config.writesPerSecond;
  const newBucket = () => new TokenBucket({ clock, timers, qps, burst: 2 * qps });
  const targetBucket = newBucket();
  const limited = (
    client: KubeClient,
    { server } = targetAccess,
    bucket: TokenBucket = targetBucket,
  ): KubeClient => {
    return new RateLimitedClient({ client, bucket, clock, server, onThrottled: logThrottled(log) });
  };
  const untilMayWrite = (signal: AbortSignal) => targetBucket.untilToken(signal);
  const { lease } = config;
  const exportStatusClients = (network: Environment["network"]) =>
    new Map(
      statusAccesses(setup).map(([name, cluster]) => {
        const isTarget = name === target.cluster;
        const client = new HttpKubeClient({
          ...environment,
          network,
          cluster,
          userAgent: "lockstep-sync",
          onForbidden: isTarget ? onForbidden : setup.onSourceForbidden,
        });
        return [name, limited(client, cluster, newBucket())] as const;
      }),
    );
  if (lease === undefined) {
    return {
      writeClient: limited(target.client),
      untilMayWrite,
      exportStatusClients: exportStatusClients(environment.network),
    };
  }
  const userAgent = "lockstep-sync-leader";
  let work: (leading: AbortSignal) => Promise<void> = async () => undefined;
  const election: LeaderElection = new LeaderElection({
    ...environment,
    ...defaultElectionTimes,
    client: new HttpKubeClient({ ...environment, cluster: targetAccess, userAgent, onForbidden }),
    lock: lease,
    identity: identityOf(environment),
    releaseOnStop: true,
    metrics,
    onStartedLeading: async (leading) => {
      const leases = new SourceLeases({
        ...environment,
        client: guarded,
        namespace: lease.namespace,
        sources: syncer().view.sources,
        unreachableAfterMs: policy.truth.unreachableAfterMs ?? defaultUnreachableAfterMs,
      });
      await Promise.all([work(leading), leases.run(leading)]);
    },
  });
  const guardedNetwork = election.fence.guard(environment.network);
  const guarded = new HttpKubeClient({
    ...environment,
    network: guardedNetwork,
    cluster: targetAccess,
    userAgent: "lockstep-sync",
    onForbidden,
  });
  return {
    writeClient: limited(guarded),
    exportStatusClients: exportStatusClients(guardedNetwork),
    untilMayWrite,
    election: (next) => {
      work = next;
      return election;
    },
  };
}

/**
 * The clusters whose ServiceExports get their status. Where clusters import from each other, each of
 * them has an instance that writes there, and writes the status of its own exports too.
 */
function statusAccesses({ config, target, targetAccess, accesses }: SyncSetup) {
  if (!config.exports || !config.exportStatus) return [];
  if (accesses.has(target.cluster)) return [[target.cluster, targetAccess]] as const;
  return [...accesses];
}

/** In a pod, set by the downward API, so that others can check that it exists. */
function identityOf({ processes, random }: Environment): string {
  const { POD_NAME: name, POD_UID: uid, HOSTNAME: host } = processes.variables;
  return name && uid ? podIdentity(name, uid) : outsideIdentity(host || "somewhere", random.uuid());
}

/** Without the network nothing is probed. */
export function quiet({ clock, timers, random, log }: Environment) {
  return { clock, timers, random, log };
}

/** Waits for every cluster. Undefined when a service is selected, or after a stop. */
async function whyNothingIsSelected(
  timers: CommandContext["environment"]["timers"],
  view: SyncView,
  options: Omit<NothingOptions, "plans">,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    do await timers.sleep(answerCheckMs, signal);
    while (view.waitingFor().length > 0);
    return await nothingSelected({ ...options, plans: plansOf(view) });
  } catch (error) {
    if (!signal.aborted) throw error;
    return undefined;
  }
}

async function printPlan(
  { environment, terminal, stop }: CommandContext,
  flags: SyncFlags,
  setup: SyncSetup,
): Promise<ExitCode> {
  const { timers } = environment;
  const { sources, target, selection, policy } = setup;
  const view = new SyncView({
    ...quiet(environment),
    sources,
    target,
    policy,
    // A dry run plans once, when every cluster is listed; changes until then are part of the plan.
    onService: () => undefined,
  });
  let plans: ReturnType<typeof plansOf> = [];
  const rules =
    setup.config.ingresses &&
    new RuleView({
      ...quiet(environment),
      sources,
      target,
      policy,
      settings: setup.config.ingresses,
      // As it will be after the planned writes.
      obstacle: (namespace, service) => obstacleAfter(plans, view, namespace, service),
      onNamespace: () => undefined,
    });
  const waitingFor = () => [...view.waitingFor(), ...(rules?.waitingFor() ?? [])];
  const patience = new AbortController();
  const cancel = timers.after(answerWithinMs, () => patience.abort(new Error("timeout")));
  const signal = AbortSignal.any([stop, patience.signal]);
  try {
    await view.start(signal);
    rules?.start();
    while (waitingFor().length > 0) await timers.sleep(answerCheckMs, signal);
    const nothing = nothingToForget(setup.config, view);
    if (nothing !== undefined) throw new UsageError(nothing);
    plans = plansOf(view);
    const rulePlans = rules === undefined ? [] : await readRulePlans(rules, timers, signal);
    const selected = { sources, target: target.cluster, selection, plans };
    const why = [...plans, ...rulePlans].every(({ writes }) => writes.length === 0)
      ? await nothingToWrite(selected)
      : undefined;
    terminal.write(
      flags.json ? planAsJson(plans, rulePlans) : planAsText(plans, rulePlans, target.cluster, why),
    );
    if (flags.json && why !== undefined) terminal.writeError(`${why}\n`);
    terminal.writeError(unclaimedLines(view.unclaimed()).join(""));
    const stays = staysText(view, selection);
    if (stays !== undefined) throw new UsageError(stays);
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (stop.aborted) return 2;
    const waiting = waitingFor().map((line) => `  ${line}`);
    throw new UsageError(
      `These clusters did not answer within ${answerWithinMs / 1000} s:\n${waiting.join("\n")}`,
    );
  } finally {
    cancel();
    await Promise.all([view.stop(), rules?.stop()]);
  }
}

/** A first plan says which secrets have to be read; then each is known, or refused. */
async function readRulePlans(
  rules: RuleView,
  timers: CommandContext["environment"]["timers"],
  signal: AbortSignal,
): Promise<readonly NamedRulePlan[]> {
  for (;;) {
    const plans = rulePlansOf(rules);
    const areKnown = rules.sources.every((source) => source.areSecretsKnown);
    if (areKnown && rules.target.isSettled) return plans;
    await timers.sleep(answerCheckMs, signal);
  }
}
