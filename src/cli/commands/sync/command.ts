// `lockstep sync`: keeps the services of business clusters, with their endpoints, in an access cluster,
// so that any ingress controller there can route to them.
import { Command } from "commander";
import type { SyncPolicy } from "../../../decide/syncing/sync-policy.ts";
import { describeWrite } from "../../../decide/syncing/sync-write.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { logThrottled, RateLimitedClient } from "../../../kube/client/rate-limited-client.ts";
import { TokenBucket } from "../../../kube/client/token-bucket.ts";
import { ServiceSyncer, type SyncedReport } from "../../../outputs/slices/service-syncer.ts";
import { SyncView } from "../../../outputs/slices/sync-view.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { repeatable } from "../../repeatable.ts";
import { counted } from "../../terminal/counted.ts";
import { type NothingOptions, nothingSelected, nothingToWrite } from "./nothing-to-write.ts";
import { connectClusters, type SyncClusters } from "./sync-clusters.ts";

interface SyncFlags {
  readonly from: readonly string[];
  readonly to: string;
  readonly forget: readonly string[];
  readonly kubeconfig?: string;
  readonly namespace: readonly string[];
  readonly allNamespaces: boolean;
  readonly createNamespaces: boolean;
  readonly dryRun: boolean;
  readonly json: boolean;
}

/** A rollout of a hundred deployments is written within seconds, and no API server notices. */
const writesPerSecond = 50;
const writeBurst = 100;

/** How long a dry run waits for every cluster to be heard, and a run before it says who is not. */
const hearWithinMs = 30_000;
const hearCheckMs = 50;

const epilogue = `
For each synced service, the access cluster gets a headless Service with the same name, without a
selector. It also gets EndpointSlices <service>-<cluster>-<n> with the endpoints of each business
cluster. Any ingress controller in the access cluster can use them.

Services with the label lockstep.dev/sync=true are synced. With --namespace or --all-namespaces, all
services with a selector there are synced too, except those with the label lockstep.dev/sync=false.

Lockstep changes and deletes only objects that it created; they have its label. It never deletes a
namespace. Copies from an unreachable cluster stay. Copies from a cluster that is no longer in --from
stay too, because another Lockstep may sync them; --forget removes them. If a namespace in
--namespace has no services in any --from cluster, its name may be wrong. Copies of unselected
services then stay as well.

Two syncs can write to one access cluster if they copy from different clusters with different names.
Two syncs from the same cluster delete each other's copies: use one sync with all namespaces.
Lockstep logs a warning if its copies are reverted repeatedly.

--from and --to are contexts of the kubeconfig. The name becomes part of object names. If it cannot,
as in arn:aws:eks:…, give another name: --from pay=arn:aws:eks:…

Exit codes: 0 stopped by Ctrl-C or SIGTERM, or the dry run is complete; 2 error.

Examples:
  lockstep sync --from shop-1 --from shop-2 --to edge --namespace shop --dry-run
  lockstep sync --from shop-1 --from shop-2 --to edge --namespace shop
  lockstep sync --from shop-1 --to edge --all-namespaces --create-namespaces
  lockstep sync --from shop-1 --to edge --namespace shop --forget shop-2`;

export function syncCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("sync")
    .description("copy services of business clusters to an access cluster, until stopped")
    .requiredOption(
      "--from <cluster>",
      "business cluster: a context, or name=context; repeatable",
      repeatable,
    )
    .requiredOption("--to <cluster>", "access cluster: a context, or name=context")
    .option(
      "--forget <cluster>",
      "remove the copies of a cluster that is no longer synced, by its old name; repeatable",
      repeatable,
      [],
    )
    .option("--kubeconfig <file>", "kubeconfig file (default: $KUBECONFIG or ~/.kube/config)")
    .option(
      "--namespace <name>",
      "sync every service with a selector in this namespace; repeatable",
      repeatable,
      [],
    )
    .option("--all-namespaces", "sync every service with a selector in all namespaces", false)
    .option("--create-namespaces", "create missing namespaces in the access cluster", false)
    .option("--dry-run", "print the planned writes, write nothing, then exit", false)
    .option("--json", "print JSON, one object a line", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: SyncFlags) => done(await runSync(context, flags)));
}

