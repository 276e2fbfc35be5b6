// Is a lock held by a ghost: renewed by someone who provably does not exist? A process on a machine
// that was taken out of the cluster can do that for ever, and because its record changes, no
// candidate ever takes the lock. The decision is a pure function of what was seen so far and what
// is seen now.
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { elapsedMs } from "../../environment/clock.ts";
import type { Presence } from "./ghost-holder.ts";
import { type LeaderRecord, type LockReference, recordText } from "./lease-record.ts";

/**
 * Looks at the holder must be so far apart to count as two. Short enough for the shortest leases in
 * use, long enough for a renewal or two in between.
 */
export const looksApartMinMs = 2_000;

/**
 * A holder that has just ended may have its last renewal still under way, which arrives after its
 * pod is gone. It renews one at a time, so a second renewal comes from something that lives.
 */
export const renewalsMin = 2;

/**
 * Looks per lease duration. A ghost is seen absent within a third of the duration, and each of its
 * renewals within a third of being made: with the usual periods (a renewal in a quarter of the
 * duration or less) it is known after one duration, and before two if it renews every two thirds.
 */
export const looksPerLease = 3;

/** One look at a lock and its holder. */
export interface LockSighting {
  readonly at: MonotonicMs;
  readonly wallAt: WallMs;
  /** Read after the lookup of the holder. Undefined: no lock, or a lock without a holder. */
  readonly record: LeaderRecord | undefined;
  readonly presence: Presence;
}

/** A holder was seen absent; the renewals of its record since then. */
export interface Suspicion {
  readonly holder: string;
  /** The first absence. */
  readonly at: MonotonicMs;
  readonly wallAt: WallMs;
  readonly evidence: string;
  /** The record as last seen, always after the first absence. */
  readonly recordText: string;
  /** Looks at which the record had changed since the look before. */
  readonly renewals: number;
}

export interface GhostReport {
  readonly lock: LockReference;
  readonly holder: string;
  /** Clauses for people, in the order things were seen. */
  readonly evidence: readonly string[];
  /** When it was first seen absent, by our clock. */
  readonly since: WallMs;
}

export type GhostVerdict =
  | { readonly kind: "free" }
  | { readonly kind: "live"; readonly holder: string; readonly evidence: string }
  /** Whether the holder exists cannot be determined. An earlier suspicion stands. */
  | {
      readonly kind: "unknown";
      readonly holder: string;
      readonly evidence: string;
      readonly suspicion: Suspicion | undefined;
    }
  | { readonly kind: "suspected"; readonly suspicion: Suspicion }
  | { readonly kind: "ghost"; readonly suspicion: Suspicion; readonly report: GhostReport };

export function judgeHolder(
  lock: LockReference,
  previous: GhostVerdict | undefined,
  sighting: LockSighting,
): GhostVerdict {
  const { record, presence } = sighting;
  if (record === undefined || record.holder === "") return { kind: "free" };
  const { holder } = record;
  const known = suspicionOf(previous);
  const suspicion = known?.holder === holder ? known : undefined;
  switch (presence.kind) {
    case "present":
      return { kind: "live", holder, evidence: presence.evidence };
    case "unknown":
      return { kind: "unknown", holder, evidence: presence.evidence, suspicion };
    case "absent":
      return judgeAbsent(lock, record, suspicion, sighting);
  }
}

export function suspicionOf(verdict: GhostVerdict | undefined): Suspicion | undefined {
  return verdict !== undefined && "suspicion" in verdict ? verdict.suspicion : undefined;
}

function judgeAbsent(
  lock: LockReference,
  record: LeaderRecord,
  known: Suspicion | undefined,
  { at, wallAt, presence }: LockSighting,
): GhostVerdict {
  const { holder } = record;
  const text = recordText(record);
  if (known === undefined) {
    const { evidence } = presence;
    const suspicion = { holder, at, wallAt, evidence, recordText: text, renewals: 0 };
    return { kind: "suspected", suspicion };
  }
  const renewals = known.renewals + (text === known.recordText ? 0 : 1);
  const suspicion = { ...known, recordText: text, renewals };
  const isApart = elapsedMs(known.at, at) >= looksApartMinMs;
  if (!isApart || renewals < renewalsMin) return { kind: "suspected", suspicion };
  const renewed = `its record was renewed afterwards, last at ${record.renewTime ?? "no time"}`;
  const evidence = [known.evidence, renewed, `still: ${presence.evidence}`];
  const report = { lock, holder, evidence, since: known.wallAt };
  return { kind: "ghost", suspicion, report };
}
