import { expect, test } from "vitest";
import { sourceService } from "../../../tests/syncing/offers.ts";
import { serviceExportKind } from "../../kube/kinds/service-export.ts";
import { type ExportedService, mergeExports } from "./merge-exports.ts";

interface Export {
  readonly cluster: string;
  /** Seconds of the minute in which it was created. */
  readonly at: number;
  readonly spec?: object;
  readonly exported?: object;
}

function exported({ cluster, at, spec = {}, exported: fields = {} }: Export): ExportedService {
  const creationTimestamp = `2026-01-01T00:00:${String(at).padStart(2, "0")}Z`;
  const metadata = { namespace: "shop", name: "web", uid: cluster, resourceVersion: "1" };
  return {
    cluster,
    service: sourceService({ spec: { ipFamilies: ["IPv4"], ...spec } }),
    serviceExport: serviceExportKind("v1beta1").project({
      metadata: { ...metadata, creationTimestamp },
      spec: fields,
    }),
  };
}

function merge(...exports: readonly Export[]) {
  const merged = mergeExports(exports.map(exported));
  if (merged === undefined) throw new Error("nothing is exported");
  return { ...merged, ports: merged.ports.map(({ name, port }) => `${name}:${port}`) };
}

const http = { name: "http", port: 80 };
const http81 = { name: "http", port: 81 };
const web80 = { name: "web", port: 80 };
const admin = { name: "admin", port: 90 };
const sticky = { sessionAffinity: "ClientIP" };
const withTimeout = (timeoutSeconds: number) => ({
  ...sticky,
  sessionAffinityConfig: { clientIP: { timeoutSeconds } },
});

test("without an export there is nothing to import", () => {
  expect(mergeExports([])).toBeUndefined();
});

test("equal exports have no conflict", () => {
  expect(merge({ cluster: "b", at: 1 }, { cluster: "a", at: 2 })).toMatchObject({
    type: "ClusterSetIP",
    ports: ["http:80"],
    clusters: ["a", "b"],
    precedence: "b",
    conflicts: [],
  });
});

test("among exports of one second the cluster whose name comes first has precedence", () => {
  expect(merge({ cluster: "b", at: 1 }, { cluster: "a", at: 1 }).precedence).toBe("a");
});

test.each([
  ["different ports are united", [http], [admin], ["http:80", "admin:90"]],
  ["a name with another number is left out", [http], [http81, admin], ["http:80", "admin:90"]],
  ["a number with another name is left out", [http], [web80], ["http:80"]],
  ["a port without a name stays alone", [{ port: 80 }], [admin], [":80"]],
  [
    "a number may have two protocols",
    [http],
    [{ name: "udp", port: 80, protocol: "UDP" }],
    ["http:80", "udp:80"],
  ],
])("of two exports %s, and that is a conflict", (_, older, newer, ports) => {
  const merged = merge(
    { cluster: "a", at: 2, spec: { ports: newer } },
    { cluster: "b", at: 1, spec: { ports: older } },
  );
  expect({ ports: merged.ports, conflicts: merged.conflicts }).toEqual({
    ports,
    conflicts: ["PortConflict"],
  });
});

test.each([
  ["headlessness", { clusterIP: "None" }, {}, { type: "Headless" }, "TypeConflict"],
  [
    "affinity",
    withTimeout(9),
    {},
    { sessionAffinity: "ClientIP", affinityTimeoutSeconds: 9 },
    "SessionAffinityConflict,SessionAffinityConfigConflict",
  ],
  [
    "timeout",
    withTimeout(9),
    withTimeout(8),
    { affinityTimeoutSeconds: 9 },
    "SessionAffinityConfigConflict",
  ],
  [
    "traffic policy",
    { internalTrafficPolicy: "Local" },
    {},
    { internalTrafficPolicy: "Local" },
    "InternalTrafficPolicyConflict",
  ],
  [
    "distribution",
    {},
    { trafficDistribution: "PreferClose" },
    { trafficDistribution: undefined },
    "TrafficDistributionConflict",
  ],
  ["families", { ipFamilies: ["IPv6"] }, {}, { ipFamilies: ["IPv6", "IPv4"] }, "IPFamilyConflict"],
])("the oldest export decides the %s", (_, older, newer, fields, conflicts) => {
  const merged = merge({ cluster: "b", at: 1, spec: older }, { cluster: "a", at: 2, spec: newer });
  expect(merged).toMatchObject(fields);
  expect(merged.conflicts.join(",")).toBe(conflicts);
});

test("a headless service has no address, so that its affinity is no conflict", () => {
  const headless = { clusterIP: "None" };
  const merged = merge(
    { cluster: "a", at: 1, spec: headless },
    { cluster: "b", at: 2, spec: { ...headless, ...sticky } },
  );
  expect(merged.conflicts).toEqual([]);
});

test("labels and annotations are all those of the oldest export, and a target port is no conflict", () => {
  const merged = merge(
    { cluster: "b", at: 1, exported: { exportedLabels: { team: "pay" } } },
    {
      cluster: "a",
      at: 2,
      spec: { ports: [{ ...http, targetPort: 9999 }] },
      exported: { exportedLabels: { tier: "one" }, exportedAnnotations: { note: "x" } },
    },
  );
  expect(merged).toMatchObject({ labels: { team: "pay" }, annotations: {} });
  expect(merged.conflicts).toEqual(["LabelsConflict", "AnnotationsConflict"]);
});
