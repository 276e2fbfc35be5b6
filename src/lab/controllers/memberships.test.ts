import { describe, expect, test } from "vitest";
import { type PodFields, podOf } from "../../../tests/controllers/controller-objects.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { Store } from "../../kube/store/store.ts";
import type { PodUpdates } from "../versions/profile.ts";
import { selectorKey } from "./informers.ts";
import { servicesConcerned } from "./memberships.ts";

function serviceNamed(name: string, selector: object | undefined, namespace = "default"): Service {
  const metadata = { namespace, name, uid: name, resourceVersion: "1" };
  return serviceKind.project({ metadata, spec: { selector } });
}

const services = new Store<Service, "selector">({ indexes: { selector: selectorKey } });
services.replace([
  serviceNamed("red", { color: "red" }),
  serviceNamed("red-web", { color: "red", app: "web" }),
  serviceNamed("blue", { color: "blue" }),
  serviceNamed("all", {}),
  serviceNamed("none", undefined),
  serviceNamed("red", { color: "red" }, "elsewhere"),
]);

const red = { color: "red", app: "web" };
const blue = { color: "blue", app: "web" };

function concerned(before: PodFields, after: PodFields, podUpdates: PodUpdates = "address") {
  const previous = podOf("a", { version: "1", ...before });
  const object = podOf("a", { version: "2", ...after });
  const change = { type: "updated", object, previous, learntBy: "watch" } as const;
  return [...servicesConcerned(change, services, podUpdates)].sort();
}

test.each(["added", "deleted"] as const)("a pod that is %s concerns all that select it", (type) => {
  const object = podOf("a", { labels: red });
  const change = { type, object, learntBy: "watch", finalStateUnknown: false } as const;
  expect([...servicesConcerned(change, services, "address")].sort()).toEqual([
    "default/all",
    "default/red",
    "default/red-web",
  ]);
});

describe("an update concerns", () => {
  const ofRed = ["default/all", "default/red", "default/red-web"];

  test.each<[string, PodFields, PodFields, readonly string[]]>([
    ["nobody when only its version is new", { labels: red }, { labels: red }, []],
    ["nobody when it is a resync", { labels: red, version: "2" }, { labels: red, ready: true }, []],
    [
      "its services when it becomes ready",
      { labels: red, ready: false },
      { labels: red, ready: true },
      ofRed,
    ],
    [
      "its services when its address changes",
      { labels: red },
      { labels: red, ip: "10.0.0.9" },
      ofRed,
    ],
    ["its services when it is to go", { labels: red }, { labels: red, deleted: true }, ofRed],
    [
      "its services whenever it is on its way out, for pointers are compared",
      { labels: red, deleted: true },
      { labels: red, deleted: true },
      ofRed,
    ],
    [
      "those it joins and those it leaves when only its labels change",
      { labels: red },
      { labels: blue },
      ["default/blue", "default/red", "default/red-web"],
    ],
    [
      "all that selected it or do now when its labels and its state change",
      { labels: red, ready: false },
      { labels: blue, ready: true },
      ["default/all", "default/blue", "default/red", "default/red-web"],
    ],
    [
      "nobody when its hostname changes and it stays",
      { labels: red },
      { labels: red, spec: { hostname: "h" } },
      [],
    ],
  ])("%s", (_, before, after, expected) => {
    expect(concerned(before, after)).toEqual(expected);
  });

  test("its services when it gets its node, but not in 1.33", () => {
    const [before, after] = [
      { labels: red, ip: "", node: "" },
      { labels: red, ip: "" },
    ];
    expect(concerned(before, after, "address-or-node")).toEqual(ofRed);
    expect(concerned(before, after, "address")).toEqual([]);
  });

  test("all its services in 1.7, whatever changed", () => {
    expect(concerned({ labels: red }, { labels: red }, "any")).toEqual(ofRed);
    expect(concerned({ labels: red, version: "2" }, { labels: red }, "any")).toEqual([]);
  });
});
