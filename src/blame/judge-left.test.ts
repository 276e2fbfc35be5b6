import { describe, expect, test } from "vitest";
import {
  at,
  judged,
  node,
  ObservedClusters,
  pod,
  request,
  service,
  slice,
  web1,
} from "../../tests/blame/blame-world.ts";
import type { RawRecord } from "../kube/kinds/fields.ts";
import type { RecordedKindName } from "../recording/recorded-kinds.ts";

const silent = { status: 504, durationMs: 5_000 };

function verdictOn(
  observed: ObservedClusters,
  ...[over, tries, options]: Parameters<typeof request>
) {
  return judged(observed, request(over, tries, { status: 504, ...options }))[0];
}

/** Adds an object that a list showed at `seconds`; the list before it was at `after`. */
function found(
  observed: ObservedClusters,
  seconds: number,
  after: number,
  kind: RecordedKindName,
  object: RawRecord,
) {
  const seen = { atMs: at(seconds), isWatched: false, afterMs: at(after) };
  observed.evidence.add({ cluster: "prod", kind, isDeleted: false, object, seen });
}

describe("a pod that left at an unrecorded moment", () => {
  function vanished(): ObservedClusters {
    const observed = new ObservedClusters({ untilSeconds: 95 })
      .saw(1, "Service", service())
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(10.2, "EndpointSlice", slice([web1]));
    const seen = { atMs: at(1_000), isWatched: false, afterMs: at(95) };
    observed.evidence.add({ cluster: "prod", kind: "Pod", isDeleted: true, object: pod(), seen });
    observed.evidence.cover({ cluster: "prod", namespace: undefined }, at(1_000)).toMs = at(2_000);
    return observed;
  }

  test("was likely gone when it refused", () => {
    expect(verdictOn(vanished(), 500, [{}], { status: 502 })).toBe("likely: published late");
  });

  test("looks like a slow pod while a request waits", () => {
    expect(judged(vanished(), request(500, [silent]))).toEqual([
      "cannot tell: unknown",
      "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. The pod left within 15 min 5 s around the request; the evidence does not say when.",
    ]);
  });

  test("had not left when that moment may just have begun", () => {
    const entry = request(95.1, [{ durationMs: 200 }]);
    expect(judged(vanished(), entry, 100)[0]).toBe("likely: application");
    expect(judged(vanished(), request(94, [{ durationMs: 200 }]), 100)[0]).toBe(
      "likely: application",
    );
  });

  test("is gone for good, also a little later than anything is known", () => {
    expect(verdictOn(vanished(), 2_100, [silent])).toBe("likely: published late");
    expect(verdictOn(vanished(), 2_400, [silent])).toBe("cannot tell: unknown");
  });
});

describe("a pod that left about when a request was sent to it", () => {
  const observed = () =>
    new ObservedClusters()
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(10.2, "EndpointSlice", slice([web1]))
      .saw(120.2, "Pod", pod({ unreadySince: 120 }));

  test("more likely had it before, if the request waited for an answer", () => {
    const coarse = { resolutionMs: 1_000, durationMs: 2_000 };
    expect(verdictOn(observed(), 121.3, [{ status: 504, durationMs: 2_000 }], coarse)).toBe(
      "likely: left meanwhile",
    );
    expect(verdictOn(observed(), 122.8, [{ status: 504, durationMs: 2_000 }], coarse)).toBe(
      "certain: published late",
    );
  });

  test("had answered before that, if it more likely left after the end", () => {
    expect(verdictOn(observed(), 119.3, [silent], { resolutionMs: 1_000 })).toBe("likely: timeout");
  });
});

describe("a node that is given up", () => {
  const lost = (heartbeat: number) =>
    new ObservedClusters()
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(10.2, "EndpointSlice", slice([web1]))
      .saw(340, "Node", node("Unknown", 340, heartbeat))
      .saw(340.1, "Pod", pod({ unreadySince: 340 }));

  test("was not lost to a request that was sent before its last heartbeat", () => {
    expect(verdictOn(lost(300), 298, [silent])).toBe("likely: timeout");
    expect(verdictOn(lost(300), 304, [silent])).toBe("likely: left meanwhile");
    expect(verdictOn(lost(300), 310, [silent])).toBe("likely: shown late");
  });

  test("had not been silent for longer than it takes to give it up, whatever its status says", () => {
    expect(verdictOn(lost(60), 200, [silent])).toBe("likely: timeout");
    expect(verdictOn(lost(60), 290, [silent])).toBe("likely: shown late");
  });
});

describe("a pod that is given up with its node", () => {
  const given = pod({ unreadySince: 340, areContainersReady: true });
  const observed = () =>
    new ObservedClusters()
      .saw(10, "Pod", pod({ readySince: 10 }))
      .saw(10.2, "EndpointSlice", slice([web1]))
      .saw(340.1, "Pod", given);

  test("was dead since the last heartbeat of the node, not only since the API showed the loss", () => {
    const withNode = observed().saw(340, "Node", node("Unknown", 340, 290));
    expect(verdictOn(withNode, 297, [silent])).toBe("likely: shown late");
    expect(verdictOn(withNode, 289, [silent])).toBe("likely: timeout");
  });

  test("gets the verdict also without its node, but the hop is not certain", () => {
    expect(verdictOn(observed(), 300, [silent])).toBe("likely: shown late");
    expect(judged(observed(), request(350, [silent]))).toMatchInlineSnapshot(`
      [
        "likely: shown late",
        "10.0.0.1:8080 was pod shop/web-1 in prod on node-1. Node marked lost at 12:05:40.100, as the pod shows, after at most 2 min without a heartbeat. The service's endpoints in prod still listed it 4.9 s later. The cause may also be published late: the times are too coarse to decide.",
      ]
    `);
    expect(verdictOn(observed(), 200, [silent])).toBe("likely: timeout");
  });
});

describe("a pod that was there before the recording began", () => {
  test("and was being deleted then, has left", () => {
    const observed = new ObservedClusters();
    found(observed, 1, -100, "Pod", pod({ created: -500, unreadySince: -5, deleted: -10 }));
    expect(verdictOn(observed, 60, [silent])).toBe("certain: stale");
  });

  test("and was not ready, may have been before", () => {
    const observed = new ObservedClusters();
    found(observed, 1, -100, "Pod", pod({ created: -500, unreadySince: -500 }));
    expect(verdictOn(observed, 60, [silent])).toBe("likely: not yet listening");
    observed.saw(2, "Pod", pod({ name: "web-2", ip: "10.0.0.2", created: 2, unreadySince: 2 }));
    expect(verdictOn(observed, 60, [{ ...silent, address: "10.0.0.2" }])).toBe(
      "certain: not yet listening",
    );
  });
});
