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
import type { AccessLogEntry } from "../access-log/access-log-entry.ts";

describe("a request to a pod that had left", () => {
  test("while its service still listed it is the published hop's fault", () => {
    expect(judged(released(), request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (19.9 s before the request). Container ended at 12:01:41.500. The service's endpoints in prod still listed it 19.9 s later, until 29.9 s after the change.",
      ]
    `);
  });

  test("when it was no longer listed is the proxy's fault if that took longer", () => {
    expect(verdictOn(released(), request(140, [{}]))).toBe("certain: published late");
    expect(judged(released(), request(190, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: routed late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (1 min 30 s before the request). Container ended at 12:01:41.500. The service's endpoints in prod were updated 29.9 s later. The proxy still used it 1 min after that.",
      ]
    `);
  });

  test("is likely so where a log with whole seconds leaves it open", () => {
    const entry = request(100, [{}], { resolutionMs: 1_000 });
    expect(judged(released(), entry)).toMatchInlineSnapshot(`
      [
        "likely: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (at most 998 ms before the request). The service's endpoints in prod still listed it at most 998 ms later, until 29.9 s after the change.",
      ]
    `);
  });

  test("is on the hop that most orders of coarse times say, and names the other", () => {
    const observed = listedPod()
      .saw(100, "Pod", pod({ readySince: 10, deleted: 100 }))
      .saw(100.3, "EndpointSlice", slice([]));
    expect(judged(observed, request(100, [{}], { resolutionMs: 1_000 }))).toMatchInlineSnapshot(`
      [
        "likely: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.000 (at most 998 ms before the request). The service's endpoints in prod were updated 300 ms later. The proxy still used it at most 698 ms after that. The cause may also be routed late: the times are too coarse to decide.",
      ]
    `);
    expect(verdictOn(observed, request(100.8, [{}]))).toBe("certain: routed late");
    expect(verdictOn(observed, request(100.5, [{}]))).toBe("certain: published late");
  });

  test("is likely so where the clocks may differ by more", () => {
    expect(verdictOn(released(), request(101, [{}]), 0)).toBe("certain: published late");
    expect(verdictOn(released(), request(101, [{}]), 2_000)).toBe("likely: published late");
  });

  test("cannot be put on a hop where nothing published is known", () => {
    const observed = readyPod().saw(100, "Pod", pod({ readySince: 10, deleted: 100 }));
    expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: stale",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.000 (20 s before the request). No Endpoints or EndpointSlices of shop in prod are known, so the late hop is unknown.",
      ]
    `);
  });

  test("is on the copy when that was late", () => {
    const observed = released()
      .saw(11, "EndpointSlice", slice([web1], "web-prod-0"), "edge")
      .saw(200, "EndpointSlice", slice([], "web-prod-0"), "edge");
    expect(judged(observed, request(199, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: synced late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (1 min 39 s before the request). Container ended at 12:01:41.500. The service's endpoints in prod were updated 29.9 s later. The copy in edge still listed it 1 min 9 s later, until 1 min 40 s after the change.",
      ]
    `);
    expect(verdictOn(observed, request(400, [{}]))).toBe("certain: routed late");
  });

  test("names both pods when the address has passed to another", () => {
    const other = { name: "pay-1", uid: "uid-pay-1", readySince: 110, created: 105 };
    const observed = released().saw(110, "Pod", pod({ ...other, labels: { app: "pay" } }));
    expect(judged(observed, request(125, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: published late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200 (24.9 s before the request). Container ended at 12:01:41.500. The service's endpoints in prod still listed it 24.9 s later, until 29.9 s after the change. The address now belongs to shop/pay-1.",
      ]
    `);
  });

  test("that crashed before the API showed it is not blamed on controllers or proxies", () => {
    const observed = listedPod().saw(130, "Pod", pod({ unreadySince: 130, endedAt: 100 }));
    expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: shown late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Container ended at 12:01:40 (19 s to 20 s before the request). The API did not show it yet; it did 29.5 s later.",
      ]
    `);
  });

  test("that was killed for its memory names the reason, and blames no hop until the API showed it", () => {
    const observed = listedPod()
      .saw(101.2, "Pod", pod({ unreadySince: 101, endedAt: 100, endedBy: "OOMKilled" }))
      .saw(110, "EndpointSlice", slice([]));
    expect(judged(observed, request(101.1, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: shown late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Container ended (OOMKilled) at 12:01:40 (99 ms to 1.1 s before the request). The API did not show it yet; it did 200 ms to 1.2 s later.",
      ]
    `);
    expect(verdictOn(observed, request(109, [{}]))).toBe("certain: published late");
  });

  test("whose node fell silent is likely lost with it, as became known later", () => {
    const observed = new ObservedClusters()
      .saw(1, "Node", node("True", 0, 0))
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(10.2, "EndpointSlice", slice([web1]))
      .saw(140, "Node", node("Unknown", 140, 100))
      .saw(140.1, "Pod", pod({ unreadySince: 140 }));
    expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "likely: shown late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Node last seen at 12:01:40.000 (20 s before the request), marked lost at 12:02:20.000.",
      ]
    `);
    expect(verdictOn(observed, request(90, [{}]))).toBe("likely: application");
    const answered = request(120, [{ answered: true, status: 503 }]);
    expect(verdictOn(observed, answered)).toBe("certain: application");
  });
});

