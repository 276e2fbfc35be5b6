// The properties of a reflector that must hold at any instant, under every fault. Each property is
// a function that describes the violation, or returns nothing.
import { isDeepStrictEqual } from "node:util";
import { decodeRecord } from "../../src/apiserver/listwatch/encoded-object.ts";
import type { StoredRecord } from "../../src/apiserver/storage/storage.ts";
import { objectKey } from "../../src/kube/kinds/kind.ts";
import {
  defaultAliveWithinMs,
  defaultCurrentWithinMs,
} from "../../src/kube/reflector/freshness.ts";
import type { Observed } from "./reflector-observed.ts";

export interface Situation {
  readonly nowMs: number;
  /** Since when no data of its servers can have arrived; undefined while it can. */
  readonly unreachableSinceMs: number | undefined;
}

type Property = (observed: Observed, situation: Situation) => string | undefined;

/** The first property that does not hold now. */
export function violation(observed: Observed, situation: Situation): string | undefined {
  for (const property of Object.values(alwaysTrue)) {
    const problem = property(observed, situation);
    if (problem !== undefined) {
      return problem;
    }
  }
  return undefined;
}

/** How long ago the first change was made that the store does not show. */
export function blindForMs(observed: Observed, nowMs: number): number {
  const { resourceVersion } = observed.reflector.freshness();
  const missedAtMs = observed.truth.firstChangeAfter(Number(resourceVersion ?? 0));
  return missedAtMs === undefined ? 0 : nowMs - missedAtMs;
}

/** Objects in the store that differ from the storage in any field. */
export function contentProblem(observed: Observed): string | undefined {
  const { reflector, truth, options } = observed;
  const held = new Map([...reflector.store].map((one) => [objectKey(one.metadata), one]));
  const latest = truth.latest();
  const wrong = [...new Set([...held.keys(), ...latest.keys()])].find((key) => {
    const record = latest.get(key);
    const expected = record && options.kind.watched.project(decodeRecord(record).object);
    return !isDeepStrictEqual(held.get(key), expected);
  });
  return wrong && `${wrong} is not as the storage has it`;
}

const alwaysTrue: Readonly<Record<string, Property>> = {
  /** Every version once, in order, and nothing out of the blue. */
  deliveriesAreInOrder: ({ wrongDeliveries }) => wrongDeliveries[0],

  /** Applying all deliveries gives the content of the store. */
  deliveriesMakeTheStore: ({ reflector, replayed }) => {
    const stored = new Map([...reflector.store].map((one) => [objectKey(one.metadata), one]));
    const wrong = [...new Set([...stored.keys(), ...replayed.keys()])].find(
      (key) => stored.get(key) !== replayed.get(key),
    );
    return wrong && `${wrong} is not in the store as it was delivered`;
  },

  /** Never half of one state and half of another, and never one that was not. */
  storeIsOneState: (observed) => {
    const { resourceVersion } = observed.reflector.freshness();
    const truth = observed.truth.at(Number(resourceVersion ?? 0));
    const problem = difference(observed, truth);
    return problem && `the store is not what was true at ${resourceVersion}: ${problem}`;
  },

  /** Objects that always exist are in the store through every list. */
  nothingIsMissing: (observed) => {
    const missing = observed.reflector.synced ? observed.missing() : [];
    return missing.length === 0 ? undefined : `${missing.join()} is missing from a synced store`;
  },

  /** The reported freshness is true. */
  currencyIsTrue: (observed) => {
    const { currentAtMs } = observed.reflector.freshness();
    const unseen = currentAtMs === undefined ? undefined : unseenAt(observed, currentAtMs);
    return unseen && `it says to be current as of ${currentAtMs}, but ${unseen}`;
  },

  /** Fresh means that nothing is older than the bound. */
  freshIsCurrent: (observed, { nowMs }) => {
    const unseen = observed.reflector.freshness().fresh
      ? unseenAt(observed, nowMs - defaultCurrentWithinMs)
      : undefined;
    return unseen && `it says to be fresh, but ${unseen}`;
  },

  /** Fresh means that the server was there within the bound. */
  freshIsAlive: ({ reflector }, { nowMs, unreachableSinceMs = nowMs }) => {
    const silentMs = nowMs - unreachableSinceMs;
    return reflector.freshness().fresh && silentMs > defaultAliveWithinMs
      ? `it says to be fresh, but could hear nothing for ${silentMs} ms`
      : undefined;
  },
};

function difference(
  observed: Observed,
  truth: ReadonlyMap<string, StoredRecord>,
): string | undefined {
  const held = heldVersions(observed);
  for (const key of new Set([...held.keys(), ...truth.keys()])) {
    const record = truth.get(key);
    if (held.get(key) !== record?.revision) {
      return `${key} is ${held.get(key) ?? "not there"} and was ${record?.revision ?? "not there"}`;
    }
  }
  return undefined;
}

/** A key whose state in the store is older than what was true at an instant. */
function unseenAt(observed: Observed, instantMs: number): string | undefined {
  const held = heldVersions(observed);
  for (const key of observed.truth.keys()) {
    const change = observed.truth.lastChange(key, instantMs);
    if (change === undefined) {
      continue;
    }
    const version = held.get(key);
    const seen =
      version === undefined
        ? change.record === undefined || observed.truth.wasAbsentAfter(key, instantMs)
        : version >= change.revision;
    if (!seen) {
      return (
        `${key} is ${version ?? "not there"} and was ` +
        `${change.record === undefined ? "deleted by" : "at"} ${change.revision} since ${change.atMs}`
      );
    }
  }
  return undefined;
}

function heldVersions({ reflector }: Observed): ReadonlyMap<string, number> {
  return new Map(
    [...reflector.store].map(({ metadata }) => [
      objectKey(metadata),
      Number(metadata.resourceVersion),
    ]),
  );
}
