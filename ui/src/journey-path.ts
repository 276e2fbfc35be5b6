// A journey as it is drawn: points and segments on the time axis, and one label. Pure. Lateness is
// length; a hop that has yet to show the change is a dashed segment up to now. Also the journey as it was
// at an earlier time, with which a recording is scrubbed.
import type { Journey, LagRow, Replica, State } from "../../src/server/api.ts";
import { age, duration } from "./format.ts";

type Hop = Journey["hops"][number];

/** One kind of place on the path; replicas of Lockstep and others are drawn apart. */
export type Part = "pod" | "lockstep" | "published" | "synced" | "proxy" | "traffic";

export type Level = "fine" | "late" | "stuck";

export interface PathPoint {
  readonly part: Part;
  readonly witness: string;
  readonly lagMs: number;
  readonly level: Level;
}

export interface PathSegment {
  readonly part: Part;
  readonly fromMs: number;
  readonly toMs: number;
  readonly level: Level;
  readonly isWaiting: boolean;
}

export interface JourneyPath {
  readonly points: readonly PathPoint[];
  readonly segments: readonly PathSegment[];
  readonly level: Level;
  /** `EndpointSlices 24 s, waiting`, `stock (model) 30.4 s`. */
  readonly label: string;
}

/** A hop without the change for longer is stuck. */
const stuckMs = 30_000;

/** What a journey alone does not say: the kind of each replica, and from which lag on it is late. */
export interface Reading {
  readonly kindOf: (witness: string) => Replica["kind"];
  readonly slowMs: number;
}

type ReadingFacts = Pick<State, "slowMs"> & Partial<Pick<State, "replicas">>;

/** By the replicas that the server knows; in a recording by the names that the lab gives. */
export function readingOf({ replicas = [], slowMs }: ReadingFacts): Reading {
  const kinds = new Map(replicas.map(({ name, kind }) => [name, kind]));
  const kindOf = (witness: string) => {
    const named = /^(lockstep|stock)\b/.exec(witness)?.[1] as "lockstep" | "stock" | undefined;
    return kinds.get(witness) ?? named ?? "other";
  };
  return { kindOf, slowMs };
}

/** Where each change began with its pod event, the pod watch has no lag to show. */
export function isStart({ hop, maxMs, pending }: LagRow): boolean {
  return hop === "pod" && (maxMs ?? 0) === 0 && pending === 0;
}

export function partOf(
  { hop, witness }: Pick<Hop, "hop" | "witness">,
  { kindOf }: Pick<Reading, "kindOf">,
): Part {
  if (hop !== "routed") return hop;
  return kindOf(witness) === "lockstep" ? "lockstep" : "proxy";
}

/** The word for a part in labels; proxies by their kind, `stock` is always marked as a model. */
export function partText(
  part: Part,
  hop: Pick<Hop, "witness">,
  { kindOf }: Pick<Reading, "kindOf">,
): string {
  if (part !== "proxy") return partNames[part];
  const kind = kindOf(hop.witness);
  return kind === "stock" ? "stock (model)" : kind === "other" ? hop.witness : kind;
}

/** The plain forms of the hops. */
export const hopNames: Readonly<Record<Hop["hop"], string>> = {
  pod: "pod",
  published: "EndpointSlices",
  synced: "copies",
  routed: "proxies",
  traffic: "requests",
};

export const partNames: Readonly<Record<Exclude<Part, "proxy">, string>> = {
  ...hopNames,
  lockstep: "Lockstep",
};

export function isInFlight({ outcome }: Pick<Journey, "outcome">): boolean {
  return outcome === "pending";
}

/** The order in which stock components pass a change on; the first that waits holds up the rest. */
const chain: readonly Part[] = ["pod", "published", "synced", "proxy", "lockstep", "traffic"];

export function journeyPath(journey: Journey, reading: Reading, now: number): JourneyPath {
  const ageMs = Math.max(0, now - journey.originMs);
  const shown = journey.hops.flatMap((hop) =>
    hop.state === "shown" && hop.lagMs !== null
      ? [{ hop, part: partOf(hop, reading), lagMs: hop.lagMs }]
      : [],
  );
  const points = shown.map(({ hop, part, lagMs }) => ({
    part,
    witness: hop.witness,
    lagMs,
    level: levelOf(part, lagMs, reading),
  }));
  const waiting = isInFlight(journey)
    ? journey.hops
        .filter(({ state }) => state === "pending" || state === "stuck")
        .map((hop) => ({ hop, part: partOf(hop, reading) }))
        .sort((a, b) => chain.indexOf(a.part) - chain.indexOf(b.part))
    : [];
  const segments = shownSegments(points, reading);
  const [first] = waiting;
  const reachedMs = segments.at(-1)?.toMs ?? 0;
  if (first !== undefined) {
    const isStuck = first.hop.state === "stuck" && first.part !== "traffic";
    const level = isStuck ? "stuck" : levelOf(first.part, ageMs, reading);
    const toMs = Math.max(ageMs, reachedMs);
    return {
      points,
      segments: [
        ...segments,
        { part: first.part, fromMs: reachedMs, toMs, level, isWaiting: true },
      ],
      level,
      label: `${partText(first.part, first.hop, reading)} ${age(ageMs)}, ${isStuck ? "stuck" : "waiting"}`,
    };
  }
  return { points, segments, ...endOf(journey, shown, reading) };
}

