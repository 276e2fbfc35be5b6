import { describe, expect, test } from "vitest";
import { inCluster, listed, pod, service, snapshot } from "../../../tests/truth/service-facts.ts";
import type { ServiceSnapshot } from "../../model/service-snapshot.ts";
import { truth } from "./truth.ts";
import type { TruthPolicy } from "./truth-policy.ts";

interface Place {
  readonly annotations?: Readonly<Record<string, string>>;
  /** One pod each; those that are not ready are negative. */
  readonly pods?: readonly number[];
}

function inPlaces(places: Readonly<Record<string, Place>>): ServiceSnapshot {
  const clusters = Object.entries(places).map(([cluster, { annotations = {}, pods = [1] }]) =>
    inCluster({
      cluster,
      service: service({ annotations }),
      pods: pods.map((number) => pod(Math.abs(number), { ready: number > 0 ? "True" : "False" })),
      published: pods.filter((number) => number > 0).map((number) => listed(number)),
    }),
  );
  return { ...snapshot(...clusters), accessCluster: "east" };
}

/** Of each endpoint, cluster, last number, state, priority and weight. */
function rows(own: ServiceSnapshot, policy: Partial<TruthPolicy> = {}) {
  return truth(own, 80, { followSlices: false, ...policy }).endpoints.map(
    ({ cluster, address, state, priority = 0, weight = 1 }) =>
      `${cluster} ${address.slice(7)} ${state} ${priority} ×${Math.round(weight * 100) / 100}`,
  );
}

const spread = (value: string) => ({ "lockstep.dev/spread": value });
const weight = (value: string) => ({ "lockstep.dev/weight": value });

describe("a service of several clusters", () => {
  const both = { east: {}, west: {} };
  const localFirst = ["east 1 active 0 ×1", "west 1 active 1 ×1"];
  const even = ["east 1 active 0 ×1", "west 1 active 0 ×1"];
  const table: readonly (readonly [
    string,
    ServiceSnapshot,
    Partial<TruthPolicy>,
    readonly string[],
  ])[] = [
    ["is served where requests come in", inPlaces(both), {}, localFirst],
    ["is spread when that is configured", inPlaces(both), { spread: "even" }, even],
    [
      "is spread when no pods run where requests come in",
      { ...inPlaces(both), accessCluster: undefined },
      {},
      even,
    ],
    [
      "is spread when its own annotation asks",
      inPlaces({ east: { annotations: spread("even") }, west: {} }),
      {},
      even,
    ],
    [
      "goes by the annotation in the access cluster",
      inPlaces({
        east: { annotations: spread("even") },
        west: { annotations: spread("local-first") },
      }),
      {},
      even,
    ],
    [
      "goes by the annotation in the access cluster, whatever its name",
      {
        ...inPlaces({
          east: { annotations: spread("local-first") },
          west: { annotations: spread("even") },
        }),
        accessCluster: "west",
      },
      {},
      even,
    ],
    [
      "goes by the first annotation that can be read",
      inPlaces({ east: { annotations: spread("evn") }, west: { annotations: spread("even") } }),
      {},
      even,
    ],
    [
      "is shared by cluster when one asks for a share, whatever number of pods each has",
      inPlaces({ east: { pods: [1, 2, -3] }, west: { annotations: weight("25") } }),
      {},
      ["east 1 active 0 ×50", "east 2 active 0 ×50", "east 3 out 0 ×1", "west 1 active 0 ×25"],
    ],
    [
      "is not shared with clusters that only stand in",
      inPlaces({
        east: { annotations: weight("10") },
        north: { annotations: weight("0") },
        west: { annotations: weight("30") },
      }),
      {},
      ["east 1 active 0 ×10", "north 1 active 2 ×1", "west 1 active 0 ×30"],
    ],
    [
      "stays local first when a share and local-first are asked for",
      inPlaces({
        east: { annotations: spread("local-first") },
        west: { annotations: weight("30") },
      }),
      {},
      localFirst,
    ],
    [
      "stays local first when a cluster asks for no share",
      inPlaces({ east: {}, west: { annotations: weight("0") } }),
      {},
      ["east 1 active 0 ×1", "west 1 active 2 ×1"],
    ],
    [
      "is preferred nowhere when only one has it, though not where requests come in",
      inPlaces({ west: { annotations: weight("0") } }),
      {},
      ["west 1 active 0 ×1"],
    ],
  ];
  test.each(table)("%s", (_, own, policy, expected) => {
    expect(rows(own, policy)).toEqual(expected);
  });

  test("says which endpoints replace which when the local endpoints are all out", () => {
    const { endpoints } = truth(inPlaces({ east: { pods: [-1] }, west: {} }), 80, {
      followSlices: false,
    });
    expect(endpoints.map(({ cluster, reason }) => `${cluster}: ${reason}`)).toEqual([
      "east: its pod is not ready",
      "west: its pod is ready; it is used because no endpoint in east is available",
    ]);
  });

  test("a terminating pod of one cluster stands in when no cluster has better", () => {
    const own = snapshot(
      inCluster({ cluster: "east", pods: [pod(1, { terminating: true })] }),
      inCluster({
        cluster: "west",
        pods: [pod(1, { terminating: true }), pod(2, { ready: "False" })],
      }),
    );
    expect(rows({ ...own, accessCluster: "east" })).toEqual([
      "east 1 active 0 ×1",
      "west 1 active 1 ×1",
      "west 2 out 1 ×1",
    ]);
  });
});

test("annotations that cannot be read, or contradict each other, are reported", () => {
  const own = inPlaces({
    east: {
      annotations: { ...spread("local"), ...weight("1001"), "lockstep.dev/unreachable": "" },
    },
    north: { annotations: { ...spread("even"), ...weight("1.5") } },
    west: { annotations: { ...spread("local-first"), ...weight("-1") } },
  });
  expect(truth(own, 80, { followSlices: false }).problems).toEqual([
    'the service shop/web in east has lockstep.dev/spread: "local", which is not one of local-first, even',
    'the service shop/web in east has lockstep.dev/weight: "1001", which is not a whole number from 0 to 1000',
    'the service shop/web in north has lockstep.dev/weight: "1.5", which is not a whole number from 0 to 1000',
    'the service shop/web in west has lockstep.dev/weight: "-1", which is not a whole number from 0 to 1000',
    'the service shop/web in east has lockstep.dev/unreachable: "", which is not one of keep, drop, distrust',
    "the service shop/web has lockstep.dev/spread even in north, local-first in west; the first value is used",
  ]);
});
