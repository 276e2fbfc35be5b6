import { expect, test } from "vitest";
import { MalformedObjectError } from "../kinds/fields.ts";
import {
  leaseWith,
  lockCollectionPath,
  lockPath,
  readLeaderRecord,
  recordText,
} from "./lease-record.ts";

const annotation =
  '{"holderIdentity":"nginx-ingress-controller-qxlt8","leaseDurationSeconds":30,' +
  '"acquireTime":"2021-05-12T03:52:31Z","renewTime":"2021-05-14T01:10:20Z","leaderTransitions":11}';

const annotated = {
  holder: "nginx-ingress-controller-qxlt8",
  leaseDurationMs: 30_000,
  acquireTime: "2021-05-12T03:52:31Z",
  renewTime: "2021-05-14T01:10:20Z",
  transitions: 11,
};

test.each(["ConfigMap", "Endpoints"])("the record on a %s is read from its annotation", (kind) => {
  const annotations = { "control-plane.alpha.kubernetes.io/leader": annotation };
  expect(readLeaderRecord({ kind, metadata: { annotations } })).toEqual(annotated);
});

test("the record of a Lease is read from its spec, with null as absent", () => {
  const spec = {
    holderIdentity: "a",
    leaseDurationSeconds: 15,
    acquireTime: null,
    renewTime: "2026-01-01T00:00:10.123456Z",
    leaseTransitions: 3,
  };
  expect(readLeaderRecord({ kind: "Lease", spec })).toEqual({
    holder: "a",
    leaseDurationMs: 15_000,
    acquireTime: undefined,
    renewTime: "2026-01-01T00:00:10.123456Z",
    transitions: 3,
  });
});

test("a Lease without a spec has no holder", () => {
  expect(readLeaderRecord({ kind: "Lease", metadata: {} })).toEqual({
    holder: "",
    leaseDurationMs: 0,
    acquireTime: undefined,
    renewTime: undefined,
    transitions: 0,
  });
});

test("an object without the annotation carries no record", () => {
  expect(readLeaderRecord({ kind: "ConfigMap", metadata: { annotations: null } })).toBeUndefined();
});

test.each(["not JSON", "[]", '"text"', '{"holderIdentity":7}'])(
  "an annotation that reads %s is malformed",
  (text) => {
    const annotations = { "control-plane.alpha.kubernetes.io/leader": text };
    const read = () => readLeaderRecord({ kind: "Endpoints", metadata: { annotations } });
    expect(read).toThrow(MalformedObjectError);
  },
);

test("records differ in their text exactly if a field differs", () => {
  const texts = [
    annotated,
    { ...annotated },
    { ...annotated, holder: "b" },
    { ...annotated, leaseDurationMs: 15_000 },
    { ...annotated, acquireTime: undefined },
    { ...annotated, renewTime: "2021-05-14T01:10:21Z" },
    { ...annotated, transitions: 12 },
  ].map(recordText);
  expect(texts[0]).toBe(texts[1]);
  expect(new Set(texts).size).toBe(6);
});

test("writing a Lease keeps what others put there, and the version it is based on", () => {
  const lock = { kind: "Lease", namespace: "lockstep", name: "leader" } as const;
  const current = {
    kind: "Lease",
    metadata: { name: "leader", resourceVersion: "42", labels: { team: "edge" } },
    spec: { holderIdentity: "old", strategy: "OldestEmulationVersion" },
  };
  expect(leaseWith(lock, current, annotated)).toEqual({
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: {
      name: "leader",
      namespace: "lockstep",
      resourceVersion: "42",
      labels: { team: "edge" },
    },
    spec: {
      holderIdentity: "nginx-ingress-controller-qxlt8",
      leaseDurationSeconds: 30,
      acquireTime: "2021-05-12T03:52:31Z",
      renewTime: "2021-05-14T01:10:20Z",
      leaseTransitions: 11,
      strategy: "OldestEmulationVersion",
    },
  });
});

test("each kind of lock lives where Kubernetes keeps it", () => {
  const at = { namespace: "edge", name: "leader" };
  expect([
    lockPath({ kind: "Lease", ...at }),
    lockPath({ kind: "ConfigMap", ...at }),
    lockPath({ kind: "Endpoints", ...at }),
    lockCollectionPath({ kind: "Lease", ...at }),
  ]).toEqual([
    "/apis/coordination.k8s.io/v1/namespaces/edge/leases/leader",
    "/api/v1/namespaces/edge/configmaps/leader",
    "/api/v1/namespaces/edge/endpoints/leader",
    "/apis/coordination.k8s.io/v1/namespaces/edge/leases",
  ]);
});
