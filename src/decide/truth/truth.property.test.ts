import fc from "fast-check";
import { expect, test } from "vitest";
import type { Pod } from "../../kube/kinds/pod.ts";
import type { PublishedEndpoint } from "../../model/published-endpoint.ts";
import {
  type FactsInWords,
  freshWatch,
  inCluster,
  listed,
  pod,
  podPeer,
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

const doubtShape = fc.record({
  cause: fc.constantFrom("flap" as const, "traffic" as const),
  answer: fc.constantFrom("answers" as const, "silent" as const, "unknown" as const),
});

/** What came of the doubts about some of the pods. */
const doubts = numbers.chain((chosen) =>
  fc
    .tuple(...chosen.map(() => doubtShape))
    .map((shapes) => new Map(shapes.map((one, at) => [podPeer(chosen[at] ?? 0), one]))),
);

const facts = fc.record({ pods, published, podWatch: watch, doubts, unreached: numbers });

const policy = { followSlices: false };

function isServing({ phase, ready, metadata }: Pod): boolean {
  return phase === "Running" && ready === "True" && metadata.deletionTimestamp === undefined;
}

type Words = Pick<Required<FactsInWords>, "unreached"> & Pick<FactsInWords, "doubts">;

function doubtOf({ doubts: standing }: Words, address: string) {
  return standing?.get(podPeer(Number(address.split(".").at(-1))));
}

function answerOf(words: Words, address: string) {
  return doubtOf(words, address)?.answer ?? "unknown";
}

/** By a request just now, or by an earlier one and nothing has answered since. */
function isUnreached(words: Words, address: string): boolean {
  const isUnsettled =
    doubtOf(words, address)?.cause === "traffic" && answerOf(words, address) !== "answers";
  return isUnsettled || words.unreached.includes(Number(address.split(".").at(-1)));
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
      const decided = truth(snapshot(inCluster(words)), 80, policy);
      const flapped = decided.doubts.filter(({ cause }) => cause === "flap");
      const doubted = new Set(flapped.map(({ address }) => address));
      for (const { state, address } of decided.endpoints) {
        const owner = words.pods.find((one) => one.podIP === address);
        const isFlipped =
          owner?.phase === "Running" &&
          owner.metadata.deletionTimestamp === undefined &&
          owner.ready !== "True" &&
          owner.containersReady === "True" &&
          !owner.hasReadinessGates;
        const isSilent = answerOf(words, address) === "silent";
        expect(state === "held").toBe(isFlipped && !isSilent);
        expect(doubted.has(address)).toBe(isFlipped);
      }
    }),
  );
});

test("in a fresh pod watch every ready pod is active, but for those with two witnesses against them", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const fresh = { ...words, podWatch: freshWatch };
      const { endpoints } = truth(snapshot(inCluster(fresh)), 80, policy);
      for (const { podUid, address, state, rule } of endpoints) {
        const owner = words.pods.find((one) => one.metadata.uid === podUid);
        if (owner === undefined || !isServing(owner)) continue;
        const isDead = isUnreached(words, address) && answerOf(words, address) === "silent";
        const isStandIn = rule === "never empty";
        expect(state).toBe(isDead && !isStandIn ? "suspect" : "active");
      }
    }),
  );
});

test("a suspect stays in doubt until it answers, and only what would serve is suspect", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const quiet = truth(
        snapshot(inCluster({ ...words, doubts: new Map(), unreached: [] })),
        80,
        policy,
      );
      const decided = truth(snapshot(inCluster(words)), 80, policy);
      const doubted = new Set(
        decided.doubts.filter(({ cause }) => cause === "traffic").map(({ address }) => address),
      );
      decided.endpoints.forEach(({ address, state }, at) => {
        const before = quiet.endpoints[at];
        const wouldServe = before?.state === "active" && before.rule !== "never empty";
        expect(doubted.has(address)).toBe(wouldServe && isUnreached(words, address));
        expect(state === "suspect" && !doubted.has(address)).toBe(false);
      });
    }),
  );
});

test("where anything serves or drains or could not be reached, a service is not empty", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const { endpoints } = truth(snapshot(inCluster(words)), 80, policy);
      const states = new Set(endpoints.map(({ state }) => state));
      const couldServe = states.has("draining") || states.has("suspect");
      expect(couldServe && !states.has("active") && !states.has("held")).toBe(false);
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
