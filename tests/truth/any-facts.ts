// Arbitrary combinations of facts about a service, for properties that must always hold.

import fc from "fast-check";
import type { MonotonicMs, WallMs } from "../../src/environment/clock.ts";
import type { Pod } from "../../src/kube/kinds/pod.ts";
import type { PublishedEndpoint } from "../../src/model/published-endpoint.ts";
import type { EndpointId } from "../../src/sources/endpoint-id.ts";
import type { StandingDoubt } from "../../src/sources/probes.ts";
import type { WatchStatus } from "../../src/sources/watch-status.ts";
import {
  type FactsInWords,
  freshWatch,
  listed,
  metadata,
  pod,
  podPeer,
  refusedWatch,
  seenAtMs,
  staleWatch,
} from "./service-facts.ts";

/** Numbers of some pods. */
export const someNumbers = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 8 });

const podShape = fc.record({
  ready: fc.constantFrom("True" as const, "False" as const, "Unknown" as const, undefined),
  containersReady: fc.constantFrom("True" as const, "False" as const, undefined),
  hasReadinessGates: fc.boolean(),
  phase: fc.constantFrom("Running", "Running", "Running", "Failed"),
  terminating: fc.boolean(),
});

const publishedShape = fc.record({
  ready: fc.boolean(),
  serving: fc.boolean(),
  terminating: fc.boolean(),
});

const pods: fc.Arbitrary<readonly Pod[]> = someNumbers.chain((chosen) =>
  fc.tuple(...chosen.map((number) => podShape.map((shape) => pod(number, shape)))),
);

const slice: fc.Arbitrary<readonly PublishedEndpoint[]> = someNumbers.chain((chosen) =>
  fc.tuple(...chosen.map((number) => publishedShape.map((shape) => listed(number, shape)))),
);

/** An endpoint can be in two slices at once. */
const published = fc.tuple(slice, slice).map((slices) => slices.flat());

const doubtShape: fc.Arbitrary<StandingDoubt> = fc.record({
  cause: fc.constantFrom("flap", "traffic", "mass", "unpublished"),
  answer: fc.constantFrom("answers", "silent", "unknown"),
  isOld: fc.boolean(),
});

/** The results of probes for some of the pods. */
const doubts = someNumbers.chain((chosen) =>
  fc
    .tuple(...chosen.map(() => doubtShape))
    .map((shapes) => new Map(shapes.map((one, at) => [podPeer(chosen[at] ?? 0), one]))),
);

const staleSince: WatchStatus = { ...staleWatch, currentAtMs: seenAtMs };
const staleSooner: WatchStatus = { ...staleWatch, currentAtMs: 100_000 as MonotonicMs };

const watch = fc.constantFrom(
  freshWatch,
  freshWatch,
  freshWatch,
  staleWatch,
  staleSince,
  staleSooner,
  refusedWatch,
);

/** A pod of another service with the address of the pod of this number, created after it. */
export function heirOf(number: number): Pod {
  const labels = { app: "other" };
  const creationTimestamp = 9_000 as WallMs;
  return pod(number, { metadata: metadata(`other-${number}`, { labels, creationTimestamp }) });
}

/** Only facts about pods and slices of the service itself, for most properties. */
export const ownFacts = fc.record({
  pods,
  published,
  podWatch: watch,
  publishedWatch: watch,
  doubts,
  unreached: someNumbers,
});

export type OwnFacts = Required<
  Pick<FactsInWords, "pods" | "published" | "podWatch" | "publishedWatch" | "unreached">
> & { readonly doubts: ReadonlyMap<EndpointId, StandingDoubt> };

export type AnyFacts = OwnFacts & Required<Pick<FactsInWords, "gone" | "lost" | "strangers">>;

/** With pods that are gone, and addresses that others have taken over. */
export const anyFacts: fc.Arbitrary<AnyFacts> = fc
  .record({ own: ownFacts, gone: someNumbers, lost: someNumbers, taken: someNumbers })
  .map(({ own, gone, lost, taken }) => {
    const departed = new Set([...gone, ...lost].map((number) => `uid-web-${number}`));
    return {
      ...own,
      pods: own.pods.filter(({ metadata: { uid } }) => !departed.has(uid)),
      gone: gone.map((number) => `uid-web-${number}`),
      lost: lost.filter((one) => !gone.includes(one)).map((number) => `uid-web-${number}`),
      strangers: taken.map(heirOf),
    };
  });
