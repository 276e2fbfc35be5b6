// Properties of all rules together, for any facts.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type EndpointState, isRouted } from "../../src/decide/decision.ts";
import type { TruthEndpoint } from "../../src/decide/truth/judged.ts";
import { truth } from "../../src/decide/truth/truth.ts";
import {
  spreads,
  type TruthPolicy,
  unreachablePolicies,
} from "../../src/decide/truth/truth-policy.ts";
import type { WallMs } from "../../src/environment/clock.ts";
import type { PublishedPort } from "../../src/model/published-endpoint.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { type AnyFacts, anyFacts, heirOf, ownFacts, someNumbers } from "./any-facts.ts";
import {
  type FactsInWords,
  freshWatch,
  inCluster,
  listed,
  pod,
  podPeer,
  service,
  snapshot,
} from "./service-facts.ts";

const policies: fc.Arbitrary<TruthPolicy> = fc.record({
  followSlices: fc.constant(false),
  spread: fc.constantFrom(...spreads),
  unreachable: fc.constantFrom(...unreachablePolicies),
});

const policy: TruthPolicy = { followSlices: false };

/** Many in a thorough run, for what is rare needs three facts to meet. */
const runs = { numRuns: isThorough(process.env) ? 2_000 : 30 };

function decide(words: FactsInWords, by = policy): readonly TruthEndpoint[] {
  return truth(snapshot(inCluster(words)), 80, by).endpoints;
}

interface Rest {
  readonly isUnreachable: boolean;
  readonly share: string;
}

const clusters: fc.Arbitrary<readonly [AnyFacts, AnyFacts, Rest]> = fc.tuple(
  anyFacts,
  anyFacts,
  fc.record({ isUnreachable: fc.boolean(), share: fc.constantFrom("0", "30", "", "x") }),
);

function inBoth([east, west, { isUnreachable, share }]: readonly [AnyFacts, AnyFacts, Rest]) {
  const annotations = { "lockstep.dev/weight": share };
  return [
    inCluster({ ...east, cluster: "east", service: service({ annotations }) }),
    inCluster({ ...west, cluster: "west", isUnreachable }),
  ] as const;
}

test("a service is never empty while something could serve", () => {
  fc.assert(
    fc.property(clusters, policies, (both, by) => {
      const { endpoints } = truth({ ...snapshot(...inBoth(both)), accessCluster: "east" }, 80, by);
      const states = new Set(endpoints.map(({ state }) => state));
      const couldServe = states.has("draining") || states.has("suspect");
      expect(couldServe && !endpoints.some(isRouted)).toBe(false);
    }),
    runs,
  );
});

test("the order in which clusters, pods and slices are listed makes no difference", () => {
  const turned = <T>(list: readonly T[]): readonly T[] => list.toReversed();
  fc.assert(
    fc.property(clusters, policies, ([east, west, rest], by) => {
      const own = { accessCluster: "west", namespace: "shop", name: "web" };
      const inOrder = inBoth([east, west, rest]);
      const turnedEast = {
        ...east,
        pods: turned(east.pods),
        published: turned(east.published),
        strangers: turned(east.strangers),
      };
      const reordered = turned(inBoth([turnedEast, west, rest]));
      const one = truth({ ...own, clusters: inOrder }, 80, by);
      const other = truth({ ...own, clusters: reordered }, 80, by);
      expect(other.endpoints).toEqual(one.endpoints);
      expect(new Set(other.probeRequests)).toEqual(new Set(one.probeRequests));
    }),
    runs,
  );
});

test("what a fresh pod watch knows to be dead or another's is never active", () => {
  fc.assert(
    fc.property(anyFacts, (words) => {
      const taken = new Set(words.strangers.map(({ podIP }) => podIP));
      const gone = new Set(words.gone);
      const active = decide({ ...words, podWatch: freshWatch }).filter(isRouted);
      for (const { address, podUid = "", rule, pod: says } of active) {
        const isLeaving = says === "terminating" && rule !== "never empty";
        const isDead = gone.has(podUid) || says === "ended";
        expect([taken.has(address), isDead, isLeaving]).toEqual([false, false, false]);
      }
    }),
    runs,
  );
});

test("no more endpoints leave on the word of the pod watch alone than stay", () => {
  fc.assert(
    fc.property(anyFacts, (words) => {
      const endpoints = decide({ ...words, podWatch: freshWatch });
      const taken = new Set(words.strangers.map(({ podIP }) => podIP));
      const onOneWord = endpoints.filter(
        ({ address, podUid = "", state, pod: says, published }) => {
          const { answer, isOld, cause } =
            words.doubts.get(podPeer(Number(address.slice(7)))) ?? {};
          const isAgreed = answer === "silent" || (isOld === true && cause === "mass");
          const isMeant = words.gone.includes(podUid) || taken.has(address);
          const isSaid = says === "not ready" || says === "gone";
          return state === "out" && published === "ready" && isSaid && !isAgreed && !isMeant;
        },
      );
      expect(onOneWord.length).toBeLessThanOrEqual(endpoints.filter(isRouted).length);
    }),
    runs,
  );
});

test("following the slices gives exactly what they list as ready", () => {
  fc.assert(
    fc.property(anyFacts, fc.boolean(), (words, isUnreachable) => {
      const followed = decide(
        { ...words, isUnreachable },
        { followSlices: true, unreachable: "drop" },
      );
      const active = followed.filter(({ state }) => state === "active");
      const ready = words.published.filter((one) => one.ready).map(({ address }) => address);
      expect(active.map(({ address }) => address)).toEqual([...new Set(ready)].sort());
      expect(followed.filter(({ state }) => state !== "active" && state !== "out")).toEqual([]);
    }),
    runs,
  );
});

