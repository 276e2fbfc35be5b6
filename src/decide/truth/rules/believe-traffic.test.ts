import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  inCluster,
  listed,
  pod,
  podPeer,
  refusedWatch,
  service,
  snapshot,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";
import { truth } from "../truth.ts";

const policy = { followSlices: false };

/** One pod that this is about, beside one that is well. */
const both = { pods: [pod(1), pod(9)], published: [listed(1), listed(9)] };

function standing(cause: "flap" | "traffic", answer: "answers" | "silent" | "unknown") {
  return new Map([[podPeer(1), { cause, answer }]]);
}

/** The decision on the first endpoint, and the reason for its probe. */
function first(words: FactsInWords) {
  const { endpoints, probeRequests: doubts } = truth(snapshot(inCluster(words)), 80, policy);
  const { state, rule, reason } = endpoints[0] ?? {};
  return [`${state} (${rule}): ${reason}`, doubts.map(({ cause }) => cause)];
}

const active = "active (join at once): its pod is ready";
const dead = "but requests to it fail, and it does not answer probes";
const suspect = `suspect (believe traffic): its pod is ready, ${dead}`;

describe("an endpoint that requests did not reach", () => {
  const table: readonly (readonly [string, FactsInWords, string, readonly string[]])[] = [
    ["is probed, and serves meanwhile", { doubts: new Map(), unreached: [1] }, active, ["traffic"]],
    [
      "serves when a probe was answered, and is watched as long as requests fail",
      { doubts: standing("traffic", "answers"), unreached: [1] },
      active,
      ["traffic"],
    ],
    [
      "is suspect when no probe was answered",
      { doubts: standing("traffic", "silent"), unreached: [1] },
      suspect,
      ["traffic"],
    ],
    [
      "is still in doubt when the proxy has forgotten it before the first answer",
      { doubts: standing("traffic", "unknown") },
      active,
      ["traffic"],
    ],
    [
      "is still suspect when the proxy has forgotten it",
      { doubts: standing("traffic", "silent") },
      suspect,
      ["traffic"],
    ],
    [
      "is trusted again when a probe was answered and requests fail no more",
      { doubts: standing("traffic", "answers") },
      active,
      [],
    ],
    [
      "is trusted again when it was doubted for a flap that is over",
      { doubts: standing("flap", "silent") },
      active,
      [],
    ],
    ["is not doubted without probes", { unreached: [1] }, active, []],
  ];
  test.each(table)("%s", (_, words, decided, causes) => {
    expect(first({ ...both, ...words })).toEqual([decided, causes]);
  });

  const silent = { doubts: standing("traffic", "silent"), unreached: [1] };

  test.each([
    ["terminating", { terminating: true }, "draining (leave at once): its pod is terminating"],
    [
      "unready",
      { ready: "False", containersReady: "False" },
      "out (leave at once): its pod is not ready",
    ],
  ] as const)("is none of this rule's business when its pod is %s", (_, fields, decided) => {
    const words = { pods: [pod(1, fields), pod(9)], published: [listed(9)], ...silent };
    expect(first(words)).toEqual([decided, []]);
  });

  test("is out as soon as its node is given up, and is probed on for that", () => {
    const why = "the node controller marked its pod unready, but its containers are ready";
    expect(first({ ...both, pods: [pod(1, { ready: "False" }), pod(9)], ...silent })).toEqual([
      `out (hold through a flap): ${why}, and it does not answer probes`,
      ["flap"],
    ]);
  });

  test("is another endpoint once its address belongs to another pod", () => {
    const heir = pod(1, { metadata: { ...pod(1).metadata, uid: "uid-heir" } });
    expect(first({ pods: [heir, pod(9)], ...silent })).toEqual([
      "active (join at once): its pod is ready, but its EndpointSlice does not list it as ready yet",
      [],
    ]);
  });

  test.each([
    ["the pod watch is stale", { podWatch: staleWatch }, staleWatch.detail],
    [
      "there is no permission to watch pods",
      { podWatch: refusedWatch },
      "there is no permission to watch pods",
    ],
    [
      "the service has no selector",
      { service: service({ selector: undefined }) },
      "the service has no selector",
    ],
  ])("is suspect when %s and it is published as ready", (_, words, why) => {
    const [decided, causes] = first({ published: [listed(1), listed(9)], ...words, ...silent });
    expect(decided).toMatch(
      /^suspect \(believe traffic\): its EndpointSlice lists it as ready, and /,
    );
    expect(decided).toContain(`${why}, ${dead}`);
    expect(causes).toEqual(["traffic"]);
  });

  test("is out all the same when its EndpointSlice lists it as not ready", () => {
    const published = [listed(1, { ready: false }), listed(9)];
    expect(first({ podWatch: refusedWatch, published, ...silent })).toEqual([
      "out (follow the published endpoints): its EndpointSlice lists it as not ready",
      [],
    ]);
  });
});

describe("when nothing better is left", () => {
  const silent = { doubts: standing("traffic", "silent"), unreached: [1] };
  const states = (words: FactsInWords) =>
    truth(snapshot(inCluster(words)), 80, policy).endpoints.map(
      ({ address, state, reason }) => `${address} ${state}: ${reason}`,
    );

  test("a suspect serves", () => {
    expect(states({ pods: [pod(1)], published: [listed(1)], ...silent })).toEqual([
      `10.0.0.1 active: no better endpoint is left: its pod is ready, ${dead}`,
    ]);
  });

  test("a terminating pod that still answers serves before a suspect", () => {
    const pods = [pod(1), pod(2, { terminating: true })];
    expect(states({ pods, published: [listed(1)], ...silent })).toEqual([
      `10.0.0.1 suspect: its pod is ready, ${dead}`,
      "10.0.0.2 active: no better endpoint is left: its pod is terminating",
    ]);
  });
});
