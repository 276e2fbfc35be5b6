import { expect, test } from "vitest";
import { type Pod, podKind } from "../kube/kinds/pod.ts";
import type { Change } from "../kube/store/store-change.ts";
import { PodAddresses } from "./pod-addresses.ts";

function pod(name: string, status: object = {}, metadata: object = {}): Pod {
  return podKind.project({
    metadata: { namespace: "shop", name, uid: `u-${name}`, resourceVersion: "1", ...metadata },
    status: { phase: "Running", podIP: "10.0.0.1", ...status },
  });
}

const added = (object: Pod): Change<Pod> => ({ type: "added", object, learntBy: "watch" });
const updated = (previous: Pod, object: Pod): Change<Pod> => ({
  type: "updated",
  previous,
  object,
  learntBy: "watch",
});
const deleted = (object: Pod): Change<Pod> => ({
  type: "deleted",
  object,
  finalStateUnknown: false,
  learntBy: "watch",
});

const names = (pods: Iterable<Pod>) => [...pods].map(({ metadata }) => metadata.name).sort();

/** The pods at the address after these changes, and those that the last one concerned. */
function after(...changes: readonly Change<Pod>[]) {
  const addresses = new PodAddresses();
  let concerned: Iterable<Pod> = [];
  for (const change of changes) concerned = addresses.podChanged(change);
  return [names(addresses.at("10.0.0.1")), names(concerned)];
}

const a = pod("a");
const b = pod("b");
const ended = pod("a", { phase: "Succeeded" });
const moved = pod("a", { podIP: "10.0.0.2" });
const going = pod("a", {}, { deletionTimestamp: "2026-01-01T00:00:00Z" });
const busy = pod("a", {}, { resourceVersion: "2" });

const table: readonly (readonly [string, readonly Change<Pod>[], readonly string[][]])[] = [
  ["unused at first", [], [[], []]],
  ["the pod's that has it", [added(a)], [["a"], []]],
  ["unused when the pod is deleted", [added(a), deleted(a)], [[], []]],
  ["unused when the pod ended", [added(a), updated(a, ended)], [[], []]],
  ["unused when the pod got another", [added(a), updated(a, moved)], [[], []]],
  [
    "of a pod that had none before",
    [added(pod("a", { podIP: "" })), updated(pod("a", { podIP: "" }), a)],
    [["a"], []],
  ],
  ["shared by two, of which the first is notified", [added(a), added(b)], [["a", "b"], ["a"]]],
  ["the second's when the first is deleted", [added(a), added(b), deleted(a)], [["b"], ["b"]]],
  ["the second's when the first ended", [added(a), added(b), updated(a, ended)], [["b"], ["b"]]],
  [
    "still shared when one is going, and the other is notified",
    [added(a), added(b), updated(a, going)],
    [["a", "b"], ["b"]],
  ],
  [
    "still shared when one has news that changes nothing",
    [added(a), added(b), updated(a, busy)],
    [["a", "b"], []],
  ],
  [
    "as before after a deletion of one that never had it",
    [added(a), deleted(pod("c", { podIP: "10.9.9.9" }))],
    [["a"], []],
  ],
];

test.each(table)("an address is %s", (_, changes, expected) => {
  expect(after(...changes)).toEqual(expected);
});

test("a pod has an address of each family, and its newest version is what is found", () => {
  const addresses = new PodAddresses();
  const dual = { podIPs: [{ ip: "10.0.0.1" }, { ip: "fd00::1" }] };
  const first = pod("a", dual);
  const second = pod("a", dual, { resourceVersion: "2" });
  addresses.podChanged(added(first));
  addresses.podChanged(updated(first, second));
  expect(["10.0.0.1", "fd00::1"].map((address) => addresses.at(address))).toEqual([
    [second],
    [second],
  ]);
});

test("the pods at an address are asked for by who expects it to be his own", () => {
  const addresses = new PodAddresses();
  const addressClaimants = (uid: string) => addresses.claimantsAt("10.0.0.1", uid);
  expect(addressClaimants("u-a")).toBeUndefined();
  addresses.podChanged(added(a));
  expect([addressClaimants("u-a"), addressClaimants("u-b")]).toEqual([undefined, [a]]);
  addresses.podChanged(added(b));
  expect([addressClaimants("u-a"), addressClaimants("u-b")]).toEqual([
    [a, b],
    [a, b],
  ]);
});
