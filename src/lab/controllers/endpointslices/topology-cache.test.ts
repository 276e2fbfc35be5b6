import { describe, expect, test } from "vitest";
import { wholeOf } from "../../../../tests/controllers/controller-objects.ts";
import { wholeNodeKind } from "../nodes/whole-node.ts";
import { wholeSlices } from "../whole-object.ts";
import { newSlice, type PublishedSlice, readSlice, type WantedSlice } from "./published-slice.ts";
import type { Endpoint } from "./slice-groups.ts";
import { TopologyCache } from "./topology-cache.ts";

/** Two zones of equal size, unless other zones are given. */
function cacheWith(zones = ["a", "b"]): TopologyCache {
  const cache = new TopologyCache();
  cache.setNodes(
    zones.map((zone) =>
      wholeNodeKind.project({
        metadata: {
          name: zone,
          uid: zone,
          resourceVersion: "1",
          labels: { "topology.kubernetes.io/zone": zone },
        },
        status: { allocatable: { cpu: "4" }, conditions: [{ type: "Ready", status: "True" }] },
      }),
    ),
  );
  return cache;
}

/** One ready endpoint for each letter, in the zone of that name. */
function endpoints(zones: string): readonly Endpoint[] {
  return zones.split("").map((zone, index) => ({
    addresses: [`10.0.0.${index}`],
    conditions: { ready: true },
    targetRef: { kind: "Pod", namespace: "default", name: `p${index}`, uid: `u${index}` },
    zone,
  }));
}

function created(zones: string): readonly WantedSlice[] {
  return [newSlice("IPv4", [], endpoints(zones))];
}

function published(slice: WantedSlice | undefined): PublishedSlice {
  const content = { addressType: "IPv4", endpoints: slice?.endpoints ?? [] };
  return readSlice(wholeOf(wholeSlices, "web-1", content));
}

function zonesOf(slices: readonly WantedSlice[]): string {
  return slices
    .flatMap((slice) => slice.endpoints)
    .map(({ hints }) => hints?.forZones?.map(({ name }) => name).join() ?? "-")
    .join("");
}

const nothing = { create: [], update: [], unchanged: [] };

describe("hints", () => {
  test("are the endpoints' own zones where they are spread, with one event", () => {
    const cache = cacheWith();
    const first = cache.add("shop/web", "IPv4", { ...nothing, create: created("abab") });
    const again = cache.add("shop/web", "IPv4", { ...nothing, create: created("abab") });
    expect([zonesOf(first.create), zonesOf(again.create)]).toEqual(["abab", "abab"]);
    expect(first.events).toEqual([
      {
        type: "Normal",
        reason: "TopologyAwareHintsEnabled",
        message: "Topology Aware Hints has been enabled, addressType: IPv4",
      },
    ]);
    expect(again.events).toEqual([]);
  });

  test("give endpoints to a zone that has too few", () => {
    const { create } = cacheWith().add("shop/web", "IPv4", { ...nothing, create: created("aaaa") });
    expect(zonesOf(create)).toBe("bbaa");
  });

  test("stay where they are right, and no slice is written for them", () => {
    const cache = cacheWith();
    const { create } = cache.add("shop/web", "IPv4", { ...nothing, create: created("abab") });
    const unchanged = [published(create[0])];
    expect(cache.add("shop/web", "IPv4", { ...nothing, unchanged })).toEqual({
      create: [],
      update: [],
      events: [],
    });
  });

  test.each([
    ["too few endpoints", "a", "Insufficient number of endpoints (1 endpoints, 2 zones)"],
    ["an endpoint without a zone", "ab-a", "One or more endpoints do not have a zone specified"],
  ])("are none with %s, with an event", (_, zones, message) => {
    const given = endpoints(zones).map((one) => (one.zone === "-" ? { ...one, zone: "" } : one));
    const create = [newSlice("IPv4", [], given)];
    const hinted = cacheWith().add("shop/web", "IPv4", { ...nothing, create });
    expect(zonesOf(hinted.create)).toBe("-".repeat(given.length));
    expect(hinted.events).toEqual([
      {
        type: "Warning",
        reason: "TopologyAwareHintsDisabled",
        message: `${message}, addressType: IPv4`,
      },
    ]);
  });

  test("that are no longer requested are reported as removed, once", () => {
    const cache = cacheWith();
    cache.add("shop/web", "IPv4", { ...nothing, create: created("abab") });
    expect(cache.remove("shop/web", "IPv4").map(({ message }) => message)).toEqual([
      "Topology Aware Hints has been disabled, addressType: IPv4",
    ]);
    expect(cache.remove("shop/web", "IPv4")).toEqual([]);
  });
});

test("services whose hints do not fit the nodes any more are known", () => {
  const cache = cacheWith();
  cache.add("shop/web", "IPv4", { ...nothing, create: created("abab") });
  expect(cache.overloaded()).toEqual([]);
  cache.setNodes([]);
  expect(cache.overloaded()).toEqual(["shop/web"]);
});
