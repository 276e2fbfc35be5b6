import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  inCluster,
  listed,
  metadata,
  pod,
  podPeer,
  seenAtMs,
  snapshot,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { EndpointId } from "../../../sources/endpoint-id.ts";
import type { StandingDoubt } from "../../../sources/probes.ts";
import { truth } from "../truth.ts";
import { togetherMs } from "./no-mass-removal.ts";

const policy = { followSlices: false };
const unready = { ready: "False", containersReady: "False" } as const;

type Doubts = ReadonlyMap<EndpointId, StandingDoubt>;

function answered(answers: Readonly<Record<number, Partial<StandingDoubt>>>): Doubts {
  return new Map(
    Object.entries(answers).map(([number, one]) => [
      podPeer(Number(number)),
      { cause: "mass", answer: "unknown", ...one },
    ]),
  );
}

/** Each endpoint's last number, state and rule, and who is to be probed for this rule. */
function decided(words: FactsInWords) {
  const { endpoints, probeRequests: doubts } = truth(
    snapshot(inCluster({ doubts: new Map(), ...words })),
    80,
    policy,
  );
  return [
    endpoints.map(({ address, state, rule }) => `${address.slice(7)} ${state} (${rule})`),
    doubts.filter(({ cause }) => cause === "mass").map(({ address }) => address.slice(7)),
  ];
}

const rule = "(no mass removal on one witness)";
const standIn = "active (never empty)";
const active = "active (join at once)";
const left = "out (leave at once)";
const three = [listed(1), listed(2), listed(3)];
const two = [pod(1, unready), pod(2, unready), pod(3)];

describe("when the pod watch alone says that most endpoints have left", () => {
  const table: readonly (readonly [string, FactsInWords, readonly (readonly string[])[]])[] = [
    [
      "they are probed, and get requests only if nothing better is left",
      { pods: two, published: three },
      [
        [`1 suspect ${rule}`, `2 suspect ${rule}`, `3 ${active}`],
        ["1", "2"],
      ],
    ],
    [
      "all of them serve when all of them left, until a probe says more",
      { pods: [pod(1, unready), pod(2, unready)], published: [listed(1), listed(2)] },
      [
        [`1 ${standIn}`, `2 ${standIn}`],
        ["1", "2"],
      ],
    ],
    [
      "those that answer are held and the others are out",
      {
        pods: two,
        published: three,
        doubts: answered({ 1: { answer: "answers" }, 2: { answer: "silent" } }),
      },
      [
        [`1 held ${rule}`, `2 out ${rule}`, `3 ${active}`],
        ["1", "2"],
      ],
    ],
    [
      "pods that a list came without are held like those that are not ready",
      {
        lost: ["uid-web-1", "uid-web-2"],
        pods: [pod(3)],
        published: three,
        doubts: answered({ 1: { answer: "answers" } }),
      },
      [
        [`1 held ${rule}`, `2 suspect ${rule}`, `3 ${active}`],
        ["1", "2"],
      ],
    ],
    [
      "one that is all there is counts as most",
      {
        lost: ["uid-web-1"],
        published: [listed(1)],
        doubts: answered({ 1: { answer: "answers" } }),
      },
      [[`1 held ${rule}`], ["1"]],
    ],
    [
      "they are believed when they have been held for long, and are watched on",
      {
        pods: two,
        published: three,
        doubts: answered({ 1: { answer: "answers", isOld: true }, 2: { isOld: true } }),
      },
      [
        [`1 out ${rule}`, `2 out ${rule}`, `3 ${active}`],
        ["1", "2"],
      ],
    ],
    [
      "a doubt that is old for another reason does not count",
      {
        pods: two,
        published: three,
        doubts: answered({ 1: { cause: "traffic", answer: "answers", isOld: true } }),
      },
      [
        [`1 held ${rule}`, `2 suspect ${rule}`, `3 ${active}`],
        ["1", "2"],
      ],
    ],
    [
      "they are held on when the pod watch goes stale with the slices",
      {
        pods: two,
        published: three,
        podWatch: { ...staleWatch, currentAtMs: seenAtMs },
        publishedWatch: staleWatch,
        doubts: answered({ 1: { answer: "answers" }, 2: { answer: "answers" } }),
      },
      [
        [`1 held ${rule}`, `2 held ${rule}`, "3 active (doubt a stale source)"],
        ["1", "2"],
      ],
    ],
  ];
  test.each(table)("%s", (_, words, expected) => {
    expect(decided(words)).toEqual(expected);
  });
});

