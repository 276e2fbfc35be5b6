import { expect, test } from "vitest";
import { endpoint, offer, PretendedTarget, silent } from "../../../tests/syncing/offers.ts";
import { endpointsKind } from "../../kube/kinds/endpoints.ts";
import { isRecord, type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import type { CopyForm } from "./plan-endpoints.ts";
import type { ServiceOffer } from "./service-offer.ts";

function edge(form: CopyForm): PretendedTarget {
  const target = new PretendedTarget("shop");
  target.form = form;
  return target;
}

function rawEndpoints(target: PretendedTarget): RawRecord | undefined {
  return target.objects.get("Endpoints shop/web");
}

/** By cluster its addresses, and all of the object, ready ones first. */
function shown(target: PretendedTarget) {
  const raw = rawEndpoints(target);
  if (raw === undefined) return undefined;
  const { annotations, subsets } = endpointsKind.project(raw);
  return {
    sources: JSON.parse(annotations["lockstep.dev/source-addresses"] ?? ""),
    ready: subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip)),
    notReady: subsets.flatMap(({ notReadyAddresses }) => notReadyAddresses.map(({ ip }) => ip)),
  };
}

/** Syncs, and expects that then nothing is left to write. */
function sync(target: PretendedTarget, ...offers: readonly ServiceOffer[]): readonly string[] {
  const writes = target.sync(...offers);
  expect(target.plan(offers).writes).toEqual([]);
  return writes.map(({ type, kind, name, summary }) => `${type} ${kind} ${name}: ${summary}`);
}

test("one object holds the endpoints of all clusters, and is not mirrored to slices", () => {
  const target = edge("endpoints");
  const node = {
    nodeName: "n1",
    targetRef: { kind: "Pod", namespace: "shop", name: "a", uid: "u" },
  };
  const drains = { ready: false, serving: true, terminating: true };
  const first = offer("lab-1", [
    endpoint("10.1.0.2"),
    endpoint("10.1.0.1", node),
    endpoint("10.1.0.3", drains),
  ]);
  const second = offer("lab-2", [endpoint("10.2.0.1", { ready: false })]);
  expect(sync(target, first, second)).toEqual([
    "create Service web: synced from lab-1, lab-2",
    "create Endpoints web: 3 endpoints of lab-1, lab-2",
  ]);
  const raw = rawEndpoints(target) ?? {};
  expect(recordAt(raw, "metadata")["labels"]).toEqual({
    "app.kubernetes.io/managed-by": "lockstep.dev",
    "endpointslice.kubernetes.io/skip-mirror": "true",
  });
  expect(recordAt(raw, "metadata")["annotations"]).toEqual({
    "lockstep.dev/origin-time": "2026-01-02T03:04:05.678000Z",
    "lockstep.dev/source-addresses": '{"lab-1":["10.1.0.1","10.1.0.2"],"lab-2":["10.2.0.1"]}',
  });
  expect(raw["subsets"]).toEqual([
    {
      addresses: [{ ip: "10.1.0.1", ...node }, { ip: "10.1.0.2" }],
      notReadyAddresses: [{ ip: "10.2.0.1" }],
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    },
  ]);
});

test("a change is one write, and the endpoints of a cluster that is not known stay", () => {
  const target = edge("endpoints");
  const standIn = endpoint("10.1.0.2", { ready: false });
  sync(
    target,
    offer("lab-1", [endpoint("10.1.0.1"), standIn]),
    offer("lab-2", [endpoint("10.2.0.1")]),
  );
  const next = offer("lab-2", [endpoint("10.2.0.2")]);
  expect(sync(target, silent("lab-1", false), next)).toEqual(["update Endpoints web: 3 endpoints"]);
  expect(shown(target)).toEqual({
    sources: { "lab-1": ["10.1.0.1", "10.1.0.2"], "lab-2": ["10.2.0.2"] },
    ready: ["10.1.0.1", "10.2.0.2"],
    notReady: ["10.1.0.2"],
  });
  sync(target, silent("lab-1", true), next);
  expect(shown(target)).toMatchObject({ sources: { "lab-2": ["10.2.0.2"] }, ready: ["10.2.0.2"] });
  expect(sync(target, silent("lab-1", true), silent("lab-2", true))).toEqual([
    "delete Service web: no cluster has the service any more",
    "delete Endpoints web: no cluster has the service any more",
  ]);
});

