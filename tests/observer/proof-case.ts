// Only for tests: what there is to say of one endpoint in one run of an observer: what happened, what
// was delivered, and which journeys the observer made of it.
import type { Journey } from "../../src/timeline/journey.ts";
import type { Hop } from "../../src/timeline/witness.ts";
import type { ProofRun, SentRequest } from "./proof-run.ts";
import { byHand } from "./proof-services.ts";
import type { ProofWorld } from "./proof-world.ts";
import { fromKey, keyOf, placeOfKey, type ToldChange } from "./told-endpoints.ts";

export interface Case {
  readonly key: string;
  readonly run: ProofRun;
  readonly isCalm: boolean;
  /** Where its changes are made. */
  readonly made: Hop;
  readonly delivered: readonly ToldChange[];
  /** What was said of its address by those who know only addresses, whoever it was of. */
  readonly addressed: readonly ToldChange[];
  readonly happened: readonly ToldChange[];
  /** Who knows only addresses began and ceased to route to its address, whoever had it. */
  readonly rerouted: readonly ToldChange[];
  /** In the order in which they were opened. */
  readonly journeys: readonly Journey[];
  /** Of its address, from before anybody said whose it is. */
  readonly unnamed: readonly Journey[];
  /** What was delivered of others that have or had its address and port, in any service. */
  readonly others: readonly ToldChange[];
  /** What really happened to others that have or had its address and port. */
  readonly rivals: readonly ToldChange[];
  /** Requests to its address and port, whatever service they name. */
  readonly requests: readonly SentRequest[];
}

export function casesOf({ clusters, access, isCalm }: ProofWorld, run: ProofRun): readonly Case[] {
  const all = [...run.over, ...run.observer.journeys.pending()];
  const told = [...run.told.values()].flatMap(({ changes }) => changes);
  const deliveries = byKey([...told, ...run.routed], ({ key }) => key);
  const changes = [...clusters, access].flatMap(({ truth }) => truth.changes);
  const happened = byKey([...changes, ...run.rerouted], ({ key }) => key);
  const isByAddress = ({ witness }: ToldChange): boolean => !knowsPods(run, witness);
  const found = byKey(all, keyOfJourney);
  const addressed = byKey(run.routed.filter(isByAddress), ({ key }) => placeOfKey(key));
  const rerouted = byKey(run.rerouted.filter(isByAddress), ({ key }) => placeOfKey(key));
  const sockets = byKey([...told, ...run.routed], ({ key }) => socketOf(fromKey(key)));
  const rivals = byKey(changes, ({ key }) => socketOf(fromKey(key)));
  const requests = byKey(run.requests ?? [], socketOf);
  const keys = new Set([...deliveries.keys(), ...found.keys()]);
  return [...keys].map((key) => ({
    key,
    run,
    isCalm,
    made: fromKey(key).service === byHand.path ? "published" : "pod",
    delivered: deliveries.get(key) ?? [],
    addressed: addressed.get(placeOfKey(key)) ?? [],
    happened: (happened.get(key) ?? []).filter(
      ({ at }) => at >= run.startedAt && at <= run.endedAt,
    ),
    rerouted: rerouted.get(placeOfKey(key)) ?? [],
    journeys: (found.get(key) ?? []).toSorted((a, b) => a.id - b.id),
    unnamed: found.get(keyOf("", fromKey(key).service, { ...fromKey(key), uid: "" })) ?? [],
    others: (sockets.get(socketOf(fromKey(key))) ?? []).filter((one) => one.key !== key),
    rivals: (rivals.get(socketOf(fromKey(key))) ?? []).filter((one) => one.key !== key),
    requests: requests.get(socketOf(fromKey(key))) ?? [],
  }));
}

export function knowsPods(run: ProofRun, replica: string): boolean {
  return run.replicas.get(replica)?.knowsPods ?? true;
}

export function isBaseline({ how }: ToldChange): boolean {
  return how === "baseline";
}

export function placeOf({ hop, witness }: Pick<ToldChange, "hop" | "witness">): string {
  return `${hop} ${witness}`;
}

export function markOf({
  direction,
  at,
  ...place
}: Pick<ToldChange, "hop" | "witness" | "direction" | "at">): string {
  return `${placeOf(place)} ${direction} ${at.toFixed(3)}`;
}

/** Without requests, which are judged by themselves. */
export function marksOf({ origin, direction, hops }: Journey): readonly string[] {
  return hops.flatMap(({ hop, witness, state }) =>
    state.type === "shown" && hop !== "traffic"
      ? [markOf({ hop, witness, direction, at: origin.at + state.lagMs })]
      : [],
  );
}

/** All of it, for whoever has to find out. */
export function storyOf({ key, happened, delivered, others, requests, ...one }: Case): string {
  const tell = ({ hop, witness, direction, at, how }: ToldChange): string =>
    `${at.toFixed(3)} ${hop} ${witness} ${direction} ${how}`;
  return [
    `${key}, observed from ${one.run.startedAt} to ${one.run.endedAt}`,
    "happened:",
    ...happened.map(tell),
    "delivered:",
    ...delivered.map(tell),
    "said of the address:",
    ...one.addressed.map(tell),
    "of others:",
    ...others.map((other) => `${other.key} ${tell(other)}`),
    "requests:",
    ...requests.map((request) => JSON.stringify(request)),
    "journeys:",
    ...one.journeys.flatMap(({ id, direction, origin, hops, outcome }) => [
      `${id} ${direction} ${JSON.stringify(origin)} ${outcome}`,
      ...hops.map(({ hop, witness, state }) => `  ${hop} ${witness} ${JSON.stringify(state)}`),
    ]),
  ].join("\n");
}

function keyOfJourney({ endpoint }: Journey): string {
  const { cluster = "", service, address, port, podUid = "" } = endpoint;
  return keyOf(cluster, service, { address, port, uid: podUid });
}

function socketOf({ address, port }: Pick<SentRequest, "address" | "port">): string {
  return `${address} ${port}`;
}

export function byKey<T>(
  all: readonly T[],
  key: (one: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(key(one));
    if (group === undefined) groups.set(key(one), [one]);
    else group.push(one);
  }
  return groups;
}