describe("endpoints leave at once", () => {
  const table: readonly (readonly [string, FactsInWords, readonly string[]])[] = [
    [
      "when as many stay",
      { pods: [pod(1, unready), pod(2)], published: [listed(1), listed(2)] },
      [`1 ${left}`, `2 ${active}`],
    ],
    [
      "when their successors serve already, though no slice names these",
      {
        lost: ["uid-web-1", "uid-web-2"],
        pods: [pod(3), pod(4)],
        published: [listed(1), listed(2)],
      },
      [`1 ${left}`, `2 ${left}`, `3 ${active}`, `4 ${active}`],
    ],
    [
      "when the slices agree about enough of them",
      { pods: two, published: [listed(1, { ready: false }), listed(2), listed(3)] },
      [`1 ${left}`, `2 ${left}`, `3 ${active}`],
    ],
    [
      "when their deletion was seen",
      { gone: ["uid-web-1", "uid-web-2"], pods: [pod(3)], published: three },
      [`1 ${left}`, `2 ${left}`, `3 ${active}`],
    ],
    [
      "when they terminate, ready or not",
      {
        pods: [pod(1, { terminating: true }), pod(2, { terminating: true, ...unready }), pod(3)],
        published: three,
      },
      ["1 draining (leave at once)", `2 ${left}`, `3 ${active}`],
    ],
    [
      "when they ended, or the selector was moved to others",
      {
        pods: [
          pod(1, { phase: "Failed" }),
          pod(2, { metadata: metadata("web-2", { labels: { app: "blue" } }) }),
          pod(3),
        ],
        published: three,
      },
      [`1 ${left}`, `2 ${left}`, `3 ${active}`],
    ],
    [
      "where there are no probes",
      { pods: two, published: three, doubts: undefined },
      [`1 ${left}`, `2 ${left}`, `3 ${active}`],
    ],
  ];
  test.each(table)("%s", (_, words, expected) => {
    expect(decided(words)).toEqual([expected, []]);
  });
});

describe("what leaves one after the other", () => {
  /** The first two pods became unready at different times. */
  function at(times: readonly number[], doubts: Doubts = new Map()) {
    const facts = inCluster({ pods: two, published: three, doubts });
    const pods = facts.pods.pods.map((one, index) => ({
      ...one,
      seenAtMs: (times[index] ?? 0) as MonotonicMs,
    }));
    const own = snapshot({ ...facts, pods: { ...facts.pods, pods } });
    return truth(own, 80, policy).endpoints.map(({ state }) => state);
  }

  test("is no mass, unless it leaves within seconds", () => {
    expect(at([0, togetherMs])).toEqual(["suspect", "suspect", "active"]);
    expect(at([0, togetherMs + 1])).toEqual(["out", "out", "active"]);
  });

  test("joins what is held already", () => {
    const held = answered({ 1: { answer: "answers" } });
    expect(at([0, 60_000], held)).toEqual(["held", "suspect", "active"]);
  });
});

test("the reason says what is missing", () => {
  const doubts = answered({ 1: { answer: "answers" }, 2: { answer: "silent" } });
  const four = {
    pods: [...two.slice(0, 2), pod(4, unready)],
    published: [listed(1), listed(2), listed(4)],
  };
  const { endpoints } = truth(snapshot(inCluster({ ...four, doubts })), 80, policy);
  const why = "its pod is not ready, but its EndpointSlice still lists it as ready";
  const alone = "most endpoints disappeared at once, and only the pod watch reports it";
  expect(endpoints.map(({ reason }) => reason)).toEqual([
    `${why}; ${alone}; it answers probes`,
    `${why}; it does not answer probes`,
    `${why}; ${alone}; it is being probed`,
  ]);
});
