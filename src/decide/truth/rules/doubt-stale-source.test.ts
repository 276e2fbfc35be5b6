import { describe, expect, test } from "vitest";
import {
  type FactsInWords,
  freshWatch,
  inCluster,
  listed,
  metadata,
  pod,
  podPeer,
  refusedWatch,
  rowsOf,
  service,
  snapshot,
  staleWatch,
} from "../../../../tests/truth/service-facts.ts";
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { WatchStatus } from "../../../sources/watch-status.ts";
import { truth } from "../truth.ts";

const detail = staleWatch.detail;
const provedAt = (ms: number): WatchStatus => ({ ...staleWatch, currentAtMs: ms as MonotonicMs });

const allStale = { podWatch: provedAt(1_000), publishedWatch: provedAt(1_000) };

describe("when neither pods nor slices are fresh, what was last known counts", () => {
  const last = (state: string, reason: string) =>
    `10.0.0.1:8080 ${state} (doubt a stale source): ${reason}`;
  const followed =
    "10.0.0.1:8080 active (follow the published endpoints): its EndpointSlice lists it as " +
    `ready, and the pod watch is stale: ${detail}`;
  const table: readonly (readonly [string, FactsInWords, string])[] = [
    [
      "a pod that was ready serves, though no EndpointSlice lists it",
      { pods: [pod(1)], published: [] },
      last("active", `its pod was ready, as last known: ${detail}`),
    ],
    [
      "a pod that was not ready is out, though a slice still lists it",
      { pods: [pod(1, { ready: "False" })] },
      last(
        "out",
        "its pod is not ready, but its EndpointSlice still lists it as ready, as last " +
          `known: ${detail}`,
      ),
    ],
    [
      "a pod that was selected no more is out",
      { pods: [pod(1, { metadata: metadata("web-1", { labels: { app: "old" } }) })] },
      last(
        "out",
        "its pod no longer matches the selector, but its EndpointSlice still lists it as " +
          `ready, as last known: ${detail}`,
      ),
    ],
    [
      "a service that takes pods which are not ready has them",
      { service: service({ publishNotReadyAddresses: true }), pods: [pod(1, { ready: "False" })] },
      last("active", `the service accepts pods that are not ready, as last known: ${detail}`),
    ],
    [
      "pods count when the slices were proved current only a little later",
      { pods: [pod(1, { ready: "False" })], publishedWatch: provedAt(31_000) },
      last(
        "out",
        "its pod is not ready, but its EndpointSlice still lists it as ready, as last " +
          `known: ${detail}`,
      ),
    ],
    [
      "pods count when the slices have never been proved current",
      { pods: [pod(1, { ready: "False" })], publishedWatch: staleWatch },
      last(
        "out",
        "its pod is not ready, but its EndpointSlice still lists it as ready, as last " +
          `known: ${detail}`,
      ),
    ],
    [
      "slices count when they were proved current much later",
      { pods: [pod(1, { ready: "False" })], publishedWatch: provedAt(31_001) },
      followed,
    ],
    [
      "slices count when they are fresh",
      { pods: [pod(1, { ready: "False" })], publishedWatch: freshWatch },
      followed,
    ],
    ["slices count when the pods were never listed", { pods: [], podWatch: staleWatch }, followed],
    ["slices count for a pod that the pod watch has not seen", { pods: [] }, followed],
  ];
  test.each(table)("%s", (_, words, row) => {
    expect(rowsOf({ published: [listed(1)], ...allStale, ...words })).toEqual([row]);
  });

  test("requests that fail and a silent probe make a suspect of it", () => {
    const doubts = new Map([[podPeer(1), { cause: "traffic", answer: "silent" } as const]]);
    const words = { pods: [pod(1), pod(9)], published: [], ...allStale, doubts, unreached: [1] };
    expect(rowsOf(words)[0]).toBe(
      "10.0.0.1:8080 suspect (believe traffic): its pod was ready, as last known: " +
        `${detail}, but requests to it fail, and it does not answer probes`,
    );
  });
});

