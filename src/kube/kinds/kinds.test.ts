// Each projection on one object as a server sends it, and on odd ones.
import { describe, expect, test } from "vitest";
import { endpointSliceKind, managedByOf, serviceNameOf } from "./endpoint-slice.ts";
import { endpointsKind } from "./endpoints.ts";
import { MalformedObjectError } from "./fields.ts";
import { collectionPath, objectKey, objectPath, splitObjectKey } from "./kind.ts";
import { leaseKind } from "./lease.ts";
import { nodeKind } from "./node.ts";
import { podIPs, podKind } from "./pod.ts";
import { isHeadless, serviceKind } from "./service.ts";

const raw = {
  name: "web",
  namespace: "shop",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: "2026-01-01T00:00:00Z",
  labels: { app: "web" },
};

const metadata = {
  namespace: "shop",
  name: "web",
  uid: "u1",
  resourceVersion: "7",
  creationTimestamp: Date.UTC(2026, 0, 1),
  deletionTimestamp: undefined,
  deletionGracePeriodSeconds: undefined,
  labels: { app: "web" },
};

const minute = (minutes: number) => `2026-01-01T00:0${minutes}:00Z`;
const rawPod = {
  metadata: {
    ...raw,
    deletionTimestamp: minute(5),
    deletionGracePeriodSeconds: 30,
    annotations: { ignored: "yes" },
  },
  spec: {
    nodeName: "n1",
    hostname: "web-0",
    subdomain: "web",
    restartPolicy: "Always",
    containers: [
      { name: "side", ports: null },
      {
        name: "main",
        ports: [{ containerPort: 8080, name: "http" }],
        readinessProbe: {
          httpGet: { path: "/ready", port: "http", scheme: "HTTPS" },
          timeoutSeconds: 3,
        },
      },
    ],
  },
  status: {
    phase: "Running",
    podIP: "10.0.0.1",
    podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }],
    conditions: [
      { type: "Ready", status: "False", lastTransitionTime: minute(1) },
      { type: "ContainersReady", status: "True", lastTransitionTime: minute(2) },
    ],
  },
};

test("a pod", () => {
  const pod = podKind.project(rawPod);
  expect(pod).toEqual({
    metadata: {
      ...metadata,
      deletionTimestamp: Date.parse(minute(5)),
      deletionGracePeriodSeconds: 30,
    },
    nodeName: "n1",
    hostNetwork: false,
    phase: "Running",
    podIP: "10.0.0.1",
    secondPodIP: "fd00::1",
    hostname: "web-0",
    subdomain: "web",
    restartPolicy: "Always",
    ready: "False",
    readyTransitionTime: Date.parse(minute(1)),
    containersReady: "True",
    containersReadyTransitionTime: Date.parse(minute(2)),
    hasReadinessGates: false,
    ports: [{ name: "http", containerPort: 8080, protocol: "TCP" }],
    readinessProbe: {
      type: "httpGet",
      port: "http",
      path: "/ready",
      scheme: "HTTPS",
      isDressed: false,
      timeoutSeconds: 3,
    },
  });
  expect(podIPs(pod)).toEqual(["10.0.0.1", "fd00::1"]);
});

test.each([
  [{ httpGet: { port: 80, httpHeaders: [{ name: "Host", value: "shop.example" }] } }, true],
  [{ httpGet: { port: 80, host: "10.9.9.9" } }, true],
  [{ httpGet: { port: 80, host: "", httpHeaders: [] } }, false],
  [{ exec: { command: ["true"] } }, false],
])("whether a readiness probe asks with more than a path: %j", (readinessProbe, isDressed) => {
  const spec = { containers: [{ name: "main", readinessProbe }] };
  expect(podKind.project({ metadata: raw, spec }).readinessProbe?.isDressed).toBe(isDressed);
});

