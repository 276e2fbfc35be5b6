import { describe, expect, test } from "vitest";
import {
  inCluster,
  listed,
  pod,
  podPeer,
  service,
  snapshot,
} from "../../../tests/truth/service-facts.ts";
import type { UnlistedCluster } from "../../model/service-snapshot.ts";
import type { StandingDoubt } from "../../sources/probes.ts";
import { truth } from "./truth.ts";
import type { TruthPolicy } from "./truth-policy.ts";

const known = { cluster: "west", address: "10.0.0.1", port: 8080 };
const named = { ...known, podUid: "uid-web-1", podName: "web-1" };

const west: UnlistedCluster = {
  cluster: "west",
  isUnreachable: false,
  remembered: [named],
  doubts: new Map(),
  unreached: new Set(),
};

function decided(unlisted: UnlistedCluster, policy: Partial<TruthPolicy> = {}) {
  const own = { ...snapshot(), unlisted: [unlisted] };
  const {
    endpoints,
    probeRequests: doubts,
    problems,
  } = truth(own, 80, { followSlices: false, ...policy });
  const silent = "the cluster west has not answered yet: its last known endpoints stay in use";
  expect(problems).toEqual([silent]);
  return { endpoints, doubts };
}

const reason = "it served before the start, and its cluster has not answered since";
const row = {
  ...named,
  state: "active",
  reason,
  rule: "doubt a stale source",
  pod: "unknown",
  published: "absent",
};

test("the remembered endpoints of a cluster that is not listed yet serve", () => {
  expect(decided(west)).toEqual({ endpoints: [row], doubts: [] });
  expect(decided({ ...west, remembered: [known] }).endpoints).toEqual([
    { ...row, podUid: undefined, podName: undefined },
  ]);
});

test("it serves as well where the slices are followed, for they are not known", () => {
  expect(decided(west, { followSlices: true }).endpoints).toEqual([row]);
});

describe("requests that fail", () => {
  const unreached = new Set([podPeer(1)]);
  const doubt = { ...known, podUid: "uid-web-1", cause: "traffic" };

  test("put it in doubt", () => {
    expect(decided({ ...west, unreached })).toEqual({ endpoints: [row], doubts: [doubt] });
  });

  test("and a silent probe make a suspect of it, which serves when nothing is better", () => {
    const doubts = new Map([[podPeer(1), { cause: "traffic", answer: "silent" } as const]]);
    const why = `${reason}, but requests to it fail, and it does not answer probes`;
    const dead = { ...west, doubts };
    expect(decided({ ...dead, remembered: [named, { ...known, address: "10.0.0.2" }] })).toEqual({
      endpoints: [
        { ...row, state: "suspect", rule: "believe traffic", reason: why },
        { ...row, address: "10.0.0.2", podUid: undefined, podName: undefined },
      ],
      doubts: [doubt],
    });
    expect(decided(dead).endpoints.map(({ state, rule }) => [state, rule])).toEqual([
      ["active", "never empty"],
    ]);
  });
});

test("one that was leaving gets requests only when nothing better is left", () => {
  const leaving = { ...named, state: "draining" } as const;
  const why = "it was terminating before the start, and its cluster has not answered since";
  const other = { ...known, address: "10.0.0.2" };
  const [first] = decided({ ...west, remembered: [leaving, other] }).endpoints;
  expect(first).toEqual({ ...row, state: "draining", reason: why });
  expect(decided({ ...west, remembered: [leaving] })).toEqual({
    endpoints: [{ ...row, rule: "never empty", reason: `no better endpoint is left: ${why}` }],
    doubts: [],
  });
});

test("one that could not be reached is probed, and gets requests when it answers", () => {
  const lost = { ...named, state: "suspect" } as const;
  const remembered = [lost, { ...known, address: "10.0.0.2" }];
  const doubt = { ...known, podUid: "uid-web-1", cause: "traffic" };
  const states = (answer: StandingDoubt["answer"]) => {
    const doubts = new Map([[podPeer(1), { cause: "traffic", answer } as const]]);
    const { endpoints, doubts: probed } = decided({ ...west, remembered, doubts });
    expect(probed).toContainEqual(doubt);
    return endpoints.map(({ state, rule }) => `${state} by ${rule}`);
  };
  const fine = "active by doubt a stale source";
  expect(states("unknown")).toEqual(["suspect by believe traffic", fine]);
  expect(states("silent")).toEqual(["suspect by believe traffic", fine]);
  expect(states("answers")).toEqual([fine, fine]);
});

test("they come after a listed cluster, and are dropped when the silence has lasted", () => {
  const annotations = { "lockstep.dev/unreachable": "drop" };
  const east = inCluster({
    service: service({ annotations }),
    pods: [pod(1)],
    published: [listed(1)],
  });
  const states = (isUnreachable: boolean) => {
    const unlisted = [{ ...west, isUnreachable }];
    const own = { ...snapshot(east), accessCluster: "east", unlisted };
    return truth(own, 80, { followSlices: false }).endpoints.map(
      ({ cluster, state, priority = 0 }) => `${cluster} ${state} ${priority}`,
    );
  };
  expect(states(false)).toEqual(["east active 0", "west active 1"]);
  expect(states(true)).toEqual(["east active 0", "west out 1"]);
});
