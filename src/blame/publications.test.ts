import { describe, expect, test } from "vitest";
import { at, pod, slice, Told } from "../../tests/blame/blame-world.ts";
import { standingAt } from "./pod-life.ts";

const web1 = { ip: "10.0.0.1", uid: "uid-web-1", name: "web-1" };

/** From when to when 10.0.0.1 was listed, in seconds. */
function listedFrom(told: Told): readonly (readonly [number, number | undefined])[] {
  const seconds = (ms: number): number => (ms - at(0)) / 1_000;
  return told.evidence.publications
    .ofAddress("10.0.0.1")
    .map(({ from, until }) => [seconds(from.toMs), until && seconds(until.toMs)]);
}

describe("an endpoint is listed", () => {
  test("as long as any object lists it, also while it moves to another", () => {
    const told = new Told()
      .saw(10, "EndpointSlice", slice([web1], "one"))
      .saw(20, "EndpointSlice", slice([web1], "two"))
      .saw(30, "EndpointSlice", slice([], "one"));
    expect(listedFrom(told)).toEqual([[10, undefined]]);
    told.gone(40, "EndpointSlice", slice([web1], "two"));
    expect(listedFrom(told)).toEqual([[10, 40]]);
  });

  test("anew for the pod that has the address next, and when it is ready again", () => {
    const told = new Told()
      .saw(10, "EndpointSlice", slice([web1]))
      .saw(20, "EndpointSlice", slice([{ ...web1, uid: "uid-other" }]))
      .saw(30, "EndpointSlice", slice([]))
      .saw(40, "EndpointSlice", slice([web1]));
    expect(listedFrom(told)).toEqual([
      [10, 20],
      [20, 30],
      [40, undefined],
    ]);
  });
});

test("a pod that is ready, not ready and ready again serves, has left, and serves", () => {
  const told = new Told()
    .saw(10.5, "Pod", pod({ readySince: 10 }))
    .saw(20.5, "Pod", pod({ unreadySince: 20 }))
    .saw(30.5, "Pod", pod({ readySince: 30 }));
  const { moments = [] } = told.evidence.lives.byUid("uid-web-1") ?? {};
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
  const names = (told: Told): readonly (string | undefined)[] =>
    told.evidence.publications.latestFirst("shop/web").map(({ address }) => address);

  test("is told with what lasted longest first, however it changes", () => {
    const [one, two, three] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map((ip) => ({ ip }));
    if (one === undefined || two === undefined || three === undefined) throw new Error("of three");
    const told = new Told()
      .saw(10, "EndpointSlice", slice([one, two, three]))
      .saw(20, "EndpointSlice", slice([one, three]));
    expect(names(told)).toEqual([one.ip, three.ip, two.ip]);
    told.saw(30, "EndpointSlice", slice([three]));
    expect(names(told)).toEqual([three.ip, one.ip, two.ip]);
    told.saw(40, "EndpointSlice", slice([two]));
    expect(names(told)).toEqual([two.ip, three.ip, one.ip, two.ip]);
    told.saw(50, "EndpointSlice", slice([two, one]));
    expect(names(told)).toEqual([two.ip, one.ip, three.ip, one.ip, two.ip]);
  });

  test("is forgotten beyond the limit, the addresses listed first before others", () => {
    const told = new Told({ listingsMax: 2 });
    for (let index = 1; index <= 5; index += 1) {
      told.saw(index, "EndpointSlice", slice([{ ip: `10.0.0.${index}` }]));
    }
    expect(names(told)).toEqual(["10.0.0.5", "10.0.0.4"]);
    told.saw(6, "EndpointSlice", slice([{ ip: "10.0.0.1" }]));
    expect(names(told)).toEqual(["10.0.0.1", "10.0.0.5"]);
    const { size, dropped } = told.evidence.publications;
    expect([size, dropped]).toEqual([2, 4]);
  });
});
