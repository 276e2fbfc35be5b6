import fc from "fast-check";
import { expect, test } from "vitest";
import { ownFacts as facts, type OwnFacts } from "../../../tests/truth/any-facts.ts";
import {
  type FactsInWords,
  freshWatch,
  inCluster,
  podPeer,
  snapshot,
} from "../../../tests/truth/service-facts.ts";
import type { Pod } from "../../kube/kinds/pod.ts";
import { truth } from "./truth.ts";

const policy = { followSlices: false };

function isServing({ phase, ready, metadata }: Pod): boolean {
  return phase === "Running" && ready === "True" && metadata.deletionTimestamp === undefined;
}

function doubtOf({ doubts: standing }: OwnFacts, address: string) {
  return standing.get(podPeer(Number(address.split(".").at(-1))));
}

function answerOf(words: OwnFacts, address: string) {
  return doubtOf(words, address)?.answer ?? "unknown";
}

/** By a request just now, or by an earlier one and nothing has answered since. */
function isUnreached(words: OwnFacts, address: string): boolean {
  const isUnsettled =
    doubtOf(words, address)?.cause === "traffic" && answerOf(words, address) !== "answers";
  return isUnsettled || words.unreached.includes(Number(address.split(".").at(-1)));
}

function isMarkedFromOutside(one: Pod): boolean {
  return (
    one.phase === "Running" &&
    one.metadata.deletionTimestamp === undefined &&
    one.ready !== "True" &&
    one.containersReady === "True" &&
    !one.hasReadinessGates
  );
}

function activeUids(words: FactsInWords, followSlices = false) {
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

test("in a fresh pod watch a pod that has ended is never active", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const active = new Set(activeUids({ ...words, podWatch: freshWatch }));
      const ended = words.pods.filter(({ phase }) => phase === "Failed");
      expect(ended.filter(({ metadata }) => active.has(metadata.uid))).toEqual([]);
    }),
  );
});

test("held are those marked unready from outside and those guarded from mass removal", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const decided = truth(snapshot(inCluster(words)), 80, policy);
      const flapped = decided.probeRequests.filter(({ cause }) => cause === "flap");
      const doubted = new Set(flapped.map(({ address }) => address));
      for (const { state, address, rule } of decided.endpoints) {
        const owner = words.pods.find((one) => one.podIP === address);
        const isFlipped = owner !== undefined && isMarkedFromOutside(owner);
        const answer = answerOf(words, address);
        const isGuarded = rule === "no mass removal on one witness" && answer === "answers";
        const flipped = answer === "silent" ? "out" : "held";
        expect(isFlipped ? state : flipped).toBe(flipped);
        expect(state === "held" && !isFlipped && !isGuarded).toBe(false);
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

test("a suspect stays in doubt until something settles it", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const { endpoints, probeRequests: doubts } = truth(snapshot(inCluster(words)), 80, policy);
      const doubted = new Set(doubts.map(({ address }) => address));
      const suspects = endpoints.filter(({ state }) => state === "suspect");
      expect(suspects.filter(({ address }) => !doubted.has(address))).toEqual([]);
    }),
  );
});

test("requests that fail put exactly those in doubt that would serve otherwise", () => {
  fc.assert(
    fc.property(facts, (words) => {
      const unlisted = { ...words, doubts: new Map(), unreached: [] };
      const quiet = truth(snapshot(inCluster(unlisted)), 80, policy);
      const decided = truth(snapshot(inCluster(words)), 80, policy);
      const byTraffic = decided.probeRequests.filter(({ cause }) => cause === "traffic");
      const doubted = new Set(byTraffic.map(({ address }) => address));
      for (const { address, state, rule } of quiet.endpoints) {
        const wouldServe = state === "active" && rule !== "never empty";
        expect(doubted.has(address)).toBe(wouldServe && isUnreached(words, address));
      }
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
