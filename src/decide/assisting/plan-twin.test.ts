import { expect, test } from "vitest";
import { type EndpointSlice, endpointSliceKind } from "../../kube/kinds/endpoint-slice.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { describeWrite, type SyncWrite } from "../syncing/sync-write.ts";
import { handBack, isCovered, planTwin, type TwinInput } from "./plan-twin.ts";
import { assistOwner, defaultTwinName, twinNameOf } from "./twin-names.ts";
import { createTwin } from "./twin-service.ts";

const lease = "lockstep/lockstep-assist";

function original(fields: { metadata?: object; spec?: object } = {}): Service {
  return serviceKind.project({
    metadata: {
      namespace: "shop",
      name: "web",
      uid: "web-uid",
      resourceVersion: "7",
      ...fields.metadata,
    },
    spec: {
      clusterIP: "10.96.0.1",
      ipFamilies: ["IPv4"],
      selector: { app: "web" },
      ports: [{ name: "http", port: 80, targetPort: "web" }],
      sessionAffinity: "None",
      ...fields.spec,
    },
  });
}

/** The twin as the API server has it after the creation. */
function twinOf(service: Service, changes: { annotations?: object; spec?: object } = {}): Service {
  const write = createTwin("web-lockstep", service, lease);
  if (write.type !== "create") throw new Error("a twin is created");
  const { metadata, spec } = write.object as {
    metadata: object & { annotations: object };
    spec: object;
  };
  return serviceKind.project({
    metadata: {
      ...metadata,
      uid: "twin-uid",
      resourceVersion: "9",
      annotations: { ...metadata.annotations, ...changes.annotations },
    },
    spec: { clusterIP: "10.96.0.2", ...spec, ...changes.spec },
  });
}

function slice(name: string, writer: string, ready: readonly string[]): EndpointSlice {
  return endpointSliceKind.project({
    metadata: {
      namespace: "shop",
      name,
      uid: name,
      resourceVersion: "3",
      labels: {
        "kubernetes.io/service-name": "web-lockstep",
        "endpointslice.kubernetes.io/managed-by": writer,
      },
    },
    addressType: "IPv4",
    ports: [],
    endpoints: ready.map((address) => ({ addresses: [address], conditions: { ready: true } })),
  });
}

const own = (...ready: string[]) => slice("web-lockstep-0", assistOwner, ready);
const kubernetes = (...ready: string[]) =>
  slice("web-lockstep-x1", "endpointslice-controller.k8s.io", ready);
const mirrored = (...ready: string[]) =>
  slice("web-lockstep-m1", "endpointslicemirroring-controller.k8s.io", ready);

function input(fields: Partial<TwinInput>): TwinInput {
  return {
    namespace: "shop",
    name: "web-lockstep",
    original: original(),
    isKnown: true,
    isWanted: true,
    target: { service: undefined, slices: [] },
    published: [],
    lease,
    slicesFor: () => [],
    ...fields,
  };
}

function planned(fields: Partial<TwinInput>) {
  const { writes, blocked } = planTwin(input(fields));
  return blocked ?? writes.map(describeWrite);
}

test("a twin has the ports and the traffic of its Service, and the Service as its owner", () => {
  const service = original({
    metadata: {
      labels: { team: "shop" },
      annotations: {
        "projectcontour.io/upstream-protocol.h2c": "80",
        "prometheus.io/scrape": "true",
      },
    },
    spec: {
      type: "NodePort",
      ports: [
        { name: "http", port: 80, targetPort: "web", nodePort: 30_080, appProtocol: "h2c" },
        { name: "admin", port: 81, targetPort: 9000, protocol: "UDP" },
      ],
      publishNotReadyAddresses: true,
      sessionAffinity: "ClientIP",
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
      trafficDistribution: "PreferClose",
    },
  });
  expect(planTwin(input({ original: service })).writes).toEqual([
    {
      type: "create",
      kind: "Service",
      namespace: "shop",
      name: "web-lockstep",
      summary: "the twin of web",
      object: {
        apiVersion: "v1",
        kind: "Service",
        metadata: {
          namespace: "shop",
          name: "web-lockstep",
          labels: { "app.kubernetes.io/managed-by": assistOwner, "lockstep.dev/twin-of": "web" },
          annotations: {
            "projectcontour.io/upstream-protocol.h2c": "80",
            "lockstep.dev/twin-of-uid": "web-uid",
            "lockstep.dev/assist-lease": lease,
          },
          ownerReferences: [{ apiVersion: "v1", kind: "Service", name: "web", uid: "web-uid" }],
        },
        spec: {
          type: "ClusterIP",
          ipFamilies: ["IPv4"],
          ports: [
            { name: "http", port: 80, protocol: "TCP", targetPort: "web", appProtocol: "h2c" },
            { name: "admin", port: 81, protocol: "UDP", targetPort: 9000 },
          ],
          publishNotReadyAddresses: true,
          sessionAffinity: "ClientIP",
          sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
          trafficDistribution: "PreferClose",
        },
      },
    },
  ]);
});