/** Whether it gets its share, or requests for want of better ones, or nothing. */
const ranks: Readonly<Record<EndpointState, number>> = {
  out: 0,
  suspect: 1,
  draining: 1,
  held: 2,
  active: 2,
};

/** Each says one thing more against the pod of this number. */
const blows: Readonly<Record<string, (words: AnyFacts, number: number) => AnyFacts>> = {
  // The readiness in a stale watch counts only without a fresher source.
  "its kubelet says that it is not ready": (words, number) =>
    words.podWatch.state === "fresh"
      ? withPod(words, number, { ready: "False", containersReady: "False" })
      : words,
  "it terminates": (words, number) => withPod(words, number, { terminating: true }),
  "it ended": (words, number) => withPod(words, number, { phase: "Failed" }),
  "its deletion was seen": (words, number) => ({
    ...words,
    pods: words.pods.filter((one) => one.podIP !== `10.0.0.${number}`),
    lost: words.lost.filter((uid) => uid !== `uid-web-${number}`),
    gone: [...new Set([...words.gone, `uid-web-${number}`])],
  }),
  "the slices say that it is not ready": (words, number) => ({
    ...words,
    published: words.published.map((one) =>
      one.address === `10.0.0.${number}` ? { ...one, ready: false, serving: false } : one,
    ),
  }),
  "requests do not reach it": (words, number) => ({
    ...words,
    unreached: [...new Set([...words.unreached, number])],
  }),
  "it does not answer the probe": (words, number) => {
    const doubted = words.doubts.get(podPeer(number));
    if (doubted === undefined) return words;
    const doubts = new Map(words.doubts).set(podPeer(number), { ...doubted, answer: "silent" });
    return { ...words, doubts };
  },
  "its address passed to another pod": (words, number) => ({
    ...words,
    strangers: [...words.strangers, heirOf(number)],
  }),
};

function withPod(
  words: AnyFacts,
  number: number,
  fields: Parameters<typeof pod>[1] = {},
): AnyFacts {
  const { terminating, ...own } = fields;
  const pods = words.pods.map((one) => {
    if (one.podIP !== `10.0.0.${number}`) return one;
    const leaving = terminating === true ? { deletionTimestamp: 5_000 as WallMs } : {};
    return { ...one, ...own, metadata: { ...one.metadata, ...leaving } };
  });
  return { ...words, pods };
}

/** With two pods that always serve, so that no endpoint has to stand in. */
function besideOthers(words: AnyFacts): AnyFacts {
  const well = [pod(8), pod(7)];
  const isOther = ({ podIP }: { readonly podIP: string }) => !/\.[78]$/.test(podIP);
  return {
    ...words,
    pods: [...words.pods.filter(isOther), ...well],
    published: [
      ...words.published.filter(({ address }) => isOther({ podIP: address })),
      listed(7),
      listed(8),
    ],
    unreached: words.unreached.filter((number) => number < 7),
    gone: words.gone.filter((uid) => !/[78]$/.test(uid)),
    lost: words.lost.filter((uid) => !/[78]$/.test(uid)),
    strangers: words.strangers.filter(isOther),
    doubts: new Map([...words.doubts].filter(([key]) => !/-[78]$/.test(key))),
  };
}

test.each(Object.entries(blows))("an endpoint never gets more when %s", (_, blow) => {
  const number = fc.integer({ min: 1, max: 6 });
  fc.assert(
    fc.property(anyFacts, number, (any, chosen) => {
      const words = besideOthers(any);
      const rank = (facts: AnyFacts) => {
        const found = decide(facts).find(({ address }) => address === `10.0.0.${chosen}`);
        return found === undefined ? 0 : ranks[found.state];
      };
      expect(rank(blow(words, chosen))).toBeLessThanOrEqual(rank(words));
    }),
    runs,
  );
});

test("objects that make no sense are judged like any other", () => {
  const odd = fc.constantFrom("", "10.0.0.1", "fd00::1", "not an address", "__proto__");
  const port: fc.Arbitrary<PublishedPort> = fc.record({
    name: fc.constantFrom("http", "", "admin", "__proto__"),
    port: fc.constantFrom(undefined, 0, 8080, -1, Number.NaN),
    protocol: fc.constantFrom("TCP", "UDP", ""),
  });
  const oddities = fc.record({
    annotations: fc.dictionary(
      fc.constantFrom(
        "lockstep.dev/spread",
        "lockstep.dev/weight",
        "lockstep.dev/unreachable",
        "x",
      ),
      fc.string({ maxLength: 4 }),
    ),
    ipFamilies: fc.array(fc.constantFrom("IPv4", "IPv6", "IPv9"), { maxLength: 3 }),
    selector: fc.constantFrom(undefined, {}, { app: "web" }),
    ports: fc.array(port, { maxLength: 3 }),
    podIP: odd,
    address: odd,
    uid: fc.constantFrom("", "uid-web-1"),
  });
  fc.assert(
    fc.property(ownFacts, oddities, someNumbers, (words, strange, taken) => {
      const { annotations, ipFamilies, selector, ports, podIP, address, uid } = strange;
      const published = [
        listed(1, { address, ports, pod: { name: "web-1", uid } }),
        listed(2, { ports, pod: undefined }),
      ];
      const { endpoints } = truth(
        snapshot(
          inCluster({
            ...words,
            service: service({ annotations, ipFamilies, selector }),
            pods: [...words.pods, pod(1, { podIP, secondPodIP: address })],
            published: [...words.published, ...published],
            strangers: taken.map(heirOf),
          }),
        ),
        80,
        policy,
      );
      expect(endpoints.filter(({ reason, rule }) => reason === "" || rule === "")).toEqual([]);
    }),
    runs,
  );
});
