// Reads how much a command will list in each cluster and prints it before it starts: objects,
// bytes, watches, and the effect of missing permissions. A cluster that does not answer in time is
// reported and does not delay the others.
import { setMaxListeners } from "node:events";
import { visible } from "../decide/routing/shown-text.ts";
import { counted } from "../environment/counted.ts";
import type { Environment } from "../environment/environment.ts";
import type { Terminal } from "../environment/terminal.ts";
import type { ClusterPermissions } from "../observe/permissions.ts";
import type { ClusterPreview, KindPreview } from "../observe/preview.ts";
import { type Paint, paintFor } from "./terminal/paint.ts";
import { wrapText } from "./terminal/text.ts";
import { numberText } from "./terminal/value-text.ts";

interface PreviewOptions extends Pick<Environment, "timers"> {
  readonly terminal: Terminal;
  readonly stop: AbortSignal;
  /** Must settle when the signal aborts. */
  readonly preview: (signal: AbortSignal) => Promise<readonly ClusterPreview[]>;
  readonly permissions: (signal: AbortSignal) => Promise<readonly ClusterPermissions[]>;
  readonly clusters: number;
  /** Addresses of the API servers by cluster name, shown for slow ones. */
  readonly servers?: ReadonlyMap<string, string>;
  /** One sentence for each skipped context. */
  readonly leftOut: readonly string[];
  /** The limits on a managed control plane. */
  readonly closing: string;
}

/** After this time the slow cluster is named. */
const askingAfterMs = 1_000;

/** A slow API server must not prevent the start. */
const previewWithinMs = 15_000;

/** One of several clusters must not delay the others. */
const previewOfSeveralWithinMs = 5_000;

export async function readPreview(options: PreviewOptions): Promise<readonly string[]> {
  const { timers, terminal, stop, clusters, servers, leftOut, closing } = options;
  const patience = new AbortController();
  const patienceMs = clusters === 1 ? previewWithinMs : previewOfSeveralWithinMs;
  const cancel = timers.after(patienceMs, () =>
    patience.abort(new Error("counting the objects takes too long")),
  );
  const cancelAsking = timers.after(askingAfterMs, () => sayAsking(options));
  const signal = AbortSignal.any([stop, patience.signal]);
  // Each pending request adds a listener, some for each kind in each cluster.
  setMaxListeners(0, signal);
  try {
    const [previews, permissions] = await Promise.all([
      options.preview(signal),
      options.permissions(signal),
    ]);
    const shown = { width: terminal.columns, paint: paintFor(terminal), servers, closing };
    const notRead = leftOut.map((sentence) => `! ${visible(sentence)}`);
    return [...notRead, ...startLines(previews, permissions, shown)];
  } finally {
    cancel();
    cancelAsking();
  }
}

function sayAsking({ terminal, servers = new Map() }: PreviewOptions): void {
  for (const [cluster, server] of servers) {
    terminal.writeError(`${visible(clusterAt(cluster, server))}: counting objects …\n`);
  }
}

interface StartOptions {
  readonly width: number;
  readonly paint: Paint;
  /** Address of each API server by cluster name. */
  readonly servers?: ReadonlyMap<string, string> | undefined;
  /** The limits on a managed control plane. */
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

const remedy =
  "The role in deploy/rbac/observer.yaml has all permissions. With --namespace it is needed only in " +
  "those namespaces.";

/** Without the kinds that are known to be refused. */
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
    `${visible(cluster)}: will list ${resources.join(", ")}; about ${bytesText(bytes)} in ` +
    `${counted(listRequests, "request")}. Then keeps ${counted(watches, "watch", "watches")} open and sends ` +
    `${counted(readsPerMinute, "request")} a minute to check that they are up to date.`
  );
}

/** `alpha (https://10.0.0.1:6443)`. */
function clusterAt(cluster: string, server: string | undefined): string {
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
