// Only for tests: one change of an endpoint as witnesses of every kind tell it, the reports that this
// makes, and the journey that an observer must make of them. The expectation is worked out from the
// change and the one after it, and knows nothing of how journeys are matched.
import type { MonotonicMs } from "../environment/clock.ts";
import type { HopState, HopTime, Journey } from "./journey.ts";
import type { Direction, ServiceRef, Witness, WitnessReport } from "./witness.ts";

export const storyService: ServiceRef = { cluster: "east", service: "shop/web" };

/** The last knows nothing but addresses. */
export const storyWitnesses: readonly Witness[] = [
  { hop: "pod", name: "east" },
  { hop: "published", name: "east" },
  { hop: "synced", name: "access" },
  { hop: "routed", name: "r1" },
  { hop: "routed", name: "stock" },
];

/** Their places in that list. */
export const pod = 0;
export const published = 1;
export const stock = 4;

/** One change with what each witness tells of it. */
export interface Told {
  readonly uid: string;
  readonly address: string;
  readonly direction: Direction;
  /** By witness; those that leave it out say what is to be seen of them instead. */
  readonly by: readonly (Telling | Exclude<HopState["type"], "shown">)[];
  readonly beforeStart?: true;
}

export interface Telling {
  readonly at: number;
  readonly notBefore: number | undefined;
}

export function reportsOf(change: Told): readonly WitnessReport[] {
  return change.by.flatMap((one, index) =>
    typeof one === "string" ? [] : [reportOf(change, index, one)],
  );
}

export function reportOf(
  { uid, address, direction }: Pick<Told, "uid" | "address" | "direction">,
  index: number,
  { at, notBefore }: Telling,
): WitnessReport {
  const of = index === stock ? { ...storyService, cluster: undefined } : storyService;
  const podUid = index === stock ? undefined : uid;
  return {
    witness: storyWitnesses[index] ?? { hop: "traffic", name: "nobody" },
    endpoint: { ...of, address, port: 8080, podUid },
    direction,
    at: at as MonotonicMs,
    ...(notBefore !== undefined && { notBefore: notBefore as MonotonicMs }),
  };
}

/** One journey for a change that anybody has told, and none for one that nobody has. */
export function expectedJourneys(change: Told, all: readonly Told[]): readonly Partial<Journey>[] {
  const { uid, address, direction, beforeStart } = change;
  const told = change.by.filter((one) => typeof one !== "string");
  const [first] = told.toSorted((a, b) => a.at - b.at);
  if (first === undefined) return [];
  const origin = beforeStart ? { at: 0, notBefore: undefined } : first;
  const next = all[all.indexOf(change) + 1];
  const isSuperseded = next?.uid === uid && !isDoneBefore(change, next);
  return [
    {
      endpoint: { ...storyService, address, port: 8080, podUid: uid },
      direction,
      origin: {
        at: origin.at as MonotonicMs,
        notBefore: origin.notBefore as MonotonicMs | undefined,
        ...(beforeStart && { beforeStart }),
      },
      hops: change.by.map((one, index) => hopTime(index, one, origin, beforeStart)),
      outcome: isSuperseded ? "superseded" : "complete",
    },
  ];
}

/** Whether all have told the one before anybody told the other. */
function isDoneBefore(change: Told, next: Told): boolean {
  const nextAt = Math.min(...next.by.map((one) => (typeof one === "string" ? Infinity : one.at)));
  return change.by.every(
    (one) =>
      one === "unchanged" || (one !== "passed" && typeof one !== "string" && one.at < nextAt),
  );
}

function hopTime(
  index: number,
  told: Told["by"][number],
  origin: Telling,
  beforeStart: true | undefined,
): HopTime {
  const { hop, name: witness } = storyWitnesses[index] ?? { hop: "traffic", name: "nobody" };
  if (typeof told === "string") return { hop, witness, state: { type: told } };
  const lagMs = told.at - origin.at;
  const isExact = told.notBefore === undefined && origin.notBefore === undefined && !beforeStart;
  if (isExact) return { hop, witness, state: { type: "shown", lagMs } };
  // It was shown after the one and before the other, and the same goes for the origin.
  const range = {
    minMs: Math.max(0, (told.notBefore ?? told.at) - origin.at),
    maxMs: beforeStart ? undefined : told.at - (origin.notBefore ?? origin.at),
  };
  return { hop, witness, state: { type: "shown", lagMs, range } };
}
