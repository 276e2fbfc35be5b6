// Why a sync has nothing to write: every service is in step, or none is selected. Then it says how one
// is selected, and which of the named namespaces do not exist.
import type { SyncPolicy } from "../../../decide/syncing/sync-policy.ts";
import { syncLabel } from "../../../decide/syncing/synced-names.ts";
import { StatusError } from "../../../kube/client/client.ts";
import type { ClusterClient, ServicePlan } from "../../../outputs/slices/sync-view.ts";
import { counted } from "../../terminal/counted.ts";

export interface NothingOptions {
  readonly sources: readonly ClusterClient[];
  readonly target: string;
  readonly policy: SyncPolicy;
  readonly plans: readonly Pick<ServicePlan, "offers" | "blocked">[];
}

/** Long enough for a cluster that has just answered a list. */
const askDeadlineMs = 10_000;

/** In words, without a line's end. */
export async function nothingToWrite(options: NothingOptions): Promise<string> {
  const { plans, target } = options;
  const unselected = await nothingSelected(options);
  if (unselected !== undefined) return unselected;
  const inStep = plans.filter((plan) => isOffered(plan) && plan.blocked === undefined).length;
  const end = inStep === 0 ? "" : `: ${counted(inStep, "service")} up to date`;
  return `Nothing to write to ${target}${end}.`;
}

/** Undefined when a service is selected, or a copy of one is still there. */
export async function nothingSelected({
  sources,
  policy: { namespaces },
  plans,
}: NothingOptions): Promise<string | undefined> {
  if (plans.some((plan) => isOffered(plan) || plan.blocked !== undefined)) return undefined;
  const clusters = sources.map(({ cluster }) => cluster).join(", ");
  const label = `the label ${syncLabel}=true`;
  if (namespaces === "all") {
    return `Nothing to sync: no service in ${clusters} has a selector or ${label}.`;
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
    // Without the right to read it, or without an answer, it is not known to be absent.
    if (!(error instanceof Error && "code" in error)) throw error;
    return error instanceof StatusError && error.code === 404;
  }
}