async function runSync(context: CommandContext, flags: SyncFlags): Promise<ExitCode> {
  const clusters = await connectClusters(context.environment, flags);
  const policy = policyOf(flags, clusters);
  return flags.dryRun
    ? await printPlan(context, flags, clusters, policy)
    : await keepInStep(context, flags, clusters, policy);
}

async function keepInStep(
  { environment, terminal, stop }: CommandContext,
  flags: SyncFlags,
  { sources, target }: SyncClusters,
  policy: SyncPolicy,
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
  const cancel = timers.after(hearWithinMs, () => {
    for (const line of syncer.view.waitingFor()) terminal.writeError(`still waiting for ${line}\n`);
  });
  const options = { sources, target: target.cluster, policy };
  const over = new AbortController();
  const tell = async (): Promise<void> => {
    const signal = AbortSignal.any([stop, over.signal]);
    const why = await whyNothingIsSelected(timers, syncer.view, options, signal);
    const stays = staysText(syncer.view);
    for (const line of [why, stays]) if (line !== undefined) terminal.writeError(`${line}\n`);
  };
  try {
    await Promise.all([syncer.run(stop), tell()]);
  } finally {
    cancel();
    over.abort(new Error("the sync has ended"));
  }
  return 0;
}

/** When every cluster was heard; undefined when a service is selected, or it was stopped before. */
async function whyNothingIsSelected(
  timers: CommandContext["environment"]["timers"],
  view: SyncView,
  options: Omit<NothingOptions, "plans">,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    do await timers.sleep(hearCheckMs, signal);
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
  policy: SyncPolicy,
): Promise<ExitCode> {
  const { timers } = environment;
  const view = new SyncView({
    ...environment,
    sources,
    target,
    policy,
    // A dry run plans once, when everything has been heard; news on the way are part of that.
    onService: () => undefined,
  });
  const patience = new AbortController();
  const cancel = timers.after(hearWithinMs, () => patience.abort(new Error("out of patience")));
  const signal = AbortSignal.any([stop, patience.signal]);
  try {
    await view.start(signal);
    while (view.waitingFor().length > 0) await timers.sleep(hearCheckMs, signal);
    const nothing = nothingToForget(flags, view);
    if (nothing !== undefined) throw new UsageError(nothing);
    const plans = plansOf(view);
    const selection = { sources, target: target.cluster, policy, plans };
    const why = plans.every(({ writes }) => writes.length === 0)
      ? await nothingToWrite(selection)
      : undefined;
    terminal.write(flags.json ? planAsJson(plans) : planAsText(plans, target.cluster, why));
    if (flags.json && why !== undefined) terminal.writeError(`${why}\n`);
    terminal.writeError(unclaimedLines(view.unclaimed()).join(""));
    const stays = staysText(view);
    if (stays !== undefined) throw new UsageError(stays);
    return 0;
  } catch (error) {
    if (!signal.aborted) throw error;
    if (stop.aborted) return 2;
    const waiting = view.waitingFor().map((line) => `  ${line}`);
    throw new UsageError(
      `These clusters did not answer within ${hearWithinMs / 1000} s:\n${waiting.join("\n")}`,
    );
  } finally {
    cancel();
    await view.stop();
  }
}

type NamedPlan = ReturnType<SyncView["plan"]> & { readonly service: string };

function plansOf(view: SyncView): readonly NamedPlan[] {
  return [...view.keys].sort().map((key) => ({ service: key, ...view.plan(key) }));
}

