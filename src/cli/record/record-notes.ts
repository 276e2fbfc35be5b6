// What somebody who records must know of how it stands: what is not recorded and why, names that were
// probably misspelt, and what became of it all. Pure.
import type { RecordedWatch } from "../../recording/cluster-recorder.ts";
import { counted } from "../terminal/counted.ts";
import { costOfMissing } from "./record-survey.ts";

/** How a recording stands. */
export interface RecordState {
  readonly watches: readonly RecordedWatch[];
  /** Clusters that have not answered yet. */
  readonly waitingFor: readonly string[];
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

export function troublesOf({ watches, waitingFor }: RecordState): readonly Trouble[] {
  const unlisted = watches.filter(({ isListed }) => !isListed);
  const behind = watches.filter(({ isListed, isFresh }) => isListed && !isFresh);
  const behindByCluster = new Map(behind.map((one) => [one.cluster, one]));
  return [
    ...waitingFor.map(unanswered),
    ...unlisted.map(missing),
    ...[...behindByCluster.values()].map(cutOff),
  ];
}

/** Only once everything has been listed: until then nobody knows. */
export function absentNamespaces(
  { watches, waitingFor }: RecordState,
  namespaces: readonly string[] = [],
): readonly string[] {
  if (waitingFor.length > 0) return [];
  const isAbsent = (name: string): boolean =>
    watches
      .filter(({ namespace }) => namespace === name)
      .every(({ isListed, objects }) => isListed && objects === 0);
  return namespaces
    .filter(isAbsent)
    .map(
      (name) => `No cluster has a pod or a service in the namespace ${name}; is its name right?`,
    );
}

/** Whether there is anything to ask `lockstep blame` about. */
export function isAnythingRead({ watches }: RecordState): boolean {
  return watches.some(({ isListed }) => isListed);
}

export function endText(state: RecordState, dropped: number): string {
  if (!isAnythingRead(state)) return "Stopped; no cluster was ever read: nothing was recorded.";
  const written =
    dropped === 0 ? "everything is written" : `${counted(dropped, "line")} could not be written`;
  const unread = unreadClusters(state);
  const never = unread.length === 0 ? "" : ` Never read: ${unread.join(", ")}.`;
  return `Stopped; ${written}.${never}`;
}

function unreadClusters({ watches, waitingFor }: RecordState): readonly string[] {
  const listed = new Set(watches.filter(({ isListed }) => isListed).map(({ cluster }) => cluster));
  const heard = new Set(watches.map(({ cluster }) => cluster));
  return [...[...heard].filter((cluster) => !listed.has(cluster)), ...waitingFor];
}

function unanswered(cluster: string): Trouble {
  return {
    key: cluster,
    text: `${cluster} does not answer; it is recorded as soon as it does.`,
    overText: `${cluster} answers.`,
    saidAfterMs: listWithinMs,
  };
}

function missing({ cluster, resource, namespace, problem }: RecordedWatch): Trouble {
  const where = namespace === undefined ? cluster : `${namespace} of ${cluster}`;
  const cost = costOfMissing[resource] ?? "";
  return {
    key: `list of ${resource} in ${where}`,
    text: `No list of ${resource} in ${where} yet; ${cost}${why(problem)}`,
    overText: `The ${resource} in ${where} are recorded.`,
    saidAfterMs: listWithinMs,
  };
}

/** Not to be fresh takes a while by itself. */
function cutOff({ cluster, problem }: RecordedWatch): Trouble {
  return {
    key: `changes of ${cluster}`,
    text:
      `${cluster} may be behind; what changes meanwhile is recorded when it is heard, as of some ` +
      `time since${why(problem)}`,
    overText: `${cluster} is current again.`,
    saidAfterMs: 0,
  };
}

function why(problem: string | undefined): string {
  return problem === undefined ? "" : `: ${problem}`;
}
