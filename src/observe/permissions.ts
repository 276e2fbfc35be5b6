// The permissions of the observer, checked in each cluster before the start by self subject access
// reviews. These are computed and not stored, so the check changes nothing. If a cluster does not
// answer them, the result shows when the lists are tried.
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import { isRecord, recordAt } from "../kube/kinds/fields.ts";
import type { ObservedResource } from "./cluster-status.ts";
import { type LostHop, lostHop } from "./lost-hops.ts";
import { problemText } from "./problem-text.ts";
import { type PlannedWatch, placeOf } from "./watch-plan.ts";

export interface Permission {
  readonly resource: ObservedResource;
  /** All namespaces when undefined. */
  readonly namespace: string | undefined;
  readonly verdict: Verdict;
}

/** `unknown` when the cluster would not say, or was not asked: it shows when it is tried. */
export type Verdict = "allowed" | "denied" | "unknown";

export interface ClusterPermissions {
  readonly cluster: string;
  /** One for each collection that will be listed and watched. */
  readonly permissions: readonly Permission[];
  /** The effects of the denied ones, each in one sentence. */
  readonly lost: readonly LostHop[];
  /** Why the cluster could not be asked; undefined when it could. */
  readonly problem: string | undefined;
}

export interface Survey {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly plan: readonly PlannedWatch[];
}

/** The verbs that reflectors use. */
const verbs = ["list", "watch"] as const;

/** With more namespaces than this, the check would take long. */
export const namespacesAskedMax = 10;

export const askDeadlineMs = 10_000;

const reviewsPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/** Never rejects. */
export async function askPermissions(
  survey: Survey,
  signal: AbortSignal,
): Promise<ClusterPermissions> {
  const { cluster, plan } = survey;
  const resources = [...new Set(plan.map(({ resource }) => resource))];
  try {
    const verdicts = await Promise.all(
      resources.map((resource) => askResource(survey, resource, signal)),
    );
    const byPlace = new Map(verdicts.flat());
    const permissions = plan.map(({ resource, namespace }) => {
      return { resource, namespace, verdict: byPlace.get(key(resource, namespace)) ?? "unknown" };
    });
    const denied = plan.filter((_, index) => permissions[index]?.verdict === "denied");
    return { cluster, permissions, lost: denied.flatMap(lostHop(cluster)), problem: undefined };
  } catch (error) {
    return unasked(cluster, plan, problemText(error, signal));
  }
}

/** Of a cluster that does not answer. */
export function unasked(
  cluster: string,
  plan: readonly PlannedWatch[],
  problem: string,
): ClusterPermissions {
  const permissions = plan.map(({ resource, namespace }) => {
    return { resource, namespace, verdict: "unknown" } as const;
  });
  return { cluster, permissions, lost: [], problem };
}

/**
 * A permission for all namespaces includes each one, so single namespaces are checked only after a
 * no.
 */
async function askResource(
  { client, plan }: Survey,
  resource: ObservedResource,
  signal: AbortSignal,
): Promise<readonly (readonly [string, Verdict])[]> {
  const namespaces = plan.filter((one) => one.resource === resource).map((one) => one.namespace);
  const everywhere = await ask(client, { resource, namespace: undefined }, signal);
  if (everywhere !== "denied") {
    return namespaces.map((namespace) => [key(resource, namespace), everywhere]);
  }
  const verdicts: [string, Verdict][] = [[key(resource, undefined), "denied"]];
  for (const namespace of namespaces.slice(0, namespacesAskedMax)) {
    if (namespace === undefined) continue;
    const verdict = await ask(client, { resource, namespace }, signal);
    verdicts.push([key(resource, namespace), verdict]);
  }
  return verdicts;
}

async function ask(
  client: KubeClient,
  { resource, namespace = "" }: Pick<PlannedWatch, "resource" | "namespace">,
  signal: AbortSignal,
): Promise<Verdict> {
  const { group } = placeOf[resource];
  for (const verb of verbs) {
    const spec = { resourceAttributes: { verb, group, resource, namespace } };
    const verdict = await askOnce(client, spec, signal);
    if (verdict !== "allowed") return verdict;
  }
  return "allowed";
}

async function askOnce(client: KubeClient, spec: object, signal: AbortSignal): Promise<Verdict> {
  const body = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec,
  };
  const limits = { deadlineMs: askDeadlineMs, signal };
  try {
    const request = { verb: "create", method: "POST", path: reviewsPath, body, ...limits } as const;
    const review = parseJson(await client.request(request));
    const { allowed } = isRecord(review) ? recordAt(review, "status") : {};
    return typeof allowed === "boolean" ? (allowed ? "allowed" : "denied") : "unknown";
  } catch (error) {
    const isAnswer = error instanceof StatusError && error.code !== 401;
    if (!isAnswer) throw error;
    return "unknown";
  }
}

function key(resource: ObservedResource, namespace: string | undefined): string {
  return `${resource} ${namespace ?? ""}`;
}
