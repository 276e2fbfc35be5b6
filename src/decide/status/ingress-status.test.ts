import { expect, test } from "vitest";
import { type Ingress, ingressKind, type LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import { ingressClassKind } from "../../kube/kinds/ingress-class.ts";
import { statusWrite } from "./ingress-status.ts";
import { isLoadBalancerAddress, loadBalancerAddress } from "./load-balancer-address.ts";

const addresses = ["192.0.2.2", "edge.example", "192.0.2.1", "192.0.2.2"].map(loadBalancerAddress);

const ip = (address: string): LoadBalancerAddress => ({ ip: address, hostname: "" });
const inOrder = [ip("192.0.2.1"), ip("192.0.2.2"), { ip: "", hostname: "edge.example" }];

function ingress(className: string, status: readonly object[] = []): Ingress {
  return ingressKind.project({
    metadata: { namespace: "shop", name: "web", uid: "u", resourceVersion: "7" },
    spec: { ingressClassName: className },
    status: { loadBalancer: { ingress: status } },
  });
}

function ingressClass(name: string, controller: string) {
  return ingressClassKind.project({
    metadata: { name, uid: "u", resourceVersion: "1" },
    spec: { controller },
  });
}

const write = { namespace: "shop", name: "web", resourceVersion: "7", addresses: inOrder };
const right = [{ hostname: "edge.example" }, { ip: "192.0.2.2" }, { ip: "192.0.2.1" }];

test.each([
  ["an empty status is filled", ingress("lockstep"), write],
  ["a wrong one is replaced", ingress("lockstep", [{ ip: "192.0.2.1" }]), write],
  ["a right one is left, in whatever order", ingress("lockstep", right), undefined],
  ["one with more than it should have is replaced", ingress("lockstep", [...right, {}]), write],
  ["an Ingress of another class is left alone", ingress("nginx"), undefined],
  ["a class of our controller is ours", ingress("edge"), write],
])("%s", (_, subject, expected) => {
  const classes = [ingressClass("edge", "lockstep.dev/ingress")];
  expect(statusWrite(subject, { classes, className: "lockstep", addresses })).toEqual(expected);
});

test("a class of the configured name that another controller serves is not ours", () => {
  const classes = [ingressClass("lockstep", "example.com/other")];
  const rule = { classes, className: "lockstep", addresses };
  expect(statusWrite(ingress("lockstep"), rule)).toBeUndefined();
});

test("without an address nothing is written: a status is never emptied", () => {
  const rule = { classes: [], className: "lockstep", addresses: [] };
  expect(statusWrite(ingress("lockstep", [{ ip: "192.0.2.1" }]), rule)).toBeUndefined();
});

test.each([
  ["192.0.2.1", "ip"],
  ["2001:db8::1", "ip"],
  ["edge.example", "hostname"],
  ["10.example", "hostname"],
] as const)("%s is published as %s", (text, field) => {
  expect(isLoadBalancerAddress(text)).toBe(true);
  expect(loadBalancerAddress(text)).toEqual({ ip: "", hostname: "", [field]: text });
});

test.each([
  "",
  "192.0.2",
  "192.0.2.256",
  "192.0.02.1",
  "1:2",
  "Edge.example",
  "a b",
  "http://edge",
  "-a.example",
])("%j is no address", (text) => {
  expect(isLoadBalancerAddress(text)).toBe(false);
});
