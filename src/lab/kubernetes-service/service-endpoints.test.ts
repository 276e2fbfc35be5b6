import { describe, expect, it } from "vitest";
import {
  byLeases,
  byMasterCount,
  type ServiceSubset,
  subsetsOf,
  withoutAddress,
} from "./service-endpoints.ts";

const ports = [{ name: "https", port: 6443, protocol: "TCP" }];
const otherPorts = [{ name: "https", port: 443, protocol: "TCP" }];

function listing(...addresses: readonly string[]): readonly ServiceSubset[] {
  return [{ addresses, ports }];
}

describe("a server that counts", () => {
  const own = { ip: "10.0.0.2", ports };
  const cases: readonly {
    readonly name: string;
    readonly listed: readonly string[];
    readonly count: number;
    readonly next: readonly string[] | undefined;
  }[] = [
    { name: "takes the only place", listed: ["10.0.0.1"], count: 1, next: ["10.0.0.2"] },
    { name: "leaves itself alone", listed: ["10.0.0.2"], count: 1, next: undefined },
    {
      name: "joins while there is room",
      listed: ["10.0.0.1"],
      count: 2,
      next: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "removes the one behind itself",
      listed: ["10.0.0.1", "10.0.0.3"],
      count: 2,
      next: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "goes round the end when it is last",
      listed: ["10.0.0.0", "10.0.0.1"],
      count: 2,
      next: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "orders addresses as text, as the original does",
      listed: ["10.0.0.10", "10.0.0.9"],
      count: 3,
      next: ["10.0.0.10", "10.0.0.2", "10.0.0.9"],
    },
    {
      name: "resets a list that is too long although it is on it",
      listed: ["10.0.0.1", "10.0.0.2", "10.0.0.3"],
      count: 2,
      next: ["10.0.0.1", "10.0.0.2"],
    },
    {
      name: "removes itself when two too many are before it, as the original does",
      listed: ["10.0.0.0", "10.0.0.1"],
      count: 1,
      next: ["10.0.0.1"],
    },
  ];
  for (const { name, listed, count, next } of cases) {
    it(name, () => {
      const wanted = byMasterCount(listing(...listed), own, { count, setPorts: false });
      expect(wanted?.subsets).toEqual(next === undefined ? undefined : listing(...next));
    });
  }

  it("replaces the subsets when there is not exactly one", () => {
    const two = [...listing("10.0.0.1"), ...listing("10.0.0.2")];
    const anew = { subsets: listing("10.0.0.2"), remade: true };
    expect(byMasterCount(two, own, { count: 4, setPorts: false })).toEqual(anew);
    expect(byMasterCount([], own, { count: 4, setPorts: false })).toEqual(anew);
  });

  it("sets the ports only with setPorts", () => {
    const wrong = [{ addresses: ["10.0.0.2"], ports: otherPorts }];
    expect(byMasterCount(wrong, own, { count: 1, setPorts: false })).toBeUndefined();
    expect(byMasterCount(wrong, own, { count: 1, setPorts: true })?.subsets).toEqual(
      listing("10.0.0.2"),
    );
  });
});

describe("a server with a lease", () => {
  const own = { ports };

  it("lists the addresses with a lease, and no others", () => {
    const wanted = byLeases(listing("10.0.0.1", "10.0.0.9"), ["10.0.0.2", "10.0.0.1"], own, {
      setPorts: false,
    });
    expect(wanted).toEqual({ subsets: listing("10.0.0.1", "10.0.0.2"), remade: false });
  });

  it("changes nothing when the addresses differ only in order", () => {
    const leases = ["10.0.0.2", "10.0.0.1"];
    const listed = listing("10.0.0.1", "10.0.0.2");
    expect(byLeases(listed, leases, own, { setPorts: false })).toBeUndefined();
  });

  it("leaves no subset when there is no lease", () => {
    expect(byLeases(listing("10.0.0.1"), [], own, { setPorts: true })?.subsets).toEqual([]);
  });
});

it("removes one address, and the subset with the last one", () => {
  expect(withoutAddress(listing("10.0.0.1", "10.0.0.2"), "10.0.0.2")).toEqual(listing("10.0.0.1"));
  expect(withoutAddress(listing("10.0.0.1"), "10.0.0.2")).toEqual(listing("10.0.0.1"));
  expect(withoutAddress(listing("10.0.0.1"), "10.0.0.1")).toEqual([]);
});

it("reads the ready addresses and ports of an object", () => {
  expect(subsetsOf({ subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports }] })).toEqual(
    listing("10.0.0.1"),
  );
  expect(subsetsOf({})).toEqual([]);
});