test("both forms are written side by side, and slices are removed where Endpoints take their place", () => {
  const target = edge("both");
  const one = offer("lab-1", [endpoint("10.1.0.1")]);
  expect(sync(target, one).map((text) => text.split(":")[0])).toEqual([
    "create Service web",
    "create EndpointSlice web-lab-1-0",
    "create Endpoints web",
  ]);
  target.form = "endpoints";
  expect(sync(target, one)).toEqual([
    "delete EndpointSlice web-lab-1-0: the Endpoints have its endpoints",
  ]);
});

test("slices of a cluster that is not known stay until Endpoints can take their place", () => {
  const target = edge("slices");
  const one = offer("lab-1", [endpoint("10.1.0.1")]);
  const two = offer("lab-2", [endpoint("10.2.0.1")]);
  sync(target, one, two);
  target.form = "endpoints";
  expect(sync(target, silent("lab-1", true), silent("lab-2", false))).toEqual([
    "delete EndpointSlice web-lab-1-0: the Endpoints have its endpoints",
  ]);
  expect(sync(target, one, two)).toEqual([
    "create Endpoints web: 2 endpoints of lab-1, lab-2",
    "delete EndpointSlice web-lab-2-0: the Endpoints have its endpoints",
  ]);
});

test("of more than 1,000 endpoints each cluster has its share, and those that are listed stay", () => {
  const target = edge("endpoints");
  const many = (cluster: string, count: number) =>
    offer(
      cluster,
      Array.from({ length: count }, (_, index) =>
        endpoint(`10.${cluster.at(-1)}.${Math.floor(index / 250)}.${index % 250}`),
      ),
    );
  sync(target, many("lab-1", 900), many("lab-2", 100));
  expect(overCapacity(target)).toBe(undefined);
  sync(target, many("lab-1", 1_500), many("lab-2", 500));
  const { sources, ready } = shown(target) ?? { sources: {}, ready: [] };
  expect(ready).toHaveLength(1_000);
  expect([sources["lab-1"].length, sources["lab-2"].length]).toEqual([750, 250]);
  expect(overCapacity(target)).toBe("truncated");
  const [kept] = sources["lab-2"];
  const less = many("lab-2", 500);
  const endpoints = less.endpoints.filter(({ address }) => address !== kept);
  sync(target, many("lab-1", 1_500), { ...less, endpoints });
  const after = new Set(shown(target)?.ready);
  expect(ready.filter((address) => !after.has(address)).length).toBeLessThan(3);
  sync(target, many("lab-1", 10), many("lab-2", 10));
  expect(overCapacity(target)).toBe(undefined);
});

test("Endpoints of another owner, or of another sync, block the service", () => {
  const target = edge("endpoints");
  const one = offer("lab-1", [endpoint("10.1.0.1")]);
  target.put("Endpoints", "shop", "web", { metadata: { name: "web" }, subsets: [] });
  expect(target.plan([one])).toEqual({
    writes: [],
    blocked: "Endpoints shop/web exists and was not created by Lockstep",
  });
  const shared = edge("endpoints");
  sync(shared, offer("lab-9", [endpoint("10.9.0.1")]));
  expect(shared.plan([one]).blocked).toBe(
    "Endpoints shop/web has endpoints of lab-9, which is in no source; use --forget lab-9",
  );
  const forgottenClusters = new Set(["lab-9"]);
  for (const write of shared.plan([one], { forgottenClusters }).writes) shared.apply(write);
  expect(shown(shared)?.ready).toEqual(["10.1.0.1"]);
});

function overCapacity(target: PretendedTarget): unknown {
  const { annotations } = recordAt(rawEndpoints(target) ?? {}, "metadata");
  return isRecord(annotations) ? annotations["endpoints.kubernetes.io/over-capacity"] : undefined;
}
