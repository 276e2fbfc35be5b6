// What somebody who records must know of how it stands: what is not recorded and why, names that were
// probably misspelt, and what became of it all. Pure.
import type { ClusterStatus, ObservedResource } from "../../../observe/cluster-status.ts";
import type { ClusterPermissions } from "../../../observe/permissions.ts";
import { counted } from "../../terminal/counted.ts";

/** What blame cannot say without them. */
const costOfMissing: Readonly<Record<ObservedResource, string>> = {
  pods: "blame cannot match an address to a pod",
  services: "blame cannot explain a 503 for which no endpoint was tried",
  nodes: "pods on a lost node are treated as healthy",
  endpointslices: "blame cannot name the late hop",
  endpoints: "blame cannot name the late hop",
};

/** The same permissions, each missing one with what it costs blame. */
export function withCosts(asked: ClusterPermissions): ClusterPermissions {
  const lost = asked.lost.map((one) => {
    const { cluster, namespace, resource } = one;
    const place = namespace === undefined ? cluster : `namespace ${namespace} of ${cluster}`;
    const missing = `Missing permission: list/watch ${resource} in ${place}.`;
    return { ...one, sentence: `${missing} Effect: ${costOfMissing[resource]}` };
  });
  return { ...asked, lost };
}

type Watch = ClusterStatus["watches"][number] & Pick<ClusterStatus, "cluster">;

function watchesOf(clusters: readonly ClusterStatus[]): readonly Watch[] {
  return clusters.flatMap(({ cluster, watches }) => watches.map((one) => ({ ...one, cluster })));
}

/** Until then nothing can be watched. */
function hasAnswered({ watches }: ClusterStatus): boolean {
  return watches.length > 0;
}

export interface Trouble {
  /** The same for one trouble as long as it lasts. */
  readonly key: string;
  readonly text: string;
  /** Said when it is over. */
  readonly overText: string;
  /** What is over sooner is not worth a word. */
  readonly saidAfterMs: number;
}

/** How long the first lists may take before somebody is told what is missing. */
const listWithinMs = 15_000;

export function troublesOf(clusters: readonly ClusterStatus[]): readonly Trouble[] {
  const watches = watchesOf(clusters);
  const behind = watches.filter(({ listed, state }) => listed && state !== "fresh");
  const behindByCluster = new Map(behind.map((one) => [one.cluster, one]));
  return [
    ...clusters.filter((one) => !hasAnswered(one)).map(unanswered),
    ...watches.filter(({ listed }) => !listed).map(missing),
    ...[...behindByCluster.values()].map(cutOff),
  ];
}

/** Only once everything has been listed: until then nobody knows. */
export function absentNamespaces(
  clusters: readonly ClusterStatus[],
  namespaces: readonly string[] = [],
): readonly string[] {
  if (!clusters.every(hasAnswered)) return [];
  const isAbsent = (name: string): boolean =>
    watchesOf(clusters)
      .filter(({ namespace }) => namespace === name)
      .every(({ listed, objects }) => listed && objects === 0);
  return namespaces
    .filter(isAbsent)
    .map((name) => `No cluster has a pod or a service in the namespace ${name}. Check the name.`);
}

/** Whether there is anything to ask `lockstep blame` about. */
export function isAnythingRead(clusters: readonly ClusterStatus[]): boolean {
  return clusters.some(isRead);
}

export function endText(clusters: readonly ClusterStatus[], dropped: number): string {
  if (!isAnythingRead(clusters)) return "Stopped. Nothing was recorded: no cluster could be read.";
  const written =
    dropped === 0 ? "everything was written" : `${counted(dropped, "line")} could not be written`;
  const unread = clusters.filter((one) => !isRead(one)).map(({ cluster }) => cluster);
  const never = unread.length === 0 ? "" : ` Never read: ${unread.join(", ")}.`;
  return `Stopped; ${written}.${never}`;
}

function isRead({ watches }: ClusterStatus): boolean {
  return watches.some(({ listed }) => listed);
}

function unanswered({ cluster }: ClusterStatus): Trouble {
  return {
    key: cluster,
    text: `${cluster} does not answer; recording starts when it answers.`,
    overText: `${cluster} answers.`,
    saidAfterMs: listWithinMs,
  };
}

function missing(watch: Watch): Trouble {
  const { cluster, resource, namespace } = watch;
  const where = namespace === undefined ? cluster : `${namespace} of ${cluster}`;
  return {
    key: `list of ${resource} in ${where}`,
    text: `${resource} in ${where} are not listed yet; ${costOfMissing[resource]}${why(watch)}`,
    overText: `The ${resource} in ${where} are recorded.`,
    saidAfterMs: listWithinMs,
  };
}

/** Not to be fresh takes a while by itself. */
function cutOff(watch: Watch): Trouble {
  const { cluster } = watch;
  return {
    key: `changes of ${cluster}`,
    text:
      `${cluster} may be behind; its changes are recorded with a time interval until it is up to ` +
      `date again${why(watch)}`,
    overText: `${cluster} is up to date again.`,
    saidAfterMs: 0,
  };
}

function why({ state, detail, failure, doubt }: Watch): string {
  const problem = failure ?? doubt ?? (state === "refused" ? detail : undefined);
  return problem === undefined ? "" : `: ${problem}`;
}
