import { describe, expect, test } from "vitest";
import {
  judged,
  listedPod,
  node,
  ObservedClusters,
  pod,
  readyPod,
  released,
  request,
  service,
  slice,
  verdictOn,
  web1,
} from "../../tests/blame/blame-world.ts";
import { recordAt } from "../kube/kinds/fields.ts";
import { judgeRequest } from "./judge-request.ts";

describe("nothing is certain that rests on", () => {
  test("a log that does not say how long a request took, or in which zone its clock is", () => {
    const untimed = request(120, [{ durationMs: undefined }], { durationMs: undefined });
    expect(verdictOn(released(), untimed)).toBe("likely: published late");
    const zoneless = request(120, [{}], { isZoneGuessed: true });
    const verdict = judgeRequest(zoneless, {
      evidence: released().evidence,
      skewMs: 0,
      file: "a.log",
    });
    const said = [verdict, ...verdict.tries].map(({ confidence }) => confidence);
    expect(said).toEqual(["likely", "likely"]);
  });

  test("the death of a pod that answered", () => {
    const observed = readyPod().saw(100.5, "Pod", pod({ readySince: 10, endedAt: 100 }));
    const entry = (answered: boolean) => request(120, [{ answered }]);
    expect([true, false].map((answered) => verdictOn(observed, entry(answered)))).toEqual([
      "likely: stale",
      "certain: stale",
    ]);
  });

  test("one of two services or clusters that list the address", () => {
    const labels = { "kubernetes.io/service-name": "api" };
    const api = (listed: Parameters<typeof slice>[0]) => {
      const object = slice(listed, "api-abc");
      return { ...object, metadata: { ...recordAt(object, "metadata"), labels } };
    };
    const observed = released().saw(11, "EndpointSlice", api([web1]));
    observed.saw(100.3, "EndpointSlice", api([]));
    const unnamed = request(120, [{}], { service: undefined });
    expect(judged(observed, unnamed)).toMatchInlineSnapshot(`
      [
        "likely: routed late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (19.9 s before the request). Container ended at 12:01:41.500. The service's endpoints in prod were updated 100 ms to 300 ms later. The proxy still used it 19.7 s after that. The cause may also be published late: shop/web and shop/api list it, and the log names neither.",
      ]
    `);
    expect(verdictOn(observed, request(120, [{}]))).toBe("certain: published late");
    const copied = released()
      .saw(11, "EndpointSlice", slice([web1], "copy"), "edge")
      .saw(130.2, "EndpointSlice", slice([], "copy"), "edge")
      .saw(12, "EndpointSlice", slice([web1], "copy"), "west");
    expect(verdictOn(copied, request(400, [{}]))).toBe("likely: synced late");
    const podless = new ObservedClusters()
      .saw(10, "EndpointSlice", slice([web1]))
      .saw(11, "EndpointSlice", api([web1]))
      .saw(100, "EndpointSlice", api([]));
    expect(verdictOn(podless, unnamed)).toBe("cannot tell: unknown");
  });

  test("a pod that may have become ready again, or left only afterwards", () => {
    const flapped = readyPod()
      .saw(20.5, "Pod", pod({ unreadySince: 20 }))
      .saw(30.5, "Pod", pod({ readySince: 30 }));
    const answered = [{ answered: true, status: 503 }];
    expect(verdictOn(flapped, request(30.2, answered))).toBe("likely: application");
    expect(verdictOn(flapped, request(31, answered))).toBe("certain: application");
    expect(verdictOn(released(), request(100.1, [{ durationMs: 500 }]))).toBe(
      "likely: left meanwhile",
    );
  });

  test("a try of which nothing is known", () => {
    const own = { answered: true, status: 503 };
    const tries = [{ address: "10.9.9.9" }, own];
    expect(verdictOn(released(), request(90, tries))).toBe("likely: application");
    expect(verdictOn(released(), request(90, [own, own]))).toBe("certain: application");
  });
});

test("a try without a time of its own was most likely sent when its request came", () => {
  const untimed = { status: 504, durationMs: undefined };
  const slow = request(105, [untimed], { durationMs: 15_000, status: 504 });
  expect(verdictOn(released(), slow)).toBe("likely: left meanwhile");
  expect(verdictOn(released(), request(120, [untimed], { durationMs: 5 }))).toBe(
    "certain: published late",
  );
});

test("a node that reports a problem of its own has not been lost", () => {
  const observed = listedPod().saw(100, "Node", node("False", 100, 100));
  expect(verdictOn(observed, request(120, [{}]))).toBe("likely: application");
});

test("a service that lists pods whether they are ready or not is not late to let them go", () => {
  const always = { selector: { app: "web" }, publishNotReadyAddresses: true };
  const observed = released().saw(1, "Service", { ...service(), spec: always });
  expect(verdictOn(observed, request(100.5, [{}]))).toBe("likely: application");
  expect(verdictOn(observed, request(120, [{}]))).toBe("certain: published late");
});

test("a request that a pod of another service got was meant for one that is not known", () => {
  const pay = pod({ name: "pay-1", readySince: 10, labels: { app: "pay" } });
  const observed = new ObservedClusters().saw(1, "Service", service()).saw(10, "Pod", pay);
  const answered = request(120, [{ answered: true, status: 503 }]);
  expect(judged(observed, answered)).toMatchInlineSnapshot(`
    [
      "likely: stale",
      "10.0.0.1:8080 was pod shop/pay-1 in prod on node-1. That pod does not belong to shop/web, so an earlier pod with the address was used.",
    ]
  `);
  expect(verdictOn(observed, { ...answered, service: "shop/pay" })).toBe("certain: application");
  const page = request(120, [{ answered: true, status: 503, isRedirected: true }]);
  expect(verdictOn(observed, page)).toBe("certain: application");
});

test("a pod that has another address since its node was restarted has left the one before", () => {
  const observed = listedPod()
    .saw(100, "Pod", pod({ readySince: 99, ip: "10.0.0.8" }))
    .saw(130, "EndpointSlice", slice([{ ...web1, ip: "10.0.0.8" }]));
  expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
    [
      "certain: published late",
      "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod got another address at 12:01:40.000 (20 s before the request). The service's endpoints in prod still listed it 20 s later, until 30 s after the change.",
    ]
  `);
  expect(verdictOn(observed, request(140, [{ address: "10.0.0.8" }]))).toBe("likely: application");
});

test("an address of a service itself is reported as one", () => {
  const spec = { selector: { app: "web" }, clusterIP: "10.96.0.7", clusterIPs: ["10.96.0.7"] };
  const observed = released().saw(1, "Service", { ...service(), spec });
  expect(judged(observed, request(120, [{ address: "10.96.0.7" }]))).toMatchInlineSnapshot(`
    [
      "cannot tell: unknown",
      "10.96.0.7:8080: unknown. It is the cluster IP of service shop/web; kube-proxy chose the pod.",
    ]
  `);
});
