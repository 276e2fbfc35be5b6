// Only for tests: one endpoint in one run of an observer: the real events, the deliveries, and the
// journeys that the observer made of them.
import type { Journey } from "../../src/timeline/journey.ts";
import type { Hop } from "../../src/timeline/witness.ts";
import type { ProofRun, SentRequest } from "./proof-run.ts";
import { byHand } from "./proof-services.ts";
import type { ProofWorld } from "./proof-world.ts";
import { fromKey, keyOf, placeOfKey, type ReportedChange } from "./reported-endpoints.ts";

export interface Case {
  readonly key: string;
  readonly run: ProofRun;
  readonly isCalm: boolean;
  /** Where its changes are made. */
  readonly made: Hop;
  readonly delivered: readonly ReportedChange[];
  /** Reports about its address by witnesses that know only addresses, for any pod. */
  readonly addressed: readonly ReportedChange[];
  readonly happened: readonly ReportedChange[];
  /** Witnesses that know only addresses began and stopped routing to its address, for any pod. */
  readonly rerouted: readonly ReportedChange[];
  /** In the order in which they were opened. */
  readonly journeys: readonly Journey[];
  /** Of its address, before its pod was reported. */
  readonly unnamed: readonly Journey[];
  /** Deliveries about other pods that have or had its address and port, in any service. */
  readonly others: readonly ReportedChange[];
  /** Real events of other pods that have or had its address and port. */
  readonly rivals: readonly ReportedChange[];
  /** Requests to its address and port, whatever service they name. */
  readonly requests: readonly SentRequest[];
}

export function casesOf({ clusters, access, isCalm }: ProofWorld, run: ProofRun): readonly Case[] {
  const all = [...run.over, ...run.observer.journeys.pending()];
  const reported = [...run.reported.values()].flatMap(({ changes }) => changes);
  const deliveries = byKey([...reported, ...run.routed], ({ key }) => key);
  const changes = [...clusters, access].flatMap(({ truth }) => truth.changes);
  const happened = byKey([...changes, ...run.rerouted], ({ key }) => key);
  const isByAddress = ({ witness }: ReportedChange): boolean => !knowsPods(run, witness);
  const found = byKey(all, keyOfJourney);
  const addressed = byKey(run.routed.filter(isByAddress), ({ key }) => placeOfKey(key));
  const rerouted = byKey(run.rerouted.filter(isByAddress), ({ key }) => placeOfKey(key));
  const sockets = byKey([...reported, ...run.routed], ({ key }) => socketOf(fromKey(key)));
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

export function isBaseline({ how }: ReportedChange): boolean {
  return how === "baseline";
}

export function placeOf({ hop, witness }: Pick<ReportedChange, "hop" | "witness">): string {
  return `${hop} ${witness}`;
}

export function markOf({
  direction,
  at,
  ...place
}: Pick<ReportedChange, "hop" | "witness" | "direction" | "at">): string {
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

/** Everything about the case, for debugging. */
export function storyOf({ key, happened, delivered, others, requests, ...one }: Case): string {
  const tell = ({ hop, witness, direction, at, how }: ReportedChange): string =>
    `${at.toFixed(3)} ${hop} ${witness} ${direction} ${how}`;
  return [
    `${key}, observed from ${one.run.startedAt} to ${one.run.endedAt}`,
    "happened:",
    ...happened.map(tell),
    "delivered:",
    ...delivered.map(tell),
    "reported about the address:",
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
