// Prints the problems of a running recording and their end, each once, and names that are probably
// misspelt. The last line is the result.
import { visible } from "../../../decide/routing/shown-text.ts";
import { elapsedMs, type MonotonicMs } from "../../../environment/clock.ts";
import { counted } from "../../../environment/counted.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { CancelTimer } from "../../../environment/timers.ts";
import type { ClusterStatus, ObservedResource } from "../../../observe/cluster-status.ts";
import type { ClusterPermissions } from "../../../observe/permissions.ts";

interface RecordNewsOptions extends Pick<Environment, "clock" | "timers"> {
  readonly terminal: Pick<Terminal, "writeError">;
  /** Undefined: all namespaces. */
  readonly namespaces: readonly string[] | undefined;
  readonly clusters: () => readonly ClusterStatus[];
}

const lookEveryMs = 1_000;

interface Lasting {
  readonly trouble: Trouble;
  readonly since: MonotonicMs;
  readonly isSaid: boolean;
}

export class RecordNews {
  readonly #options: RecordNewsOptions;
  /** Problems of the last check, by their key. */
  #lasting: ReadonlyMap<string, Lasting> = new Map();
  readonly #asked = new Set<string>();
  #cancel: CancelTimer | undefined;

  constructor(options: RecordNewsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.timers.after(lookEveryMs, () => {
      this.#look();
      this.start();
    });
  }

  /** Idempotent. */
  stop(): void {
    this.#cancel?.();
  }

  #look(): void {
    const { clusters, namespaces } = this.#options;
    const found = clusters();
    const before = this.#lasting;
    const lasting = troublesOf(found).map((trouble) => this.#judge(trouble));
    this.#lasting = new Map(lasting.map((one) => [one.trouble.key, one]));
    for (const [key, { trouble, isSaid }] of before) {
      if (isSaid && !this.#lasting.has(key)) this.#say(trouble.overText);
    }
    for (const question of absentNamespaces(found, namespaces)) {
      if (!this.#asked.has(question)) this.#say(question);
      this.#asked.add(question);
    }
  }

  /** Prints a problem that has lasted long enough. */
  #judge(trouble: Trouble): Lasting {
    const now = this.#options.clock.monotonicMs();
    const { since = now, isSaid = false } = this.#lasting.get(trouble.key) ?? {};
    const isDue = elapsedMs(since, now) >= trouble.saidAfterMs;
    if (isDue && !isSaid) this.#say(trouble.text);
    return { trouble, since, isSaid: isSaid || isDue };
  }

  #say(line: string): void {
    this.#options.terminal.writeError(`${visible(line)}\n`);
  }
}

/** The effect of a missing kind on blame. */
const costOfMissing: Readonly<Record<ObservedResource, string>> = {
  pods: "blame cannot match an address to a pod",
  services: "blame cannot explain a 503 for which no endpoint was tried",
  nodes: "pods on a lost node are treated as healthy",
  endpointslices: "blame cannot name the late hop",
  endpoints: "blame cannot name the late hop",
};

/** Adds the effect on blame to each missing permission. */
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

/** Not yet connected. */
function hasAnswered({ watches }: ClusterStatus): boolean {
  return watches.length > 0;
}

interface Trouble {
  /** Stable while the problem lasts. */
  readonly key: string;
  readonly text: string;
  /** Printed at its end. */
  readonly overText: string;
  /** Shorter problems are not printed. */
  readonly saidAfterMs: number;
}

/** Missing lists are reported after this time. */
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

/** Only known when everything is listed. */
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

/** At least one cluster was listed. */
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

/** Staleness is detected late, so it is reported at once. */
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
