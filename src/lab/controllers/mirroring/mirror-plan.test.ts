import { describe, expect, test } from "vitest";
import { wholeOf } from "../../../../tests/controllers/controller-objects.ts";
import { type WholeObject, wholeEndpoints, wholeSlices } from "../whole-object.ts";
import { mirroringController, planMirror } from "./mirror-plan.ts";
import { mirroredGroups as groupsOf } from "./mirrored-groups.ts";

const http = { name: "http", port: 80, protocol: "TCP" };
const admin = { name: "admin", port: 81, protocol: "TCP" };
const four = { ip: "10.0.0.4" };
const five = { ip: "10.0.0.5", hostname: "h", nodeName: "n1" };
const six = { ip: "fd00::6", targetRef: { kind: "Pod", name: "p", uid: "u", fieldPath: "f" } };
const limit = 1000;

function mirroredGroups(endpoints: WholeObject, maxPerSubset: number) {
  return groupsOf(endpoints, maxPerSubset, "md5");
}

function endpointsOf(subsets: readonly object[], metadata: object = {}) {
  return wholeOf(wholeEndpoints, "web", { subsets }, metadata);
}

describe("what is copied", () => {
  test("is each subset by family, with what is known of its addresses", () => {
    const endpoints = endpointsOf([
      { addresses: [four, six], notReadyAddresses: [five], ports: [http] },
    ]);
    const ready = (value: boolean) => ({ conditions: { ready: value } });
    expect(mirroredGroups(endpoints, limit)).toEqual({
      groups: [
        {
          addressType: "IPv4",
          ports: [http],
          endpoints: [
            { addresses: ["10.0.0.4"], ...ready(true) },
            { addresses: ["10.0.0.5"], hostname: "h", nodeName: "n1", ...ready(false) },
          ],
        },
        {
          addressType: "IPv6",
          ports: [http],
          endpoints: [{ addresses: ["fd00::6"], targetRef: six.targetRef, ...ready(true) }],
        },
      ],
      skipped: 0,
    });
  });

  test("is the shortest form of what users wrote", () => {
    const split = [http, admin].map((port) => ({ addresses: [four], ports: [port] }));
    const { groups } = mirroredGroups(endpointsOf(split), limit);
    expect(groups.map(({ ports }) => ports.map(({ name }) => name).sort())).toEqual([
      ["admin", "http"],
    ]);
  });

  test("is no more of a subset than the limit, and ready addresses first", () => {
    const subset = { addresses: [four], notReadyAddresses: [five, { ip: "10.0.0.6" }] };
    const { groups, skipped } = mirroredGroups(endpointsOf([subset]), 2);
    const copied = groups.flatMap(({ endpoints }) =>
      endpoints.map(({ addresses }) => addresses[0]),
    );
    expect([copied, skipped]).toEqual([["10.0.0.4", "10.0.0.5"], 1]);
  });

  test("has no ports where the subset has none, and is nothing without addresses", () => {
    const { groups } = mirroredGroups(endpointsOf([{ addresses: [four] }]), limit);
    expect(groups.map(({ ports }) => ports)).toEqual([[]]);
    expect(mirroredGroups(endpointsOf([]), limit)).toEqual({ groups: [], skipped: 0 });
  });
});

test("an address of two subsets that cannot be one is in their slice once", () => {
  const port = { ...http, appProtocol: "https" };
  const subsets = [
    { addresses: [four], ports: [port] },
    { addresses: [four, five], ports: [port] },
  ];
  const { groups } = mirroredGroups(endpointsOf(subsets), limit);
  expect(groups.map(({ endpoints }) => endpoints.map(({ addresses }) => addresses))).toEqual([
    [["10.0.0.4"], ["10.0.0.5"]],
  ]);
});

describe("what is written", () => {
  const labels = { team: "shop" };
  const annotations = {
    keep: "me",
    "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
    "kubectl.kubernetes.io/last-applied-configuration": "{}",
  };
  const endpoints = endpointsOf([{ addresses: [four], ports: [http] }], { labels, annotations });
  const marks = {
    "kubernetes.io/service-name": "web",
    "endpointslice.kubernetes.io/managed-by": mirroringController,
  };
  const owner = { apiVersion: "v1", kind: "Endpoints", name: "web", uid: "uid-web" };
  const wanted = {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace: "default",
      labels: { ...labels, ...marks },
      annotations: { keep: "me" },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    addressType: "IPv4",
    ports: [http],
    endpoints: [{ addresses: ["10.0.0.4"], conditions: { ready: true } }],
  };
  const named = (name: string) => ({ ...wanted, metadata: { ...wanted.metadata, name } });

  function sliceOf(name: string, fields: object = {}, changed: object = {}) {
    const { metadata, ...rest } = wanted;
    return wholeOf(wholeSlices, name, { ...rest, ...fields }, { ...metadata, ...changed });
  }

  function planned(existing: readonly ReturnType<typeof sliceOf>[], from = endpoints) {
    const plan = planMirror(from, mirroredGroups(from, limit).groups, existing);
    return {
      create: plan.create,
      update: plan.update.map(({ body }) => body),
      remove: plan.remove.map(({ metadata }) => metadata.name),
    };
  }

  const nothing = { create: [], update: [], remove: [] };

  test("is a slice with the object's labels and annotations, but without its bookkeeping", () => {
    const { metadata } = wanted;
    const create = [{ ...wanted, metadata: { ...metadata, generateName: "web-" } }];
    expect(planned([])).toEqual({ ...nothing, create });
  });

  test.each<[string, object, object]>([
    ["the slice is right", {}, {}],
    [
      "only the version of what an address stands for differs",
      { endpoints: [{ ...wanted.endpoints[0], targetRef: { resourceVersion: "7" } }] },
      {},
    ],
  ])("is nothing when %s", (_, fields, metadata) => {
    expect(planned([sliceOf("web-1", fields, metadata)])).toEqual(nothing);
  });

  test.each<[string, object, object]>([
    ["an address is missing", { endpoints: [] }, {}],
    [
      "an address is not ready there",
      { endpoints: [{ addresses: ["10.0.0.4"], conditions: { ready: false } }] },
      {},
    ],
    ["a label differs", {}, { labels: { ...wanted.metadata.labels, team: "x" } }],
    ["an annotation is one too many", {}, { annotations: { keep: "me", x: "y" } }],
    ["it is of Endpoints that are gone", {}, { ownerReferences: [{ ...owner, uid: "before" }] }],
  ])("replaces the slice when %s", (_, fields, metadata) => {
    const existing = [sliceOf("web-1", fields, metadata)];
    expect(planned(existing)).toEqual({ ...nothing, update: [named("web-1")] });
  });

  test("is one slice for each set of ports; others go, or become what is missing", () => {
    expect(planned([sliceOf("web-1"), sliceOf("web-2")])).toEqual({
      ...nothing,
      remove: ["web-2"],
    });
    const other = sliceOf("web-1", { ports: [admin] });
    const { metadata, ...content } = named("web-1");
    const renewed = { ...content, metadata: { ...metadata, generateName: "web-" } };
    expect(planned([other])).toEqual({ ...nothing, update: [renewed] });
    const sixth = sliceOf("web-6", { addressType: "IPv6" });
    expect(planned([sliceOf("web-1"), sixth])).toEqual({ ...nothing, remove: ["web-6"] });
  });
});
