// Finds contexts of the same cluster (several users, or several API servers), because otherwise
// each change would be counted twice. A cluster is identified by the uid of its namespace
// kube-system, or by its server address if that cannot be read.
import type { Environment } from "../environment/environment.ts";
import { parseJson, type StatusError } from "../kube/client/client.ts";
import { HttpKubeClient } from "../kube/client/http-client.ts";
import { MissingPermissions, type PermissionEffects } from "../kube/client/missing-permissions.ts";
import type { ClusterAccess } from "../kube/credentials/credentials.ts";
import { optionalString, recordAt, requiredRecord } from "../kube/kinds/fields.ts";

export interface NamedAccess {
  readonly name: string;
  readonly access: ClusterAccess;
}

/** A context, and the first one with the same cluster. */
export interface SameCluster {
  readonly name: string;
  readonly first: string;
  readonly why: string;
}

export interface SameClustersOptions
  extends Pick<Environment, "network" | "clock" | "timers" | "log"> {
  readonly userAgent: string;
  /** After an abort, the results so far are used. */
  readonly signal: AbortSignal;
}

interface Place {
  readonly name: string;
  readonly server: string;
  /** Undefined when it cannot be read. */
  readonly uid: string | undefined;
}

const effects: PermissionEffects = {
  namespaces: "contexts of the same cluster are found by the address of their server only",
};

/** A server that hangs must not delay the others. */
const readWithinMs = 3_000;

/** One request to each cluster, none for a single context. Never rejects. */
export async function sameClusters(
  contexts: readonly NamedAccess[],
  options: SameClustersOptions,
): Promise<readonly SameCluster[]> {
  if (contexts.length < 2) return [];
  const places = await Promise.all(
    contexts.map(async ({ name, access }) => ({
      name,
      server: access.server,
      uid: await clusterUid(access, options),
    })),
  );
  return places.flatMap((place, index) => {
    const first = places.slice(0, index).find((other) => isSame(other, place));
    return first === undefined
      ? []
      : [{ name: place.name, first: first.name, why: why(place, first) }];
  });
}

export function leftOutText({ name, first, why: reason }: SameCluster): string {
  return `context ${name} is skipped: it is the same cluster as ${first} (${reason})`;
}

export function countedTwiceText({ name, first, why: reason }: SameCluster): string {
  return (
    `contexts ${first} and ${name} are the same cluster (${reason}), ` +
    "so each change is counted twice: give only one of them"
  );
}

/** One address may serve several clusters, so the uid decides. */
function isSame(one: Place, other: Place): boolean {
  if (one.uid !== undefined && other.uid !== undefined) return one.uid === other.uid;
  return one.server === other.server;
}

function why(one: Place, other: Place): string {
  return one.server === other.server ? "the same server" : "kube-system has the same uid";
}

async function clusterUid(
  cluster: ClusterAccess,
  { signal, ...options }: SameClustersOptions,
): Promise<string | undefined> {
  const missing = new MissingPermissions({ log: options.log, effects });
  const onForbidden = (name: string, error: StatusError): void => missing.note(name, error);
  const client = new HttpKubeClient({ ...options, cluster, onForbidden });
  const path = "/api/v1/namespaces/kube-system";
  const request = { verb: "get", method: "GET", path, deadlineMs: readWithinMs, signal } as const;
  try {
    const namespace = requiredRecord(parseJson(await client.request(request)), "namespace");
    return optionalString(recordAt(namespace, "metadata"), "uid");
  } catch {
    // The problem is reported when the cluster is read.
    return undefined;
  }
}