describe("a request that was sent to no stale endpoint", () => {
  test("but whose pod left while it had it", () => {
    const entry = request(102, [{ durationMs: 5_000 }]);
    expect(judged(released(), entry)).toMatchInlineSnapshot(`
      [
        "certain: left meanwhile",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Pod deletion requested at 12:01:40.200, while it had the request.",
      ]
    `);
  });

  test("but to a pod that failed or was too slow by itself", () => {
    expect(
      judged(released(), request(90, [{ answered: true, status: 503 }])),
    ).toMatchInlineSnapshot(`
      [
        "certain: application",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. It was ready, and answered 503 after 1 ms itself.",
      ]
    `);
    const slow = request(90, [{ status: 504, durationMs: 30_000 }], { status: 504 });
    expect(judged(released(), slow)).toMatchInlineSnapshot(`
      [
        "likely: timeout",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. It was ready, and did not answer within 30 s.",
      ]
    `);
  });

  test("but to one that did not listen yet", () => {
    const bare = new ObservedClusters().saw(10, "Pod", pod({ readySince: 10, probe: false }));
    expect(judged(bare, request(12, [{}]))).toMatchInlineSnapshot(`
      [
        "likely: not yet listening",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. It has no readiness probe, so it counts as ready before it listens.",
      ]
    `);
    expect(judged(released(), request(5, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: not yet listening",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. It had not been ready yet.",
      ]
    `);
  });

  test("but to one whose container had restarted in time", () => {
    const observed = readyPod()
      .saw(50, "Pod", pod({ unreadySince: 50, endedAt: 49 }))
      .saw(60, "Pod", pod({ readySince: 60, endedAt: 49, restartedAt: 55 }));
    expect(verdictOn(observed, request(52, [{}]))).toBe("certain: stale");
    expect(verdictOn(observed, request(200, [{}]))).toBe("likely: application");
  });
});

describe("a request with several tries", () => {
  test("is blamed on the stale one, less surely if another pod was well", () => {
    const observed = released().saw(
      10,
      "Pod",
      pod({ name: "web-2", ip: "10.0.0.2", readySince: 10 }),
    );
    const both = request(120, [{}, { address: "10.0.0.2", answered: true, status: 500 }]);
    expect(verdictOn(observed, both)).toBe("likely: published late");
    expect(verdictOn(observed, request(120, [{}, {}]))).toBe("certain: published late");
  });
});

describe("an address of which no pod is known", () => {
  test("is blamed on the proxy if the list had dropped it, and on no hop if it had not", () => {
    const observed = new ObservedClusters()
      .saw(10, "EndpointSlice", slice([web1]))
      .saw(100, "EndpointSlice", slice([]));
    expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "certain: routed late",
        "10.0.0.1:8080: shop/web no longer listed it as pod web-1. The proxy still used it 20 s after that.",
      ]
    `);
    expect(judged(observed, request(90, [{}]))).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080: unknown. shop/web listed it as pod web-1 until 10 s later; the evidence has no such pod.",
      ]
    `);
  });

  test("is no pod's where the service stands for something outside, or lists it by hand", () => {
    const external = { metadata: service()["metadata"], spec: { externalName: "db.example.com" } };
    expect(
      judged(new ObservedClusters().saw(1, "Service", external), request(90, [{}])),
    ).toMatchInlineSnapshot(`
      [
        "certain: outside",
        "10.0.0.1:8080 is no pod: shop/web is the external name db.example.com.",
      ]
    `);
    const byHand = new ObservedClusters().saw(10, "EndpointSlice", slice([{ ip: "10.0.0.1" }]));
    expect(judged(byHand, request(90, [{}]))).toMatchInlineSnapshot(`
      [
        "likely: outside",
        "10.0.0.1:8080 is no pod: shop/web lists it by hand, without a pod.",
      ]
    `);
  });

  test("of two clusters' pods is that of neither, unless both say the same", () => {
    const observed = released()
      .saw(2, "Service", service(), "west")
      .saw(10, "Pod", pod({ name: "west-1", readySince: 10 }), "west");
    observed.evidence.cover({ cluster: "west", namespace: undefined }, 0).toMs =
      Number.MAX_SAFE_INTEGER;
    expect(judged(observed, request(120, [{}]))).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "10.0.0.1:8080: unknown. The address belonged to shop/web-1 in prod (published late) and to shop/west-1 in west (application); give the cluster of this proxy with --cluster.",
      ]
    `);
    expect(judged(observed, request(90, [{ answered: true, status: 503 }]))).toMatchInlineSnapshot(`
      [
        "likely: application",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1 or shop/west-1 in west. It was ready, and answered 503 after 1 ms itself.",
      ]
    `);
  });
});