test("a pod that has only just been created, from a server that knows one address", () => {
  const pod = podKind.project({ metadata: { ...raw, labels: null } });
  const addressed = podKind.project({ metadata: raw, status: { podIP: "10.0.0.9" } });
  expect(pod).toEqual({
    metadata: { ...metadata, labels: {} },
    nodeName: "",
    hostNetwork: false,
    phase: "",
    podIP: "",
    secondPodIP: undefined,
    hostname: undefined,
    subdomain: undefined,
    restartPolicy: "",
    ready: undefined,
    readyTransitionTime: undefined,
    containersReady: undefined,
    containersReadyTransitionTime: undefined,
    hasReadinessGates: false,
    ports: [],
    readinessProbe: undefined,
  });
  expect([podIPs(pod), podIPs(addressed)]).toEqual([[], ["10.0.0.9"]]);
});

test.each([
  ["none is known", [], undefined],
  ["all are ready", [{ ready: true }, { ready: true }], "True"],
  ["one is not", [{ ready: true }, { ready: false }], "False"],
] as const)(
  "before 1.11 the containers say whether they are ready: %s",
  (_, statuses, expected) => {
    const status = { containerStatuses: statuses };
    expect(podKind.project({ metadata: raw, status }).containersReady).toBe(expected);
  },
);

test("a pod's containers end when the last of them does", () => {
  const ended = (minutes: number) => ({
    ready: false,
    state: { terminated: { exitCode: 0, finishedAt: minute(minutes) } },
  });
  const containerStatuses = [ended(1), ended(3), { ready: true, state: { running: {} } }];
  const pod = podKind.project({ metadata: raw, status: { containerStatuses } });
  expect(pod.finishedAt).toBe(Date.parse(minute(3)));
});

test("a pod may hang on readiness gates", () => {
  const spec = { readinessGates: [{ conditionType: "example.com/ok" }] };
  expect(podKind.project({ metadata: raw, spec }).hasReadinessGates).toBe(true);
});

test("equal labels, ports and probes are kept once", () => {
  const [first, second] = [podKind.project(rawPod), podKind.project(structuredClone(rawPod))];
  const third = podKind.project(structuredClone(rawPod), first);
  for (const other of [second, third]) {
    expect(other.metadata.labels).toBe(first.metadata.labels);
    expect(other.ports).toBe(first.ports);
    expect(other.readinessProbe).toBe(first.readinessProbe);
  }
});

test("what is similar but not equal is not taken for it", () => {
  const labels = [{ app: "web" }, { app: "web", tier: "a" }, { tier: "a" }, { app: "api" }];
  let similar = podKind.project(rawPod);
  for (const wanted of [...labels, ...labels]) {
    similar = podKind.project({ metadata: { ...raw, labels: wanted } }, similar);
    expect(similar.metadata.labels).toEqual(wanted);
  }
});

describe("a new version of published endpoints", () => {
  const changes: readonly object[] = [
    {},
    { addresses: ["10.0.0.9"], ip: "10.0.0.9" },
    { addresses: ["10.0.0.1", "10.0.0.9"] },
    { conditions: { ready: false, serving: true, terminating: true } },
    { conditions: { ready: true, serving: false } },
    { hostname: "h" },
    { nodeName: "n2" },
    { zone: "z" },
    { targetRef: { kind: "Pod", namespace: "shop", name: "web-0", uid: "other" } },
    { targetRef: { kind: "Pod", namespace: "shop", name: "other", uid: "u" } },
    { targetRef: { kind: "Pod", namespace: "other", name: "web-0", uid: "u" } },
    { targetRef: { kind: "Node", namespace: "shop", name: "web-0", uid: "u" } },
    { targetRef: null },
  ];
  const own = {
    addresses: ["10.0.0.1"],
    ip: "10.0.0.1",
    conditions: { ready: true },
    targetRef: { kind: "Pod", namespace: "shop", name: "web-0", uid: "u" },
  };
  const other = { addresses: ["10.0.0.2"], ip: "10.0.0.2" };

  test.each(changes)("shares what has not changed and nothing else: %j", (change) => {
    const slice = (one: object) => ({ metadata: raw, endpoints: [other, { ...own, ...one }] });
    const before = endpointSliceKind.project(slice({}));
    const after = endpointSliceKind.project(slice(change), before);
    expect(after).toEqual(endpointSliceKind.project(slice(change)));
    expect(after.endpoints[0]).toBe(before.endpoints[0]);

    const listed = (one: object) => ({
      metadata: raw,
      subsets: [{ addresses: [other, { ...own, ...one }], notReadyAddresses: [own] }],
    });
    const older = endpointsKind.project(listed({}));
    const newer = endpointsKind.project(listed(change), older);
    expect(newer).toEqual(endpointsKind.project(listed(change)));
    expect(newer.subsets[0]?.notReadyAddresses).toBe(older.subsets[0]?.notReadyAddresses);
  });
});

