// Prints the plan, the reports and the notes of `lockstep sync`. A plan without writes gets its reason:
// every service is up to date, or none is selected.

import type { RulesPlan } from "../../../decide/syncing/rules/plan-rules.ts";
import { type NamespaceSelection, syncLabel } from "../../../decide/syncing/service-selection.ts";
import { describeWrite, shownWrite } from "../../../decide/syncing/sync-write.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import { StatusError } from "../../../kube/client/client.ts";
import type { RuleView } from "../../../outputs/rules/rule-view.ts";
import type { SyncedReport } from "../../../outputs/slices/service-syncer.ts";
import type { ClusterClient, ServicePlan, SyncView } from "../../../outputs/slices/sync-view.ts";
import type { SyncConfig } from "./config.ts";

export interface NothingOptions {
  readonly sources: readonly ClusterClient[];
  readonly target: string;
  readonly selection: NamespaceSelection;
  readonly plans: readonly Pick<ServicePlan, "offers" | "blocked">[];
}

const askDeadlineMs = 10_000;

/** One sentence, without a newline. */
export async function nothingToWrite(options: NothingOptions): Promise<string> {
  const { plans, target } = options;
  const unselected = await nothingSelected(options);
  if (unselected !== undefined) return unselected;
  const inStep = plans.filter((plan) => isOffered(plan) && plan.blocked === undefined).length;
  const end =
    inStep === 0 ? ": no service can be synced" : `: ${counted(inStep, "service")} up to date`;
  return `Nothing to write to ${target}${end}.`;
}

/** Undefined when a service is selected, or a copy of one is still there. */
export async function nothingSelected({
  sources,
  selection: { namespaces, needsExports },
  plans,
}: NothingOptions): Promise<string | undefined> {
  if (plans.some((plan) => isOffered(plan) || plan.blocked !== undefined)) return undefined;
  const clusters = sources.map(({ cluster }) => cluster).join(", ");
  const label = `the label ${syncLabel}=true`;
  if (namespaces === "all") {
    return `Nothing to sync: no service in ${clusters} has a selector or ${label}.`;
  }
  if (namespaces.size === 0 && needsExports) {
    return `Nothing to sync: no service in ${clusters} has a ServiceExport.`;
  }
  if (namespaces.size === 0) {
    return (
      `Nothing to sync: no service in ${clusters} has ${label}. ` +
      "Add the label or use --namespace."
    );
  }
  const names = [...namespaces].join(", ");
  return [
    `Nothing to sync: no service in ${clusters} has ${label},`,
    `or a selector in the namespace ${names}.`,
    ...(await absentLines(sources, [...namespaces])),
  ].join(" ");
}

function isOffered({ offers }: NothingOptions["plans"][number]): boolean {
  return offers.some(({ service }) => service !== undefined);
}

async function absentLines(
  sources: readonly ClusterClient[],
  namespaces: readonly string[],
): Promise<readonly string[]> {
  const lines = sources.flatMap(({ cluster, client }) =>
    namespaces.map(async (name) =>
      (await isAbsent(client, name)) ? [`The namespace ${name} does not exist in ${cluster}.`] : [],
    ),
  );
  return (await Promise.all(lines)).flat();
}

async function isAbsent(client: ClusterClient["client"], name: string): Promise<boolean> {
  const path = `/api/v1/namespaces/${encodeURIComponent(name)}`;
  try {
    await client.request({ verb: "get", method: "GET", path, deadlineMs: askDeadlineMs });
    return false;
  } catch (error) {
    // Without permission or without an answer, the namespace may exist.
    if (!(error instanceof Error && "code" in error)) throw error;
    return error instanceof StatusError && error.code === 404;
  }
}

type NamedPlan = ReturnType<SyncView["plan"]> & { readonly service: string };

export function plansOf(view: SyncView): readonly NamedPlan[] {
  return [...view.keys].sort().map((key) => ({ service: key, ...view.plan(key) }));
}

export type NamedRulePlan = RulesPlan & { readonly namespace: string };

export function rulePlansOf(view: RuleView): readonly NamedRulePlan[] {
  return [...view.namespaces].sort().flatMap((namespace) => {
    const plan = view.plan(namespace);
    return plan === undefined ? [] : [{ namespace, ...plan }];
  });
}