describe("a request without a try", () => {
  const none = (seconds: number) => request(seconds, [], { status: 503 });

  test("met a service without endpoints, and says what its pods were", () => {
    const observed = released().saw(
      131,
      "Pod",
      pod({ name: "web-2", created: 131, ip: "10.0.0.2" }),
    );
    expect(judged(observed, none(135))).toMatchInlineSnapshot(`
      [
        "certain: no endpoints",
        "No endpoint was tried. shop/web: of its pods 1 not ready.",
      ]
    `);
  });

  test("met a service that never had a pod", () => {
    const observed = new ObservedClusters()
      .saw(1, "Service", service())
      .saw(1, "EndpointSlice", slice([]));
    expect(judged(observed, none(135))).toMatchInlineSnapshot(`
      [
        "certain: no endpoints",
        "No endpoint was tried. shop/web: it had no pod.",
      ]
    `);
  });

  test("came before ready pods were listed, or before the proxy knew them", () => {
    const observed = released()
      .saw(140, "Pod", pod({ name: "web-2", ip: "10.0.0.2", readySince: 140 }))
      .saw(150, "EndpointSlice", slice([{ ip: "10.0.0.2", uid: "uid-web-2" }]));
    expect(judged(observed, none(145))).toMatchInlineSnapshot(`
      [
        "certain: joined late",
        "No endpoint was tried. shop/web: 1 pod was ready and not listed yet, late by 5 s.",
      ]
    `);
    expect(judged(observed, none(155))).toMatchInlineSnapshot(`
      [
        "likely: joined late",
        "No endpoint was tried. shop/web: 1 endpoint was listed, but the proxy had none, late by 5 s.",
      ]
    `);
    expect(verdictOn(observed, none(1_000))).toBe("cannot tell: unknown");
  });

  test("had another reason if the service always had some endpoint", () => {
    const web2 = { ip: "10.0.0.2", uid: "uid-web-2" };
    const observed = new ObservedClusters({ untilSeconds: 9_000 })
      .saw(1, "Service", service())
      .saw(10, "EndpointSlice", slice([web1]))
      .saw(2_000, "EndpointSlice", slice([web1, web2]))
      .saw(2_010, "EndpointSlice", slice([web2]));
    expect(judged(observed, none(2_020))).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "No endpoint was tried. shop/web: 1 endpoint was listed, so the proxy had another reason not to try one.",
      ]
    `);
  });

  test("is not one if the log does not say whether an endpoint was tried", () => {
    const triesUnknown = "the log does not name the endpoints that were tried";
    expect(judged(released(), { ...none(135), triesUnknown })).toEqual([
      "cannot tell: unknown",
      `shop/web: ${triesUnknown}.`,
    ]);
  });

  test("is unknown if pods were not followed, or if the log does not name the service", () => {
    expect(judged(released(), none(9_000))).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "No endpoint was tried. shop/web: it was not recorded at that time.",
      ]
    `);
    expect(judged(released(), { ...none(120), service: undefined })).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "No endpoint was tried. The log names neither an endpoint nor a service for it.",
      ]
    `);
    expect(judged(released(), { ...none(120), service: "shop/other" })).toMatchInlineSnapshot(`
      [
        "cannot tell: unknown",
        "No endpoint was tried. shop/other: no data about it: it was not recorded, or does not exist.",
      ]
    `);
  });
});

describe("an unknown cause names its reason", () => {
  const why = (observed: ObservedClusters, entry: AccessLogEntry): string =>
    judged(observed, entry).join("; ");

  test("of an address that no pod had", () => {
    expect(why(released(), request(120, [{ address: "10.9.9.9" }]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.9.9.9:8080: unknown. No pod recorded in prod had this address; it may belong to another cluster."`,
    );
  });

  test("before and after the recording", () => {
    expect(why(released(), request(-60, [{ address: "10.9.9.9" }]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.9.9.9:8080: unknown. The recording begins 1 min after the request."`,
    );
    expect(why(released(), request(-30, [{}]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.0.0.1:8080: unknown. The recording begins 30 s after the request."`,
    );
    expect(why(released(), request(7_200, [{}]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.0.0.1:8080 was pod shop/web-1 in prod on node-1. The data of prod ends 1 h before the request."`,
    );
  });

  test("without any pods, or with a list that names an unknown pod", () => {
    expect(why(new ObservedClusters(), request(120, [{}]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.0.0.1:8080: unknown. The recordings and objects given contain no pods."`,
    );
    const observed = new ObservedClusters().saw(10, "EndpointSlice", slice([web1]));
    expect(why(observed, request(120, [{}]))).toMatchInlineSnapshot(
      `"cannot tell: unknown; 10.0.0.1:8080: unknown. shop/web listed it as pod web-1; the evidence has no such pod."`,
    );
  });
});