/** `nothing` says why there is nothing to write. */
function planAsText(
  plans: readonly NamedPlan[],
  target: string,
  nothing: string | undefined,
): string {
  const lines = plans.flatMap(({ service, writes, blocked }) => [
    ...writes.map(describeWrite),
    ...(blocked === undefined ? [] : [`cannot sync ${service}: ${blocked}`]),
  ]);
  const writes = plans.reduce((sum, plan) => sum + plan.writes.length, 0);
  return [...lines, nothing ?? `${counted(writes, "write")} to ${target}.`, ""].join("\n");
}

/**
 * What is wrong with `--forget`, in words; undefined when there is something to remove. Only a plan
 * fails by it: a run that is started once more with the same flags has done it before.
 */
function nothingToForget({ forget }: SyncFlags, view: SyncView): string | undefined {
  const copied = view.copied();
  const missing = forget.filter((cluster) => !copied.has(cluster));
  if (missing.length === 0) return undefined;
  const there = [...copied.keys()].sort();
  const known = there.length === 0 ? "it has no copies" : `it has copies of ${there.join(", ")}`;
  return `${view.target.cluster} has no copies of ${missing.join(", ")} to remove; ${known}.`;
}

/** In words, which copies stay because a namespace may be misspelt; undefined when none does. */
function staysText(view: SyncView): string | undefined {
  const { length } = view.doubtfullyUnselected();
  if (length === 0) return undefined;
  const stay = length === 1 ? "1 service stays" : `${length} services stay`;
  return (
    `${stay} in ${view.target.cluster} although --namespace does not select it. No --from cluster ` +
    `has a service in namespace ${[...view.unseenNamespaces].join(", ")}: check the name. ` +
    "To remove the copies anyway, remove this --namespace."
  );
}

/** A run that was started with one `--from` less looks just like one of several. */
function unclaimedLines(slicesByCluster: ReadonlyMap<string, number>): readonly string[] {
  return [...slicesByCluster].map(([cluster, count]) => {
    const copies = count === 1 ? "1 copied slice stays" : `${count} copied slices stay`;
    const them = count === 1 ? "it" : "them";
    return `${copies} of ${cluster}, which is not in --from. Use --forget ${cluster} to remove ${them}.\n`;
  });
}

/** A line for each service that has something to be said about. */
function planAsJson(plans: readonly NamedPlan[]): string {
  return plans
    .filter(({ writes, blocked }) => writes.length > 0 || blocked !== undefined)
    .map(({ service, writes, blocked }) =>
      JSON.stringify({ service, blocked: blocked ?? null, writes }),
    )
    .map((line) => `${line}\n`)
    .join("");
}

/** `shop/web of lab-1 synced after 4 ms (1 write)` */
function describeReport({ service, source, version, seenAtMs, syncedAtMs, writes }: SyncedReport) {
  const count = writes === 1 ? "1 write" : `${writes} writes`;
  if (version === undefined) return `${service} of ${source} removed (${count})\n`;
  if (writes === 0 || seenAtMs === undefined) return `${service} of ${source} is up to date\n`;
  const lagMs = elapsedMs(seenAtMs, syncedAtMs);
  return `${service} of ${source} synced after ${Math.round(lagMs)} ms (${count})\n`;
}

function policyOf(flags: SyncFlags, { sources }: SyncClusters): SyncPolicy {
  const { namespace, allNamespaces, createNamespaces, forget } = flags;
  if (allNamespaces && namespace.length > 0) {
    throw new UsageError("use either --all-namespaces or --namespace, not both.");
  }
  const both = sources.find(({ cluster }) => forget.includes(cluster));
  if (both !== undefined) {
    throw new UsageError(`${both.cluster} is in --from and in --forget: remove one of them.`);
  }
  const forgottenClusters = new Set(forget);
  const namespaces = allNamespaces ? "all" : new Set(namespace);
  return { namespaces, createNamespaces, forgottenClusters };
}
