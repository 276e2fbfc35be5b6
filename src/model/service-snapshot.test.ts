import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import type { WatchStatus } from "../sources/watch-status.ts";
import { type SnapshotSource, snapshotService } from "./service-snapshot.ts";

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

interface Heard {
  readonly pods?: readonly Pod[];
  readonly departed?: readonly string[];
  readonly currentAtMs?: number;
}

/** What a source that heard this says of the pod that the slice names. */
function factsOf({ pods = [], departed = [], currentAtMs }: Heard) {
  const watch: WatchStatus = {
    state: "fresh",
    detail: "",
    currentAtMs: currentAtMs as MonotonicMs | undefined,
  };
  const source: SnapshotSource = {
    cluster: "east",
    service: () => service,
    pod: (_, name) => pods.find((one) => one.metadata.name === name),
    podsOf: () => pods.filter((one) => one.metadata.labels["app"] === "web"),
    departedAt: (uid) => (departed.includes(uid) ? (50 as MonotonicMs) : undefined),
    publishedOf: () => ({ form: "endpointslices", slices: [slice], endpoints: undefined }),
    seenAtMs: () => sliceSeenAtMs,
    watch: () => watch,
  };
  const [facts] = snapshotService([source], "shop", "web").clusters;
  return {
    pods: facts?.pods.pods.map(({ pod: one, selected }) => [one.metadata.uid, selected]),
    gone: [...(facts?.pods.gone ?? [])],
  };
}

const table: readonly (readonly [string, Heard, ReturnType<typeof factsOf>])[] = [
  ["is there", { pods: [pod("u-web-1")] }, { pods: [["u-web-1", true]], gone: [] }],
  [
    "is there and no longer selected",
    { pods: [pod("u-web-1", { app: "other" })] },
    { pods: [["u-web-1", false]], gone: [] },
  ],
  [
    "is gone when its name has passed to a successor",
    { pods: [pod("u-next")] },
    { pods: [["u-next", true]], gone: ["u-web-1"] },
  ],
  ["is gone when it was seen to go", { departed: ["u-web-1"] }, { pods: [], gone: ["u-web-1"] }],
  [
    "is gone when the watch has since proved to be complete without it",
    { currentAtMs: 100 },
    { pods: [], gone: ["u-web-1"] },
  ],
  [
    "is not known to be gone when the watch may be behind the slice",
    { currentAtMs: 99 },
    { pods: [], gone: [] },
  ],
  ["is not known to be gone when the watch has proved nothing", {}, { pods: [], gone: [] }],
];

test.each(table)("the pod that a slice names %s", (_, heard, expected) => {
  expect(factsOf(heard)).toEqual(expected);
});
