import { expect, test } from "vitest";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import { copyOrigin } from "./copy-origin.ts";

type Marks = Readonly<Record<string, string>>;

function slice(labels: Marks, annotations: Marks = {}) {
  const named = { namespace: "shop", name: "web-1", uid: "u", resourceVersion: "1" };
  const metadata = { ...named, labels, annotations };
  return endpointSliceKind.project({ metadata, addressType: "IPv4", endpoints: [], ports: [] });
}

const byLockstep = (cluster: string) => ({
  "kubernetes.io/service-name": "web",
  "lockstep.dev/source-cluster": cluster,
});
const imported = {
  "kubernetes.io/service-name": "derived-7f3a",
  "multicluster.kubernetes.io/service-name": "web",
  "multicluster.kubernetes.io/source-cluster": "eu-1",
};
const own = { "kubernetes.io/service-name": "web" };

const clusters = [{ cluster: "prod-eu", aliases: ["eu-1"] }, { cluster: "prod-us" }];

test.each([
  ["by the name that is observed", byLockstep("prod-us"), "prod-us"],
  ["by another name that was given", imported, "prod-eu"],
  ["beside a Service derived by Lockstep", { ...byLockstep("prod-us"), ...imported }, "prod-us"],
  ["by an unknown name", byLockstep("asia"), undefined],
])("a copy names its cluster %s", (_, labels, cluster) => {
  const origin = copyOrigin("edge", clusters)(slice(labels));
  expect(origin).toEqual({ cluster, service: "shop/web" });
});

test("a copy that keeps the service's name need not say it twice", () => {
  const byCilium = { ...own, "multicluster.kubernetes.io/source-cluster": "prod-us" };
  const byKarmada = { "endpointslice.karmada.io/provision-cluster": "prod-us" };
  const expected = { cluster: "prod-us", service: "shop/web" };
  expect(copyOrigin("edge", clusters)(slice(byCilium))).toEqual(expected);
  expect(copyOrigin("edge", clusters)(slice(own, byKarmada))).toEqual(expected);
});

test("where no other cluster is observed a copy's cluster has the name it gives", () => {
  const edge = [{ cluster: "edge" }];
  const origin = copyOrigin("edge", edge)(slice(byLockstep("asia")));
  expect(origin).toEqual({ cluster: "asia", service: "shop/web" });
});

test.each([
  ["no copy", own],
  ["a copy that does not name its origin", { "lockstep.dev/source-cluster": "prod-us" }],
  ["a copy that does not say whose", { "multicluster.kubernetes.io/service-name": "web" }],
])("%s is passed over", (_, labels) => {
  expect(copyOrigin("edge", clusters)(slice(labels))).toBeUndefined();
});
