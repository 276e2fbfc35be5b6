import { describe, expect, test } from "vitest";
import {
  at,
  ObservedClusters,
  type PodOptions,
  pod,
  service,
  slice,
} from "../../tests/blame/blame-world.ts";
import { recordAt } from "../kube/kinds/fields.ts";
import { meantPods } from "./meant-pod.ts";

/** `name`, or `name > who has the address by then`; `?` where the one before may be meant. */
function meant(
  observed: ObservedClusters,
  seconds: number,
  options: { service?: string; port?: number } = {},
) {
  const { evidence } = observed;
  const found = meantPods({
    evidence,
    address: "10.0.0.1",
    port: options.port ?? 8080,
    sent: { fromMs: at(seconds), toMs: at(seconds) },
    service: options.service,
    listings: evidence.publications.ofAddress("10.0.0.1"),
  });
  return found.map(({ life, successor, predecessor }) => {
    const names = [life.facts.name, ...(successor ? [successor.facts.name] : [])];
    return `${names.join(" > ")}${predecessor ? "?" : ""}`;
  });
}

describe("an address", () => {
  const pay = { name: "pay-1", created: 150, readySince: 200, labels: { app: "pay" } };
  const observed = new ObservedClusters()
    .saw(1, "Service", service())
    .saw(10, "Pod", pod({ readySince: 10 }))
    .gone(100, "Pod", pod({ readySince: 10 }))
    .saw(200, "Pod", pod(pay));

  test("means the pod that had it last, until another one has it", () => {
    expect([-1, 50, 199, 200].map((seconds) => meant(observed, seconds))).toEqual([
      [],
      ["web-1"],
      ["web-1"],
      ["pay-1?"],
    ]);
    expect(meant(observed, 100 + 3_601)).toEqual(["pay-1"]);
  });

  test("means the pod of the service that the log names, even if another pod has the address by then", () => {
    expect(meant(observed, 300, { service: "shop/web" })).toEqual(["web-1 > pay-1"]);
    expect(meant(observed, 300, { service: "shop/other" })).toEqual(["pay-1"]);
  });

  test("means the pod that is listed, if that has left", () => {
    const listed = [{ ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" }];
    const late = new ObservedClusters()
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(11, "EndpointSlice", slice(listed))
      .gone(100, "Pod", pod({ readySince: 10 }))
      .saw(200, "Pod", pod(pay));
    expect(meant(late, 300)).toEqual(["web-1 > pay-1"]);
    const labels = { "kubernetes.io/service-name": "pay" };
    const own = slice([{ ip: "10.0.0.1", uid: "uid-pay-1", name: "pay-1" }], "pay-abc");
    const both = { ...own, metadata: { ...recordAt(own, "metadata"), labels } };
    expect(meant(late.saw(201, "EndpointSlice", both), 300)).toEqual(["web-1 > pay-1", "pay-1?"]);
  });
});

describe("a node's address", () => {
  const onHost = (name: string, more: PodOptions = {}) =>
    pod({ name, hostNetwork: true, readySince: 10, labels: { app: name }, ...more });

  test("means the pod that is listed", () => {
    const listed = [{ ip: "10.0.0.1", uid: "uid-edge", name: "edge" }];
    const observed = new ObservedClusters()
      .saw(10, "Pod", onHost("edge"))
      .saw(11, "Pod", onHost("exporter"))
      .saw(12, "EndpointSlice", slice(listed));
    expect(meant(observed, 20)).toEqual(["edge"]);
  });

  test("means the one that has the port, and all of them if no port is known", () => {
    const observed = (port?: number) =>
      new ObservedClusters()
        .saw(10, "Pod", onHost("edge", { ...(port && { port }) }))
        .saw(11, "Pod", onHost("exporter"));
    expect(meant(observed(8080), 20)).toEqual(["edge"]);
    expect(meant(observed(), 20)).toEqual(["edge", "exporter"]);
  });
});

test("an address that two clusters use means the pod of the service, or either", () => {
  const west = (labels: Record<string, string>) =>
    new ObservedClusters()
      .saw(1, "Service", service())
      .saw(1, "Service", service(), "west")
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(11, "Pod", pod({ name: "west-1", readySince: 10, labels }), "west");
  expect(meant(west({ app: "pay" }), 20, { service: "shop/web" })).toEqual(["web-1"]);
  expect(meant(west({ app: "web" }), 20, { service: "shop/web" })).toEqual(["web-1", "west-1"]);
});
