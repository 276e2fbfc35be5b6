import { expect, test } from "vitest";
import { namedHolder, outsideIdentity, podIdentity } from "./leader-identity.ts";

const uuid = "8c5f3c1e-0d5b-4f39-9a8c-1f2e3d4c5b6a";

test("our own identity names the pod and its uid", () => {
  expect(namedHolder(podIdentity("lockstep-0", uuid), "own")).toEqual({
    kind: "pod",
    name: "lockstep-0",
    uid: uuid,
  });
});

test.each([
  { identity: outsideIdentity("laptop", uuid), why: "a replica outside the cluster" },
  { identity: "lockstep-0", why: "no uid" },
  { identity: "lockstep-0_123", why: "not a uid" },
  { identity: "", why: "no holder" },
])("among our own, $identity names no pod: $why", ({ identity }) => {
  expect(namedHolder(identity, "own")).toBeUndefined();
});

test.each([
  { identity: "nginx-ingress-controller-qxlt8", name: "nginx-ingress-controller-qxlt8" },
  { identity: `coredns-5d78c9869d-k2fxz_${uuid}`, name: "coredns-5d78c9869d-k2fxz" },
])("others' $identity names the pod $name, whatever its uid", ({ identity, name }) => {
  expect(namedHolder(identity, "foreign")).toEqual({ kind: "pod-name", name });
});

test.each([
  { identity: `master-1_${uuid}`, why: "it may be a machine" },
  { identity: "web-0", why: "it may be anything that was given a name" },
  { identity: "kube-scheduler-aeiou", why: "generated names have no vowels" },
  { identity: "external-attacher-leader-driver/x", why: "no pod has such a name" },
  { identity: outsideIdentity("laptop-qxlt8", uuid), why: "it says that it is outside" },
  { identity: `${"a".repeat(60)}-qxlt8`, why: "its host name may have been cut" },
])("others' $identity names no pod for certain: $why", ({ identity }) => {
  expect(namedHolder(identity, "foreign")).toBeUndefined();
});
