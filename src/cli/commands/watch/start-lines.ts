// What is said before anything is read: what will be listed and watched in each cluster and roughly
// how much that is, which hop a missing permission costs, and what can be seen where somebody else
// runs the control plane. Pure.
import { visible } from "../../../decide/routing/shown-text.ts";
import type { ClusterPermissions } from "../../../observe/permissions.ts";
import type { ClusterPreview, KindPreview } from "../../../observe/preview.ts";
import { counted } from "../../terminal/counted.ts";
import type { Paint } from "../../terminal/paint.ts";
import { numberText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";

export interface StartOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Where each cluster's API server is, by the cluster's name. */
  readonly servers?: ReadonlyMap<string, string> | undefined;
  /** What can be read where somebody else runs the control plane. */
  readonly closing: string;
}

export function startLines(
  previews: readonly ClusterPreview[],
  permissions: readonly ClusterPermissions[],
  { width, paint, servers, closing }: StartOptions,
): readonly string[] {
  const wrapped = (text: string, first: string) => wrapText(text, { width, first, rest: "  " });
  const read = previews.flatMap((one) => {
    const own = permissions.find(({ cluster }) => cluster === one.cluster);
    const allowed = allowedOf(one, own);
    const isRead = one.problem === undefined && allowed.kinds.length > 0;
    const sign = isRead ? paint.lockstep("●") : paint.failed("✗");
    const [head = "", ...rest] = wrapped(previewText(allowed, servers), "  ");
    return [`${sign} ${head.slice(2)}`, ...rest];
  });
  const lost = permissions.flatMap((one) =>
    one.lost.flatMap(({ sentence }) =>
      wrapped(visible(sentence), "! ").map((line) => paint.late(line)),
    ),
  );
  return [
    ...read,
    ...lost,
    ...(lost.length === 0 ? [] : wrapped(remedy, "  ")),
    ...wrapped(closing, "  ").map(paint.secondary),
  ];
}

/** For whoever may not read everything. */
const remedy =
  "The role in deploy/rbac/observer.yaml has all permissions. With --namespace it is needed only in " +
  "those namespaces.";

/** Without what is known to be refused. */
function allowedOf(preview: ClusterPreview, own: ClusterPermissions | undefined): ClusterPreview {
  const isDenied = ({ resource, namespace }: KindPreview): boolean =>
    own?.permissions.some(
      (one) => one.verdict === "denied" && one.resource === resource && one.namespace === namespace,
    ) ?? false;
  const kinds = preview.kinds.filter((kind) => !isDenied(kind));
  const share = preview.kinds.length === 0 ? 1 : kinds.length / preview.kinds.length;
  return {
    ...preview,
    kinds,
    watches: kinds.length,
    readsPerMinute: Math.round(preview.readsPerMinute * share),
  };
}

/** `alpha: lists 1,204 pods, 30 services …, about 3.1 MB in 5 requests; then 4 watches`. */
function previewText(preview: ClusterPreview, servers: StartOptions["servers"]): string {
  const { cluster, problem, kinds, bytes, listRequests, watches, readsPerMinute } = preview;
  if (problem !== undefined) {
    const named = visible(clusterAt(cluster, servers?.get(cluster)));
    return `${named} does not answer, retrying: ${visible(problem)}`;
  }
  const resources = byResource(kinds);
  if (resources.length === 0) return `${visible(cluster)}: no permission to read anything`;
  return (
    `${visible(cluster)}: will list ${resources.join(", ")}: about ${bytesText(bytes)} in ` +
    `${counted(listRequests, "request")}; then keeps ${numberText(watches)} watches open and sends ` +
    `${counted(readsPerMinute, "request")} a minute to check that the watches are up to date`
  );
}

/** `alpha (https://10.0.0.1:6443)`. */
export function clusterAt(cluster: string, server: string | undefined): string {
  return server === undefined ? cluster : `${cluster} (${server})`;
}

function byResource(kinds: readonly KindPreview[]): readonly string[] {
  const objects = new Map<string, number | undefined>();
  for (const { resource, objects: count } of kinds) {
    const before = objects.has(resource) ? objects.get(resource) : 0;
    objects.set(resource, before === undefined || count === undefined ? undefined : before + count);
  }
  return [...objects].map(([resource, count]) => {
    if (count === undefined) return `${resource} (number unknown)`;
    return `${numberText(count)} ${count === 1 ? resource.replace(/s$/, "") : resource}`;
  });
}

function bytesText(bytes: number): string {
  if (bytes < 1e3) return `${Math.round(bytes)} B`;
  if (bytes < 1e6) return `${Number((bytes / 1e3).toPrecision(2))} kB`;
  return `${Number((bytes / 1e6).toPrecision(2))} MB`;
}