test("a service", () => {
  const service = serviceKind.project({
    metadata: { ...raw, annotations: { a: "b" } },
    spec: {
      clusterIP: "None",
      clusterIPs: ["None"],
      ipFamilies: ["IPv4"],
      selector: { app: "web" },
      ports: [
        { port: 80, targetPort: "http", name: "http" },
        { port: 81, targetPort: 0 },
      ],
      publishNotReadyAddresses: true,
    },
  });
  expect(service).toEqual({
    metadata,
    annotations: { a: "b" },
    type: "ClusterIP",
    clusterIP: "None",
    clusterIPs: ["None"],
    ipFamilies: ["IPv4"],
    externalName: undefined,
    selector: { app: "web" },
    ports: [
      { name: "http", port: 80, protocol: "TCP", targetPort: "http", appProtocol: undefined },
      { name: "", port: 81, protocol: "TCP", targetPort: 81, appProtocol: undefined },
    ],
    publishNotReadyAddresses: true,
    sessionAffinity: "None",
  });
  const external = serviceKind.project({ metadata: raw, spec: { clusterIP: "10.96.0.1" } });
  const spread = serviceKind.project({
    metadata: raw,
    spec: {
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      ipFamilyPolicy: "PreferDualStack",
      internalTrafficPolicy: "Local",
      trafficDistribution: "PreferClose",
    },
  });
  expect(spread.traffic).toEqual({
    affinityTimeoutSeconds: 60,
    ipFamilyPolicy: "PreferDualStack",
    internalTrafficPolicy: "Local",
    trafficDistribution: "PreferClose",
  });
  const usual = serviceKind.project({
    metadata: raw,
    spec: {
      sessionAffinity: "None",
      ipFamilyPolicy: "SingleStack",
      internalTrafficPolicy: "Cluster",
    },
  });
  expect("traffic" in usual).toBe(false);
  expect([isHeadless(service), isHeadless(external), external.selector]).toEqual([
    true,
    false,
    undefined,
  ]);
});

const rawTarget = { kind: "Pod", namespace: "shop", name: "web-0", uid: "p0" };

test("endpoints", () => {
  const endpoints = endpointsKind.project({
    metadata: raw,
    subsets: [
      {
        addresses: [{ ip: "10.0.0.1", nodeName: "n1", targetRef: rawTarget }],
        notReadyAddresses: [{ ip: "10.0.0.2" }],
        ports: [{ port: 8080 }],
      },
    ],
  });
  const bare = { hostname: undefined, nodeName: undefined, targetRef: undefined };
  expect(endpoints).toEqual({
    metadata,
    annotations: {},
    subsets: [
      {
        addresses: [{ ip: "10.0.0.1", hostname: undefined, nodeName: "n1", targetRef: rawTarget }],
        notReadyAddresses: [{ ip: "10.0.0.2", ...bare }],
        ports: [{ name: "", port: 8080, protocol: "TCP", appProtocol: undefined }],
      },
    ],
  });
});

test("an endpoint slice", () => {
  const labels = {
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
  };
  const slice = endpointSliceKind.project({
    metadata: { ...raw, labels },
    addressType: "IPv6",
    endpoints: [
      {
        addresses: ["fd00::1"],
        conditions: { ready: false, serving: true, terminating: true },
        nodeName: "n1",
        zone: "z1",
        targetRef: rawTarget,
      },
    ],
    ports: [{ name: "http", port: 8080, appProtocol: "http" }],
  });
  expect(slice).toEqual({
    metadata: { ...metadata, labels },
    annotations: {},
    addressType: "IPv6",
    endpoints: [
      {
        addresses: ["fd00::1"],
        ready: false,
        serving: true,
        terminating: true,
        hostname: undefined,
        nodeName: "n1",
        zone: "z1",
        targetRef: rawTarget,
      },
    ],
    ports: [{ name: "http", port: 8080, protocol: "TCP", appProtocol: "http" }],
  });
  expect([serviceNameOf(slice), managedByOf(slice)]).toEqual(Object.values(labels));
});

