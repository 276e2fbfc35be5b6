import { describe, expect, test } from "vitest";
import { at, ObservedClusters, pod, slice } from "../../tests/blame/blame-world.ts";
import { standingAt } from "./pod-life.ts";

const web1 = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };

/** From when to when 10.0.0.1 was listed, in seconds. */
function listedFrom(
  observed: ObservedClusters,
): readonly (readonly [number, number | undefined])[] {
  const seconds = (ms: number): number => (ms - at(0)) / 1_000;
  return observed.evidence.publications
    .ofAddress("10.0.0.1")
    .map(({ from, until }) => [seconds(from.toMs), until && seconds(until.toMs)]);
}

describe("an endpoint is listed", () => {
  test("as long as any object lists it, also while it moves to another", () => {
    const observed = new ObservedClusters()
      .saw(10, "EndpointSlice", slice([web1], "one"))
      .saw(20, "EndpointSlice", slice([web1], "two"))
      .saw(30, "EndpointSlice", slice([], "one"));
    expect(listedFrom(observed)).toEqual([[10, undefined]]);
    observed.gone(40, "EndpointSlice", slice([web1], "two"));
    expect(listedFrom(observed)).toEqual([[10, 40]]);
  });

  test("again for the next pod with the address, and when the pod is ready again", () => {
    const observed = new ObservedClusters()
      .saw(10, "EndpointSlice", slice([web1]))
      .saw(20, "EndpointSlice", slice([{ ...web1, uid: "uid-other" }]))
      .saw(30, "EndpointSlice", slice([]))
      .saw(40, "EndpointSlice", slice([web1]));
    expect(listedFrom(observed)).toEqual([
      [10, 20],
      [20, 30],
      [40, undefined],
    ]);
  });
});

test("a pod that is ready, not ready and ready again serves, has left, and serves", () => {
  const observed = new ObservedClusters()
    .saw(10.5, "Pod", pod({ readySince: 10 }))
    .saw(20.5, "Pod", pod({ unreadySince: 20 }))
    .saw(30.5, "Pod", pod({ readySince: 30 }));
  const { moments = [] } = observed.evidence.lives.byUid("uid-web-1") ?? {};
  const types = (bound: "from" | "to") =>
    [9, 10.2, 11, 20.2, 21, 30.2, 31].map((second) => standingAt(moments, at(second), bound).type);
  expect(types("from")).toEqual([
    "not yet",
    "serving",
    "serving",
    "left",
    "left",
    "serving",
    "serving",
  ]);
  expect(types("to")).toEqual([
    "not yet",
    "not yet",
    "serving",
    "serving",
    "left",
    "left",
    "serving",
  ]);
});

describe("what a service listed", () => {
  const names = (observed: ObservedClusters): readonly (string | undefined)[] =>
    observed.evidence.publications.latestFirst("shop/web").map(({ address }) => address);

  test("lists the longest-lasting entries first, however they change", () => {
    const [one, two, three] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((ip) => ({ ip }));
    if (one === undefined || two === undefined || three === undefined) throw new Error("of three");
    const observed = new ObservedClusters()
      .saw(10, "EndpointSlice", slice([one, two, three]))
      .saw(20, "EndpointSlice", slice([one, three]));
    expect(names(observed)).toEqual([one.ip, three.ip, two.ip]);
    observed.saw(30, "EndpointSlice", slice([three]));
    expect(names(observed)).toEqual([three.ip, one.ip, two.ip]);
    observed.saw(40, "EndpointSlice", slice([two]));
    expect(names(observed)).toEqual([two.ip, three.ip, one.ip, two.ip]);
    observed.saw(50, "EndpointSlice", slice([two, one]));
    expect(names(observed)).toEqual([two.ip, one.ip, three.ip, one.ip, two.ip]);
  });

  test("is forgotten beyond the limit, the addresses listed first before others", () => {
    const observed = new ObservedClusters({ listingsMax: 2 });
    for (let index = 1; index <= 5; index += 1) {
      observed.saw(index, "EndpointSlice", slice([{ ip: `10.0.0.${index}` }]));
    }
    expect(names(observed)).toEqual(["10.0.0.5", "10.0.0.4"]);
    observed.saw(6, "EndpointSlice", slice([{ ip: "10.0.0.1" }]));
    expect(names(observed)).toEqual(["10.0.0.1", "10.0.0.5"]);
    const { size, dropped } = observed.evidence.publications;
    expect([size, dropped]).toEqual([2, 4]);
  });
});
