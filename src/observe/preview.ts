// A preview of the lists and watches, and roughly their size, before they begin: the API server may
// be slow already. One small page of each collection gives the number of objects and their size.
import { parseJson } from "../kube/client/client.ts";
import {
  isRecord,
  listAt,
  MalformedObjectError,
  optionalNumber,
  optionalString,
  recordAt,
} from "../kube/kinds/fields.ts";
import { collectionPath } from "../kube/kinds/kind.ts";
import { quorumReadEveryMs } from "../kube/reflector/reflector-prover.ts";
import { listPageSize } from "../kube/reflector/reflector-request.ts";
import type { ObservedResource } from "./cluster-status.ts";
import { askDeadlineMs, namespacesAskedMax, type Survey } from "./permissions.ts";
import { problemText } from "./problem-text.ts";
import { type PlannedWatch, placeOf } from "./watch-plan.ts";

export interface KindPreview {
  readonly resource: ObservedResource;
  /** All namespaces when undefined. */
  readonly namespace: string | undefined;
  /** How many there are; undefined when the server does not tell. */
  readonly objects: number | undefined;
  /** Roughly what a list of them is, uncompressed; undefined when the number is not known. */
  readonly bytes: number | undefined;
  /** How many requests the list takes, one per page; undefined when the number is not known. */
  readonly listRequests: number | undefined;
  /** Why it could not be counted; undefined when it could. */
  readonly problem: string | undefined;
}

export interface ClusterPreview {
  readonly cluster: string;
  /** One for each collection that will be listed and watched. */
  readonly kinds: readonly KindPreview[];
  /** Sums over what could be counted. */
  readonly objects: number;
  readonly bytes: number;
  readonly listRequests: number;
  /** Connections that stay open. */
  readonly watches: number;
  /** Small reads that prove the watches current, as long as the observation lasts. */
  readonly readsPerMinute: number;
  /** Why the cluster could not be asked at all; undefined when it could. */
  readonly problem: string | undefined;
}

/** Enough to tell how large an object is, and a small answer even where they are large. */
const sampleSize = 20;

const minuteMs = 60_000;

/** Never rejects. */
export async function previewCluster(survey: Survey, signal: AbortSignal): Promise<ClusterPreview> {
  const { cluster, plan } = survey;
  const resources = [...new Set(plan.map(({ resource }) => resource))];
  const kinds = await Promise.all(
    resources.map((resource) => previewResource(survey, resource, signal)),
  );
  return sumOf(cluster, kinds.flat(), undefined);
}

/** Of a cluster that does not answer. */
export function unpreviewed(
  cluster: string,
  plan: readonly PlannedWatch[],
  problem: string,
): ClusterPreview {
  return sumOf(
    cluster,
    plan.map((watch) => uncounted(watch, problem)),
    problem,
  );
}

/** One namespace after the other, so that a slow server is asked few things at a time. */
async function previewResource(
  { client, plan }: Survey,
  resource: ObservedResource,
  signal: AbortSignal,
): Promise<readonly KindPreview[]> {
  const previews: KindPreview[] = [];
  for (const watch of plan.filter((one) => one.resource === resource)) {
    if (previews.length >= namespacesAskedMax) {
      previews.push(uncounted(watch, `only ${namespacesAskedMax} namespaces were counted`));
      continue;
    }
    const path = `${collectionPath(placeOf[resource], watch.namespace)}?limit=${sampleSize}`;
    const limits = { deadlineMs: askDeadlineMs, signal };
    try {
      const page = await client.request({ verb: "list", method: "GET", path, ...limits });
      previews.push(countedBy(watch, parseJson(page), page.body.length));
    } catch (error) {
      previews.push(uncounted(watch, problemText(error, signal)));
    }
  }
  return previews;
}

function countedBy(watch: PlannedWatch, list: unknown, pageBytes: number): KindPreview {
  if (!isRecord(list)) throw new MalformedObjectError("the answer is not a list");
  const { resource, namespace } = watch;
  const metadata = recordAt(list, "metadata");
  const listed = listAt(list, "items").length;
  const hasMore = (optionalString(metadata, "continue") ?? "") !== "";
  const remaining = hasMore ? optionalNumber(metadata, "remainingItemCount") : 0;
  if (remaining === undefined) {
    return uncounted(watch, `there are more than ${listed}; the server does not report how many`);
  }
  const objects = listed + remaining;
  const bytes = listed === 0 ? pageBytes : Math.round((pageBytes / listed) * objects);
  const listRequests = Math.max(1, Math.ceil(objects / listPageSize));
  return { resource, namespace, objects, bytes, listRequests, problem: undefined };
}

function uncounted({ resource, namespace }: PlannedWatch, problem: string): KindPreview {
  const unknown = { objects: undefined, bytes: undefined, listRequests: undefined };
  return { resource, namespace, ...unknown, problem };
}

function sumOf(
  cluster: string,
  kinds: readonly KindPreview[],
  problem: string | undefined,
): ClusterPreview {
  const sum = (what: "objects" | "bytes" | "listRequests"): number =>
    kinds.reduce((total, kind) => total + (kind[what] ?? 0), 0);
  return {
    cluster,
    kinds,
    objects: sum("objects"),
    bytes: sum("bytes"),
    listRequests: sum("listRequests"),
    watches: kinds.length,
    readsPerMinute: Math.round((kinds.length * minuteMs) / quorumReadEveryMs),
    problem,
  };
}