/** One segment for each part, from the end of the part before it in time. */
function shownSegments(points: readonly PathPoint[], reading: Reading): readonly PathSegment[] {
  const ends = new Map<Part, number>();
  for (const { part, lagMs } of points) {
    if (part !== "traffic") ends.set(part, Math.max(lagMs, ends.get(part) ?? 0));
  }
  let fromMs = 0;
  return [...ends]
    .sort((a, b) => a[1] - b[1] || chain.indexOf(a[0]) - chain.indexOf(b[0]))
    .flatMap(([part, toMs]) => {
      if (toMs <= fromMs) return [];
      const segment = { part, fromMs, toMs, level: levelOf(part, toMs, reading), isWaiting: false };
      fromMs = toMs;
      return [segment];
    });
}

/** Requests come when clients send them: their time says nothing about lateness. */
function levelOf(part: Part, lagMs: number, { slowMs }: Reading): Level {
  return part !== "traffic" && lagMs >= slowMs ? "late" : "fine";
}

interface ShownHop {
  readonly hop: Hop;
  readonly part: Part;
  readonly lagMs: number;
}

/**
 * The label of a journey that waits for nothing: the first late hop, because it delays those after it;
 * without a late one the slowest.
 */
function endOf(
  journey: Journey,
  shown: readonly ShownHop[],
  reading: Reading,
): Pick<JourneyPath, "level" | "label"> {
  const timed = shown.filter(({ part }) => part !== "traffic");
  const late = timed.filter(({ part, lagMs }) => levelOf(part, lagMs, reading) !== "fine");
  const firstPart = chain.find((part) => late.some((one) => one.part === part));
  const named = firstPart === undefined ? timed : late.filter(({ part }) => part === firstPart);
  const slowest = named.reduce<ShownHop | undefined>(
    (a, b) => (a === undefined || b.lagMs > a.lagMs ? b : a),
    undefined,
  );
  const outcome = journey.outcome === "complete" || isInFlight(journey) ? "" : journey.outcome;
  if (slowest === undefined) return { level: "fine", label: outcome || "no times yet" };
  const name = partText(slowest.part, slowest.hop, reading);
  const text = `${name} ${lagText(slowest.hop, journey)}`;
  return {
    level: levelOf(slowest.part, slowest.lagMs, reading),
    label: outcome === "" ? text : `${text}, ${outcome}`,
  };
}

/** A lag that is known as a range says so. */
export function lagText(hop: Hop, journey: Journey): string {
  if (hop.lagMs === null) return "–";
  if (hop.lagRangeMs === undefined) return duration(hop.lagMs);
  const hasExactStart = journey.originNotBeforeMs === null && !journey.originBeforeStart;
  return `${hasExactStart ? "≤" : "≥"} ${duration(hop.lagMs)}`;
}

/** The whole path in words, for screen readers and titles. */
export function pathText(journey: Journey, reading: Reading, now: number): string {
  const parts = journey.hops.flatMap((hop) => {
    const name = hop.hop === "routed" ? hop.witness : partText(partOf(hop, reading), hop, reading);
    if (hop.state === "shown") return [`${name} after ${lagText(hop, journey)}`];
    if (hop.state !== "pending" && hop.state !== "stuck") return [`${name} ${hop.state}`];
    return isInFlight(journey)
      ? [`${name} waits, ${age(Math.max(0, now - journey.originMs))}`]
      : [];
  });
  return parts.join("; ");
}

/** The journey as it was at a time of the recording; undefined before its start. */
export function journeyAt(journey: Journey, at: number): Journey | undefined {
  if (journey.originMs > at) return undefined;
  const elapsedMs = at - journey.originMs;
  const hops = journey.hops.map((hop): Hop => {
    if (hop.state === "shown" && (hop.lagMs ?? 0) <= elapsedMs) return hop;
    if (hop.state === "unchanged") return hop;
    // A hop without a time ends with the journey, whose own end is not recorded.
    if (hop.state !== "shown" && !isInFlight(journey)) return hop;
    const state = elapsedMs >= stuckMs && hop.hop !== "traffic" ? "stuck" : "pending";
    return { hop: hop.hop, witness: hop.witness, state, lagMs: null };
  });
  const isWaiting = hops.some(({ state }) => state === "pending" || state === "stuck");
  return { ...journey, hops, outcome: isWaiting ? "pending" : journey.outcome };
}
