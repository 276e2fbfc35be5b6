import { describe, expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { maxPublished, type SnapshotSource, snapshotService } from "./service-snapshot.ts";

const metadata = (name: string, fields: object = {}) => ({
  namespace: "shop",
  name,
  uid: `u-${name}`,
  resourceVersion: "1",
  ...fields,
});

const service = serviceKind.project({
  metadata: metadata("web"),
  spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
});

const slice = endpointSliceKind.project({
  metadata: metadata("web-x"),
  addressType: "IPv4",
  endpoints: [
    {
      addresses: ["10.0.0.1"],
      targetRef: { kind: "Pod", namespace: "shop", name: "web-1", uid: "u-web-1" },
    },
  ],
});

const sliceSeenAtMs = 100 as MonotonicMs;

function pod(uid: string, labels: object = { app: "web" }): Pod {
  return podKind.project({ metadata: metadata("web-1", { uid, labels }) });
}

interface SeenObjects {
  readonly pods?: readonly Pod[];
  readonly departed?: readonly string[];
  readonly currentAtMs?: number;
}

function sourceThat({ pods = [], departed = [], currentAtMs }: SeenObjects): SnapshotSource {
  const watch: WatchStatus = {
    state: "fresh",
    detail: "",
    currentAtMs: currentAtMs as MonotonicMs | undefined,
  };
  return {
    cluster: "east",
    service: () => service,
    pod: (_, name) => pods.find((one) => one.metadata.name === name),
    podsOf: () => pods.filter((one) => one.metadata.labels["app"] === "web"),
    departed: (uid) =>
      departed.includes(uid) ? { atMs: 50 as MonotonicMs, isWitnessed: true } : undefined,
    claimantsAt: (address, uid) => {
      const found = pods.filter((one) => one.podIP === address);
      return found.every(({ metadata: own }) => own.uid === uid) ? undefined : found;
    },
    isListed: true,
    isUnreachable: false,
    publishedOf: () => ({ form: "endpointslices", slices: [slice], endpoints: undefined }),
    seenAtMs: () => sliceSeenAtMs,
    watch: () => watch,
  };
}

/** The facts about the pod in the slice, from a source with these objects. */
function factsOf(pods: SeenObjects) {
  const [facts] = snapshotService([sourceThat(pods)], "shop", "web").clusters;
  return {
    pods: facts?.pods.pods.map(({ pod: one, selected }) => [one.metadata.uid, selected]),
    gone: [...(facts?.pods.gone ?? [])].map(([uid, { isWitnessed }]) => [uid, isWitnessed]),
  };
}

const table: readonly (readonly [string, SeenObjects, ReturnType<typeof factsOf>])[] = [
  ["is there", { pods: [pod("u-web-1")] }, { pods: [["u-web-1", true]], gone: [] }],
  [
    "is there and no longer selected",
    { pods: [pod("u-web-1", { app: "other" })] },
    { pods: [["u-web-1", false]], gone: [] },
  ],
  [
    "is gone when its name has passed to a successor",
    { pods: [pod("u-next")] },
    { pods: [["u-next", true]], gone: [["u-web-1", true]] },
  ],
  [
    "is gone when it was seen to go",
    { departed: ["u-web-1"] },
    { pods: [], gone: [["u-web-1", true]] },
  ],
  [
    "is gone on the word of a list when the watch has since proved to be complete without it",
    { currentAtMs: 100 },
    { pods: [], gone: [["u-web-1", false]] },
  ],
  [
    "is not known to be gone when the watch may be behind the slice",
    { currentAtMs: 99 },
    { pods: [], gone: [] },
  ],
  ["is not known to be gone when the watch has proved nothing", {}, { pods: [], gone: [] }],
];

test.each(table)("the pod that a slice names %s", (_, pods, expected) => {
  expect(factsOf(pods)).toEqual(expected);
});

test("pods at an address are named where they are more or other than the one expected", () => {
  const at = (uid: string, address: string, labels: object = { app: "web" }) =>
    podKind.project({ metadata: metadata(uid, { uid, labels }), status: { podIP: address } });
  const own = at("u-web-1", "10.0.0.2");
  const alone = at("u-web-2", "10.0.0.3");
  const heir = at("u-shop", "10.0.0.1", { app: "shop" });
  const [facts] = snapshotService(
    [sourceThat({ pods: [own, alone, heir] })],
    "shop",
    "web",
  ).clusters;
  expect(facts?.pods.addressClaimants).toEqual(new Map([["10.0.0.1", [heir]]]));
});

describe("a service with more endpoints than are looked at", () => {
  const crowd = (name: string, bornS: number) =>
    endpointSliceKind.project({
      metadata: metadata(name, { creationTimestamp: `2026-01-01T00:00:0${bornS}Z` }),
      addressType: "IPv4",
      endpoints: Array.from({ length: maxPublished - 1 }, () => ({ addresses: ["10.0.0.1"] })),
    });
  const [young, old] = [crowd("a", 2), crowd("b", 1)];
  const source: SnapshotSource = {
    ...sourceThat({ pods: [pod("u-web-1")] }),
    publishedOf: () => ({ form: "endpointslices", slices: [young, old], endpoints: undefined }),
  };

  test("has those of its oldest slices", () => {
    const [facts] = snapshotService([source], "shop", "web").clusters;
    const objects = facts?.published.endpoints.map(({ object }) => object) ?? [];
    expect([objects.length, facts?.published.isCut]).toEqual([maxPublished, true]);
    expect(objects.filter((one) => one === "endpointslices/a")).toHaveLength(1);
  });

  test("has none if they are not needed", () => {
    const context = { isAsked: () => false };
    const [facts] = snapshotService([source], "shop", "web", context).clusters;
    expect([facts?.published.endpoints, facts?.pods.pods]).toEqual([[], []]);
  });
});

describe("what is remembered", () => {
  const east = { cluster: "east", address: "10.0.0.9", port: 8080 };
  const west = { cluster: "west", address: "10.8.0.9", port: 8080 };
  const silent: SnapshotSource = { ...sourceThat({}), isListed: false, isUnreachable: true };
  const clustersOf = (source: SnapshotSource, remembered = [east, west]) => {
    const { clusters, unlisted } = snapshotService([source], "shop", "web", { remembered });
    return [clusters.map(({ cluster }) => cluster), unlisted];
  };

  test("counts for a cluster that is not listed yet, and then nothing else does", () => {
    const rest = { doubts: undefined, unreached: new Set() };
    expect(clustersOf(silent)).toEqual([
      [],
      [{ cluster: "east", isUnreachable: true, remembered: [east], ...rest }],
    ]);
  });

  test("is forgotten when the cluster is listed, or nothing is known of it", () => {
    expect(clustersOf(sourceThat({}))).toEqual([["east"], undefined]);
    expect(clustersOf(silent, [west])).toEqual([["east"], undefined]);
  });
});

test("a cluster that is not listed is silent about a service it does not show", () => {
  const unknown: SnapshotSource = { ...sourceThat({}), service: () => undefined };
  const silentOf = (isListed: boolean) =>
    snapshotService([{ ...unknown, isListed }], "shop", "web").silent;
  expect(silentOf(false)).toEqual(["east"]);
  expect(silentOf(true)).toBeUndefined();
});

test("the access cluster is named only where endpoints are taken from it", () => {
  const named = ["east", "edge"].map(
    (accessCluster) =>
      snapshotService([sourceThat({})], "shop", "web", { accessCluster }).accessCluster,
  );
  expect(named).toEqual(["east", undefined]);
});