describe("when neither is fresh, a ready pod that no slice names is probed, and", () => {
  const words: FactsInWords = { pods: [pod(1), pod(9)], published: [listed(9)], ...allStale };
  const why = `its pod was ready, as last known: ${detail}`;
  const table = [
    ["serves until the first answer", "unknown", `active (doubt a stale source): ${why}`],
    ["serves while it answers", "answers", `active (doubt a stale source): ${why}`],
    [
      "stands in when it does not answer",
      "silent",
      `suspect (doubt a stale source): ${why}; but no EndpointSlice lists it, and it does ` +
        "not answer probes",
    ],
  ] as const;
  test.each(table)("%s", (_, answer, row) => {
    const doubts = new Map([[podPeer(1), { cause: "unpublished", answer } as const]]);
    const decided = truth(snapshot(inCluster({ ...words, doubts })), 80, { followSlices: false });
    expect(rowsOf({ ...words, doubts })).toEqual([
      `10.0.0.1:8080 ${row}`,
      `10.0.0.9:8080 active (doubt a stale source): ${why}`,
    ]);
    expect(decided.probeRequests.map(({ cause, address }) => [cause, address])).toEqual([
      ["unpublished", "10.0.0.1"],
    ]);
  });
});

describe("when slices are fresher than pods, a ready pod that no slice names", () => {
  const words: FactsInWords = {
    podWatch: staleWatch,
    pods: [pod(1)],
    published: [listed(9)],
  };
  const why = `no EndpointSlice lists it, and its pod was ready when last seen: ${detail}`;
  const answered = (answer: "answers" | "silent" | "unknown") =>
    new Map([[podPeer(1), { cause: "unpublished", answer } as const]]);
  const table = [
    [
      "is probed, and stands in meanwhile",
      new Map(),
      `suspect (doubt a stale source): ${why}; it is being probed`,
    ],
    [
      "stands in while it answers",
      answered("answers"),
      `suspect (doubt a stale source): ${why}; it answers probes`,
    ],
    [
      "is out when it does not answer",
      answered("silent"),
      `out (doubt a stale source): ${why}; it does not answer probes`,
    ],
  ] as const;
  test.each(table)("%s", (_, doubts, row) => {
    const decided = truth(snapshot(inCluster({ ...words, doubts })), 80, { followSlices: false });
    expect(rowsOf({ ...words, doubts })[0]).toBe(`10.0.0.1:8080 ${row}`);
    expect(decided.probeRequests.map(({ cause, address }) => [cause, address])).toEqual([
      ["unpublished", "10.0.0.1"],
    ]);
  });

  test("is probed as well when a slice does name it, as not ready: that may be the older word", () => {
    const published = [listed(1, { ready: false }), listed(9)];
    expect(rowsOf({ ...words, published, doubts: new Map() })[0]).toBe(
      "10.0.0.1:8080 suspect (doubt a stale source): its EndpointSlice lists it as not ready, and its pod was " +
        `ready when last seen: ${detail}; it is being probed`,
    );
  });

  test("is left to the slices when they call it terminating", () => {
    const published = [listed(1, { ready: false, serving: true, terminating: true }), listed(9)];
    expect(rowsOf({ ...words, published, doubts: new Map() })[0]).toMatch(
      /^10.0.0.1:8080 draining \(follow the published/,
    );
  });

  test("serves when nothing better is left", () => {
    expect(rowsOf({ ...words, published: [], doubts: new Map() })).toEqual([
      `10.0.0.1:8080 active (never empty): no better endpoint is left: ${why}; it is being ` +
        "probed",
    ]);
  });

  test("serves as well when the slices were only the later word, and are out of date themselves", () => {
    const stale = { podWatch: provedAt(1_000), publishedWatch: provedAt(99_000) };
    expect(rowsOf({ ...words, ...stale, published: [], doubts: new Map() })).toEqual([
      `10.0.0.1:8080 active (never empty): no better endpoint is left: ${why}; it is being ` +
        "probed",
    ]);
  });

  test.each([
    ["there are no probes", { doubts: undefined }],
    ["there is no permission to watch pods", { podWatch: refusedWatch, doubts: new Map() }],
  ])("is out when %s", (_, fields) => {
    expect(rowsOf({ ...words, ...fields })[0]).toMatch(/^10.0.0.1:8080 out \(follow the published/);
  });
});