test("a twin that is right needs no write, and follows a change of its Service", () => {
  const twin = twinOf(original());
  expect(planned({ target: { service: twin, slices: [own("10.0.0.1")] } })).toEqual([]);
  const changed = original({
    metadata: { uid: "new-uid", annotations: { "haproxy.org/check": "true" } },
    spec: { publishNotReadyAddresses: true },
  });
  const { writes } = planTwin(input({ original: changed, target: { service: twin, slices: [] } }));
  expect(writes).toMatchObject([
    {
      type: "update",
      patch: {
        metadata: {
          resourceVersion: "9",
          annotations: { "haproxy.org/check": "true", "lockstep.dev/twin-of-uid": "new-uid" },
          ownerReferences: [{ uid: "new-uid" }],
        },
        spec: { publishNotReadyAddresses: true, sessionAffinity: "None" },
      },
    },
  ]);
  const before = twinOf(changed);
  const back = planTwin(input({ target: { service: before, slices: [] } })).writes;
  expect(back).toMatchObject([
    {
      patch: {
        metadata: { annotations: { "haproxy.org/check": null } },
        spec: { publishNotReadyAddresses: null },
      },
    },
  ]);
});

test.each<[string, Partial<TwinInput>, unknown]>([
  ["nothing before the cluster is listed", { isKnown: false }, []],
  ["nothing for a Service that is not selected", { isWanted: false }, []],
  [
    "nothing over a Service of another owner",
    { target: { service: original({ metadata: { name: "web-lockstep" } }), slices: [] } },
    "Service shop/web-lockstep exists and was not created by Lockstep",
  ],
  [
    "nothing about the twin of another Service",
    {
      original: original({ metadata: { name: "www" } }),
      target: { service: twinOf(original()), slices: [] },
    },
    "Service shop/web-lockstep is already the twin of web",
  ],
  [
    "nothing about a twin of another Lease",
    { lease: "default/mine", target: { service: twinOf(original()), slices: [own()] } },
    `the replicas of the Lease ${lease} keep shop/web-lockstep`,
  ],
  [
    "not even handing it back",
    {
      lease: "default/mine",
      isWanted: false,
      target: { service: twinOf(original()), slices: [own()] },
    },
    [],
  ],
  [
    "the end of a twin with its Service",
    {
      original: undefined,
      isWanted: false,
      target: { service: twinOf(original()), slices: [own()] },
    },
    [
      "delete Service shop/web-lockstep: its Service was deleted, or created again differently",
      "delete EndpointSlice shop/web-lockstep-0: the twin is gone, or Kubernetes serves it",
    ],
  ],
  [
    "a new twin for a Service that became headless",
    {
      original: original({ spec: { clusterIP: "None" } }),
      target: { service: twinOf(original()), slices: [own()] },
    },
    ["delete Service shop/web-lockstep: its Service was deleted, or created again differently"],
  ],
  [
    "the selector back when the Service is not selected any more",
    { isWanted: false, target: { service: twinOf(original()), slices: [own("10.0.0.1")] } },
    ["update Service shop/web-lockstep: it gets the selector of its Service back"],
  ],
  [
    "and its slices when Kubernetes lists the endpoints",
    {
      isWanted: false,
      target: {
        service: twinOf(original(), { spec: { selector: { app: "web" } } }),
        slices: [own("10.0.0.1"), kubernetes("10.0.0.1")],
      },
      published: [kubernetes("10.0.0.1")],
    },
    ["delete EndpointSlice shop/web-lockstep-0: the twin is gone, or Kubernetes serves it"],
  ],
  [
    "nothing about a twin that a person handed back",
    {
      target: {
        service: twinOf(original(), {
          annotations: { "lockstep.dev/assist-off": "true" },
          spec: { selector: { app: "web" } },
        }),
        slices: [kubernetes("10.0.0.1")],
      },
    },
    [],
  ],
  [
    "first its own slices, then the selector",
    {
      target: {
        service: twinOf(original(), { spec: { selector: { app: "web" } } }),
        slices: [kubernetes("10.0.0.1")],
      },
      slicesFor: () => [sliceCreation],
    },
    [
      "create EndpointSlice shop/web-lockstep-0: 1 endpoint",
      "update Service shop/web-lockstep: Lockstep takes it over again",
    ],
  ],
  [
    "then the end of everything that Kubernetes left there",
    { target: { service: twinOf(original()), slices: [kubernetes("10.0.0.1"), mirrored()] } },
    [
      "delete Endpoints shop/web-lockstep: Kubernetes wrote it for the selector that the twin had",
      "delete EndpointSlice shop/web-lockstep-x1: Kubernetes wrote it for the selector that the twin had",
      "delete EndpointSlice shop/web-lockstep-m1: Kubernetes wrote it for the selector that the twin had",
    ],
  ],
])("the plan is %s", (_, fields, expected) => {
  expect(planned(fields)).toEqual(expected);
});

