import fc from "fast-check";
import { expect, test } from "vitest";
import type { Pod } from "../../kube/kinds/pod.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import {
  freshWatch,
  inCluster,
  listed,
  pod,
  refusedWatch,
  snapshot,
  staleWatch,
} from "./service-facts.contract.ts";
import { truth } from "./truth.ts";

const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 8 });

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

const pods: fc.Arbitrary<readonly Pod[]> = numbers.chain((chosen) =>
  fc.tuple(...chosen.map((number) => podShape.map((shape) => pod(number, shape)))),
);

const slice: fc.Arbitrary<readonly PublishedEndpoint[]> = numbers.chain((chosen) =>
  fc.tuple(...chosen.map((number) => publishedShape.map((shape) => listed(number, shape)))),
);

/** An endpoint can be in two slices at once. */
const published = fc.tuple(slice, slice).map((slices) => slices.flat());

const watch = fc.constantFrom(freshWatch, freshWatch, staleWatch, refusedWatch);

/** What probes showed of some of the addresses. */
const probes = numbers.chain((chosen) =>
  fc
    .tuple(...chosen.map(() => fc.constantFrom("answers" as const, "silent" as const)))
    .map((answers) => new Map(answers.map((one, at) => [`10.0.0.${chosen[at]} 8080`, one]))),
);

const facts = fc.record({ pods, published, podWatch: watch, probes });

const policy = { followSlices: false };

function isServing({ phase, ready, metadata }: Pod): boolean {
  return phase === "Running" && ready === "True" && metadata.deletionTimestamp === undefined;
}

function activeUids(words: Parameters<typeof inCluster>[0], followSlices = false) {
  const { endpoints } = truth(snapshot(inCluster(words)), 80, { followSlices });
  return endpoints.filter(({ state }) => state === "active").map(({ podUid }) => podUid);
}

test("in a fresh pod watch a pod that leaves is active only when nothing else is", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const { endpoints } = truth(
        snapshot(inCluster({ ...words, podWatch: freshWatch })),
        80,
        policy,
      );
      const active = endpoints.filter(({ state }) => state === "active");
      const standIns = active.filter(({ rule }) => rule === "never empty");
      const leaving = new Set(
        words.pods.filter((one) => !isServing(one)).map((one) => one.metadata.uid),
      );
      expect([0, active.length]).toContain(standIns.length);
      expect(active.filter(({ podUid }) => leaving.has(podUid ?? ""))).toEqual(
        standIns.filter(({ podUid }) => leaving.has(podUid ?? "")),
      );
    }),
  );
});

test("in a fresh pod watch only a terminating pod that still answers can stand in for others", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const active = new Set(activeUids({ ...words, podWatch: freshWatch }));
      for (const one of words.pods) {
        const isDraining = one.metadata.deletionTimestamp !== undefined && one.ready === "True";
        if (isServing(one) || (isDraining && one.phase === "Running")) continue;
        expect(active.has(one.metadata.uid)).toBe(false);
      }
    }),
  );
});

test("only a pod marked unready from outside is held, and never one known to be silent", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const { endpoints, doubts } = truth(snapshot(inCluster(words)), 80, policy);
      const doubted = new Set(doubts.map(({ address }) => address));
      for (const { state, address } of endpoints) {
        const owner = words.pods.find((one) => one.podIP === address);
        const isFlipped =
          owner?.phase === "Running" &&
          owner.metadata.deletionTimestamp === undefined &&
          owner.ready !== "True" &&
          owner.containersReady === "True" &&
          !owner.hasReadinessGates;
        const isSilent = words.probes.get(`${address} 8080`) === "silent";
        expect(state === "held").toBe(isFlipped && !isSilent);
        expect(doubted.has(address)).toBe(isFlipped);
      }
    }),
  );
});

test("in a fresh pod watch every ready pod is active", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const active = new Set(activeUids({ ...words, podWatch: freshWatch }));
      const ready = words.pods.filter(isServing).map((one) => one.metadata.uid);
      expect(ready.filter((uid) => !active.has(uid))).toEqual([]);
    }),
  );
});

test("the order of the facts makes no difference", () => {
  const shuffled = facts.chain((words) =>
    fc.record({
      words: fc.constant(words),
      pods: fc.shuffledSubarray([...words.pods], { minLength: words.pods.length }),
      published: fc.shuffledSubarray([...words.published], { minLength: words.published.length }),
    }),
  );
  fc.assert(
    fc.property(shuffled, facts, ({ words, ...order }, west) => {
      const other = inCluster({ ...west, cluster: "west" });
      const one = truth(snapshot(inCluster(words), other), 80, policy);
      const reordered = inCluster({ ...words, ...order });
      expect(truth(snapshot(other, reordered), 80, policy)).toEqual(one);
    }),
  );
});

test("following the slices gives exactly what they list as ready", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const ready = words.published.filter((one) => one.ready).map((one) => one.pod?.uid);
      expect(new Set(activeUids(words, true))).toEqual(new Set(ready));
    }),
  );
});

test("every endpoint that a source names is in the table once, with a reason", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const { endpoints } = truth(snapshot(inCluster(words)), 80, policy);
      const named = new Set([
        ...words.pods.map((one) => one.podIP),
        ...words.published.map((one) => one.address),
      ]);
      expect(endpoints.map(({ address }) => address)).toEqual([...named].sort());
      expect(endpoints.filter(({ reason }) => reason === "")).toEqual([]);
    }),
  );
});