/** Why a service will not be synced after these plans; undefined when it will be. */
export function obstacleAfter(
  plans: readonly NamedPlan[],
  view: SyncView,
  namespace: string,
  service: string,
): string | undefined {
  const plan = plans.find((one) => one.service === `${namespace}/${service}`);
  const [write] = plan?.writes.filter(({ kind }) => kind === "Service") ?? [];
  if (write === undefined || write.type === "update") {
    return view.target.obstacle(namespace, service);
  }
  return write.type === "create" ? undefined : `the Service ${namespace}/${service} is not synced`;
}

/** `nothing` is the reason why there are no writes. */
export function planAsText(
  plans: readonly NamedPlan[],
  rulePlans: readonly NamedRulePlan[],
  target: string,
  nothing: string | undefined,
): string {
  const lines = plans.flatMap(({ service, writes, blocked }) => [
    ...writes.map(describeWrite),
    ...(blocked === undefined ? [] : [`cannot sync ${service}: ${blocked}`]),
  ]);
  const rules = rulePlans.flatMap(({ writes, problems }) => [
    ...writes.map(describeWrite),
    ...problems.map((problem) => `not delivered: ${problem}`),
  ]);
  const writes = [...plans, ...rulePlans].reduce((sum, plan) => sum + plan.writes.length, 0);
  return [...lines, ...rules, nothing ?? `${counted(writes, "write")} to ${target}.`, ""].join(
    "\n",
  );
}

/**
 * The problem with `--forget`; undefined when there is something to remove. Only a dry run fails because
 * of it: a second run with the same flags has nothing left to remove.
 */
export function nothingToForget(
  { forget }: Pick<SyncConfig, "forget">,
  view: SyncView,
): string | undefined {
  const copied = view.copied();
  const missing = forget.filter((cluster) => !copied.has(cluster));
  if (missing.length === 0) return undefined;
  const there = [...copied.keys()].sort();
  const known = there.length === 0 ? "it has no copies" : `it has copies of ${there.join(", ")}`;
  return `${view.target.cluster} has no copies of ${missing.join(", ")} to remove; ${known}.`;
}

/** The copies that stay because a namespace may be misspelt; undefined when there are none. */
export function staysText(view: SyncView, { unseen }: NamespaceSelection): string | undefined {
  const { length } = view.doubtfullyUnselected();
  if (length === 0) return undefined;
  const stay = length === 1 ? "1 service stays" : `${length} services stay`;
  return (
    `${stay} in ${view.target.cluster} although --namespace does not select it. No --from cluster ` +
    `has a service in namespace ${[...unseen].join(", ")}: check the name. ` +
    "To remove the copies anyway, remove this --namespace."
  );
}

/** Copies of a cluster that is not in `--from`: another sync may own them, so they stay. */
export function unclaimedLines(slicesByCluster: ReadonlyMap<string, number>): readonly string[] {
  return [...slicesByCluster].map(([cluster, count]) => {
    const copies = count === 1 ? "1 copied slice stays" : `${count} copied slices stay`;
    const them = count === 1 ? "it" : "them";
    return `${copies} of ${cluster}, which is not in --from. Use --forget ${cluster} to remove ${them}.\n`;
  });
}

/** One line for each service, and for the Ingresses of a namespace, with writes or a problem. */
export function planAsJson(
  plans: readonly NamedPlan[],
  rulePlans: readonly NamedRulePlan[],
): string {
  const services = plans
    .filter(({ writes, blocked }) => writes.length > 0 || blocked !== undefined)
    .map(({ service, writes, blocked }) => ({ service, blocked: blocked ?? null, writes }));
  const rules = rulePlans
    .filter(({ writes, problems }) => writes.length > 0 || problems.length > 0)
    .map(({ namespace, writes, problems }) => ({
      ingresses: namespace,
      problems,
      writes: writes.map(shownWrite),
    }));
  return [...services, ...rules].map((line) => `${JSON.stringify(line)}\n`).join("");
}

/** `shop/web of lab-1 synced after 4 ms (1 write)` */
export function describeReport({
  service,
  source,
  version,
  seenAtMs,
  syncedAtMs,
  writes,
}: SyncedReport) {
  const count = writes === 1 ? "1 write" : `${writes} writes`;
  if (version === undefined) return `${service} of ${source} removed (${count})\n`;
  if (writes === 0) return `${service} of ${source} is up to date\n`;
  if (seenAtMs === undefined) return `${service} of ${source} synced (${count})\n`;
  const lagMs = elapsedMs(seenAtMs, syncedAtMs);
  return `${service} of ${source} synced after ${Math.round(lagMs)} ms (${count})\n`;
}