test("a node", () => {
  const node = nodeKind.project({
    metadata: { ...raw, namespace: undefined },
    spec: { unschedulable: true, taints: [{ key: "k", effect: "NoExecute" }] },
    status: {
      conditions: [
        { type: "DiskPressure", status: "False" },
        {
          type: "Ready",
          status: "Unknown",
          reason: "NodeStatusUnknown",
          lastHeartbeatTime: minute(1),
          lastTransitionTime: minute(2),
        },
      ],
      addresses: [
        { type: "Hostname", address: "n1" },
        { type: "InternalIP", address: "192.168.0.1" },
      ],
      nodeInfo: { kubeletVersion: "v1.33.0" },
    },
  });
  expect(node).toEqual({
    metadata: { ...metadata, namespace: "" },
    ready: {
      status: "Unknown",
      reason: "NodeStatusUnknown",
      lastTransitionTime: Date.parse(minute(2)),
      lastHeartbeatTime: Date.parse(minute(1)),
    },
    unschedulable: true,
    taints: [{ key: "k", value: "", effect: "NoExecute" }],
    internalIPs: ["192.168.0.1"],
    kubeletVersion: "v1.33.0",
  });
});

test("a lease", () => {
  const lease = leaseKind.project({
    metadata: raw,
    spec: {
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      renewTime: "2026-01-01T00:00:01.234567Z",
    },
  });
  expect(lease).toEqual({
    metadata,
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: undefined,
    renewTime: Date.UTC(2026, 0, 1) + 1_234,
    leaseTransitions: 0,
  });
});

describe("a malformed object", () => {
  test.each([
    ["nothing", null, "the object should be an object, not empty"],
    ["a list", [], "the object should be an object, not a list"],
    ["no metadata", {}, "metadata should be an object, not empty"],
    ["no uid", { metadata: { ...raw, uid: "" } }, "uid should be a string, not empty"],
    [
      "labels of numbers",
      { metadata: { ...raw, labels: { a: 1 } } },
      "labels should hold only strings",
    ],
    [
      "a time that is none",
      { metadata: { ...raw, creationTimestamp: "soon" } },
      "creationTimestamp should be a time, not string",
    ],
    [
      "a phase that is a number",
      { metadata: raw, status: { phase: 1 } },
      "phase should be a string, not number",
    ],
    [
      "half a port",
      { metadata: raw, spec: { containers: [{ ports: [{ containerPort: 80.5 }] }] } },
      "containerPort should be a whole number, not number",
    ],
  ])("with %s is refused and named", (_, object, message) => {
    expect(() => podKind.project(object)).toThrow(new MalformedObjectError(message));
  });

  test("is refused by every kind with the one error", () => {
    const kinds = [podKind, serviceKind, endpointsKind, endpointSliceKind, nodeKind, leaseKind];
    const odd = [
      undefined,
      1,
      "x",
      { metadata: raw, spec: 1, subsets: 1, endpoints: 1, status: 1 },
    ];
    for (const kind of kinds) {
      for (const object of odd) {
        expect(() => kind.project(object)).toThrow(MalformedObjectError);
      }
    }
  });
});

test("paths and keys", () => {
  const object = { namespace: "shop", name: "web" };
  expect([
    collectionPath(podKind),
    collectionPath(podKind, "shop"),
    collectionPath(endpointSliceKind),
    collectionPath(nodeKind, "ignored"),
    objectPath(leaseKind, object),
    objectPath(podKind, object, "status"),
    objectPath(nodeKind, { namespace: "", name: "n1" }),
    objectKey(object),
    objectKey({ namespace: "", name: "n1" }),
  ]).toEqual([
    "/api/v1/pods",
    "/api/v1/namespaces/shop/pods",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/api/v1/nodes",
    "/apis/coordination.k8s.io/v1/namespaces/shop/leases/web",
    "/api/v1/namespaces/shop/pods/web/status",
    "/api/v1/nodes/n1",
    "shop/web",
    "n1",
  ]);
  expect([splitObjectKey("shop/web"), splitObjectKey("n1")]).toEqual([
    object,
    { namespace: "", name: "n1" },
  ]);
});
