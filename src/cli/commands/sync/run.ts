// Runs `lockstep sync`: keeps copies of the services of business clusters in an access cluster, or prints
// the planned writes with --dry-run.
import { resolve as absolute } from "node:path";
import { isClusterName } from "../../../decide/syncing/copy-names.ts";
import { NamespaceSelection } from "../../../decide/syncing/service-selection.ts";
import { namespacePolicy, type SyncPolicy } from "../../../decide/syncing/sync-policy.ts";
import type { Environment } from "../../../environment/environment.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { logThrottled, RateLimitedClient } from "../../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { CredentialsError } from "../../../kube/credentials/credentials.ts";
import { contextAccess } from "../../../kube/credentials/credentials-kubeconfig.ts";
import { readKubeconfig } from "../../../kube/credentials/credentials-kubeconfig-file.ts";
import { ServiceSyncer, type SyncedReport } from "../../../outputs/slices/service-syncer.ts";
import { type ClusterClient, SyncView } from "../../../outputs/slices/sync-view.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, refuseBoth } from "../../flags.ts";
import type { SyncFlags } from "./command.ts";
import {
  describeReport,
  type NothingOptions,
  nothingSelected,
  nothingToForget,
  nothingToWrite,
  planAsJson,
  planAsText,
  plansOf,
  staysText,
  unclaimedLines,
} from "./view.ts";

interface SyncClusters {
  readonly sources: readonly ClusterClient[];
  readonly target: ClusterClient & { readonly server: string };
}

/** Enough to write a rollout of 100 deployments within seconds, without loading the API server. */
const writesPerSecond = 50;

const writeBurst = 100;

/** A dry run waits this long for every cluster; a run then prints the clusters that do not answer. */
const answerWithinMs = 30_000;

const answerCheckMs = 50;

export async function runSync(context: CommandContext, flags: SyncFlags): Promise<ExitCode> {
  const clusters = await connectClusters(context.environment, flags);
  const selected = selectionOf(flags, clusters);
  return flags.dryRun
    ? await printPlan(context, flags, clusters, selected)
    : await keepInStep(context, flags, clusters, selected);
}

async function keepInStep(
  { environment, terminal, stop }: CommandContext,
  flags: SyncFlags,
  { sources, target }: SyncClusters,
  { selection, policy }: Selected,
): Promise<ExitCode> {
  const { clock, timers, log } = environment;
  const writeClient = new RateLimitedClient({
    client: target.client,
    bucket: new TokenBucket({ clock, timers, qps: writesPerSecond, burst: writeBurst }),
    clock,
    server: target.server,
    onThrottled: logThrottled(log),
  });
  const report = (synced: SyncedReport) =>
    terminal.write(flags.json ? `${JSON.stringify(synced)}\n` : describeReport(synced));
  const syncer = new ServiceSyncer({
    ...environment,
    sources,
    target,
    policy,
    writeClient,
    onSynced: report,
    onKnown: (view) => {
      const nothing = nothingToForget(flags, view);
      terminal.writeError(nothing === undefined ? "" : `${nothing}\n`);
      terminal.writeError(unclaimedLines(view.unclaimed()).join(""));
    },
  });
  const names = sources.map(({ cluster }) => cluster).join(", ");
  terminal.writeError(`Syncing ${names} to ${target.cluster}. Ctrl-C stops it.\n`);
  for (const cluster of flags.forget) {
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
  }
  return 0;
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
  { sources, target }: SyncClusters,
  { selection, policy }: Selected,
): Promise<ExitCode> {
  const { timers } = environment;
  const view = new SyncView({
    ...environment,
    sources,
    target,
    policy,
    // A dry run plans once, when every cluster is listed; changes until then are part of the plan.
    onService: () => undefined,
  });
  const patience = new AbortController();
  const cancel = timers.after(answerWithinMs, () => patience.abort(new Error("timeout")));
  const signal = AbortSignal.any([stop, patience.signal]);
  try {
    await view.start(signal);
    while (view.waitingFor().length > 0) await timers.sleep(answerCheckMs, signal);
    const nothing = nothingToForget(flags, view);
    if (nothing !== undefined) throw new UsageError(nothing);
    const plans = plansOf(view);
    const selected = { sources, target: target.cluster, selection, plans };
    const why = plans.every(({ writes }) => writes.length === 0)
      ? await nothingToWrite(selected)
      : undefined;
    terminal.write(flags.json ? planAsJson(plans) : planAsText(plans, target.cluster, why));
    if (flags.json && why !== undefined) terminal.writeError(`${why}\n`);
    terminal.writeError(unclaimedLines(view.unclaimed()).join(""));
    const stays = staysText(view, selection);
    if (stays !== undefined) throw new UsageError(stays);
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (stop.aborted) return 2;
    const waiting = view.waitingFor().map((line) => `  ${line}`);
    throw new UsageError(
      `These clusters did not answer within ${answerWithinMs / 1000} s:\n${waiting.join("\n")}`,
    );
  } finally {
    cancel();
    await view.stop();
  }
}

interface Selected {
  readonly selection: NamespaceSelection;
  readonly policy: SyncPolicy;
}

function selectionOf(flags: SyncFlags, { sources }: SyncClusters): Selected {
  const { namespace, allNamespaces, createNamespaces, forget } = flags;
  refuseBoth({ "--all-namespaces": allNamespaces, "--namespace": namespace.length > 0 });
  const both = sources.find(({ cluster }) => forget.includes(cluster));
  if (both !== undefined) {
    throw new UsageError(`${both.cluster} is in --from and in --forget: remove one of them.`);
  }
  const forgottenClusters = new Set(forget);
  const namespaces = allNamespaces ? "all" : new Set(namespace);
  const selection = new NamespaceSelection(namespaces);
  const policy = namespacePolicy(namespaces, { selection, createNamespaces, forgottenClusters });
  return { selection, policy };
}

/** Each cluster is a context, or `name=context`; the name becomes part of object names. */
async function connectClusters(
  environment: Environment,
  { from, to, kubeconfig }: SyncFlags,
): Promise<SyncClusters> {
  const sources = from.map(parseCluster);
  const target = parseCluster(to);
  refuseDuplicates([...sources, target]);
  const path = kubeconfig === undefined ? undefined : absolute(kubeconfig);
  return asUsage([CredentialsError], async () => {
    const read = await readKubeconfig({ ...environment, path });
    const connect = ({ name, context }: NamedContext) => {
      const cluster = contextAccess(read, context, environment);
      const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep-sync" });
      return { cluster: name, client, server: cluster.server };
    };
    return { sources: sources.map(connect), target: connect(target) };
  });
}

interface NamedContext {
  readonly name: string;
  readonly context: string;
}

function parseCluster(text: string): NamedContext {
  const equals = text.indexOf("=");
  const name = equals === -1 ? text : text.slice(0, equals);
  const context = equals === -1 ? text : text.slice(equals + 1);
  if (isClusterName(name) && context !== "") return { name, context };
  throw new UsageError(
    `"${name}" cannot be part of an object name: use lower-case letters, digits and dashes, at most 63.\n` +
      `Give the context another name, for example: shop=${context || "CONTEXT"}`,
  );
}

function refuseDuplicates(named: readonly NamedContext[]): void {
  for (const [index, { name, context }] of named.entries()) {
    const same = named
      .slice(0, index)
      .find((other) => other.name === name || other.context === context);
    if (same === undefined) continue;
    const what = same.name === name ? name : `the context ${context}`;
    throw new UsageError(`--from and --to must be different clusters; ${what} is given twice.`);
  }
}