const sliceCreation: SyncWrite = {
  type: "create",
  kind: "EndpointSlice",
  namespace: "shop",
  name: "web-lockstep-0",
  object: {},
  summary: "1 endpoint",
};

test("a twin handed back by hand gets the mark, and a changed selector", () => {
  const twin = twinOf(original());
  const target = { service: twin, slices: [own("10.0.0.1")] };
  expect(handBack({ target, published: [] }, twin, original(), true)).toMatchObject([
    {
      patch: {
        metadata: {
          annotations: { "lockstep.dev/assist-off": "true", "lockstep.dev/assist-lease": null },
        },
        spec: { selector: { app: "web" } },
      },
    },
  ]);
  const old = twinOf(original(), {
    annotations: { "lockstep.dev/assist-off": "true" },
    spec: { selector: { app: "old", tier: "front" } },
  });
  expect(
    handBack({ target: { service: old, slices: [] }, published: [] }, old, original(), true),
  ).toMatchObject([{ patch: { spec: { selector: { app: "web", tier: null } } } }]);
});

test.each<[string, EndpointSlice[], EndpointSlice[], boolean]>([
  ["Kubernetes has not written one yet", [own("10.0.0.1")], [kubernetes("10.0.0.1")], false],
  [
    "one is missing",
    [own("10.0.0.1", "10.0.0.2"), kubernetes("10.0.0.1")],
    [kubernetes("10.0.0.1", "10.0.0.2")],
    false,
  ],
  [
    "the missing one is gone from the Service too",
    [own("10.0.0.1", "10.0.0.2"), kubernetes("10.0.0.1")],
    [kubernetes("10.0.0.1")],
    true,
  ],
  [
    "Kubernetes lists more",
    [own("10.0.0.1"), kubernetes("10.0.0.1", "10.0.0.3")],
    [kubernetes("10.0.0.1")],
    true,
  ],
  ["there is no endpoint at all", [own(), kubernetes()], [], true],
])("whether Kubernetes serves a twin when %s", (_, slices, published, expected) => {
  const [first] = slices;
  expect(isCovered(first === undefined ? [] : [first], slices, published)).toBe(expected);
});

test("names that are too long are cut, and differ", () => {
  const long = "a".repeat(54);
  expect(defaultTwinName(long)).toBe(`${long}-lockstep`);
  const names = [`${long}b`, `${long}c`, `${"a".repeat(44)}-b-cccccccccccccc`].map(defaultTwinName);
  expect(new Set(names).size).toBe(3);
  for (const name of names) {
    expect(name).toMatch(/^[a-z][a-z0-9-]*[a-z0-9]$/);
    expect(name.length).toBeLessThanOrEqual(63);
  }
});

test.each([
  [undefined, { name: "web-lockstep" }],
  ["web-fresh", { name: "web-fresh" }],
  ["web", { problem: "lockstep.dev/assist-name names the Service itself" }],
  ["Web!", { problem: 'lockstep.dev/assist-name: "Web!" cannot be the name of a Service' }],
])("the name asked for by the annotation %j", (name, expected) => {
  const annotations = name === undefined ? {} : { "lockstep.dev/assist-name": name };
  expect(twinNameOf(original({ metadata: { annotations } }))).toEqual(expected);
});
