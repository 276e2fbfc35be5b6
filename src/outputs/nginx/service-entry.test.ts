import { describe, expect, it } from "vitest";
import type { DecidedEndpoint } from "../../decide/decision.ts";
import { isServiceEntry, serviceEntry, tieredEndpoints } from "./service-entry.ts";

describe("a service as it is pushed", () => {
  it("has tiers by state and, among those of the same state, by priority", () => {
    const { tiers, endpoints } = tieredEndpoints([
      endpoint("10.0.0.1", { state: "suspect" }),
      endpoint("10.0.0.2", { priority: 1 }),
      endpoint("10.0.0.3", { state: "draining", priority: 2 }),
      endpoint("10.0.0.4", { state: "out" }),
      endpoint("10.0.0.5"),
      endpoint("10.0.0.6", { state: "draining" }),
      endpoint("10.0.0.7", { state: "held", priority: 0 }),
      endpoint("10.0.0.8", { state: "suspect", priority: 1 }),
    ]);
    expect(tiers).toEqual([2, 1, 1, 1, 1, 1]);
    expect(endpoints.map(({ address }) => address)).toEqual([
      "10.0.0.5",
      "10.0.0.7",
      "10.0.0.2",
      "10.0.0.6",
      "10.0.0.3",
      "10.0.0.1",
      "10.0.0.8",
    ]);
  });

  it("has an address and port once, where it stands best, and no empty tier", () => {
    const twice = [endpoint("10.0.0.1", { state: "draining" }), endpoint("10.0.0.1")];
    const { tiers, endpoints } = tieredEndpoints(twice);
    expect([tiers, endpoints.map(({ state }) => state)]).toEqual([[1], ["active"]]);
  });

  it("takes more endpoints than a call takes arguments", () => {
    const many = Array.from({ length: 150_000 }, (_, n) =>
      endpoint(`10.${n >> 16}.${(n >> 8) & 255}.${n & 255}`),
    );
    expect(tieredEndpoints(many).tiers).toEqual([many.length]);
  });

  it("names pods where they are known, and has weights only where they differ", () => {
    const known = tieredEndpoints([
      endpoint("10.0.0.1", { podName: "web-0", weight: 3 }),
      endpoint("10.0.0.2", { cluster: "far" }),
    ]);
    expect(serviceEntry("shop/web:80", known, [4, 9])).toEqual({
      tiers: [2],
      addresses: ["10.0.0.1", "10.0.0.2"],
      ports: [80, 80],
      slots: [4, 9],
      names: ["near/shop/web-0", "far/10.0.0.2"],
      weights: [3, 1],
    });
    const alike = tieredEndpoints([endpoint("10.0.0.1", { weight: 3 })]);
    expect(serviceEntry("shop/web:80", alike, [4])).not.toHaveProperty("weights");
  });

  const good = { tiers: [1], addresses: ["10.0.0.1"], ports: [80], slots: [1], names: ["c/p"] };
  it.each([
    [true, {}],
    [true, { weights: [0.5] }],
    [false, { tiers: [2] }],
    [false, { tiers: "1" }],
    [false, { addresses: [1] }],
    [false, { ports: [0] }],
    [false, { ports: [80, 80] }],
    [false, { slots: [-1] }],
    [false, { names: [null] }],
    [false, { weights: [-1] }],
    [false, { weights: [Number.POSITIVE_INFINITY] }],
  ])("is taken (%s) with %j", (isTaken, other) => {
    expect(isServiceEntry({ ...good, ...other })).toBe(isTaken);
  });
});

function endpoint(address: string, other: Partial<DecidedEndpoint> = {}): DecidedEndpoint {
  return { address, port: 80, cluster: "near", state: "active", reason: "a test", ...other };
}
