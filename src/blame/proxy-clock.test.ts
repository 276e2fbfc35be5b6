import { describe, expect, test } from "vitest";
import { ObservedClusters, pod, request } from "../../tests/blame/blame-world.ts";
import { ProxyClockWitness } from "./proxy-clock.ts";

const addresses = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"];

/** Pods that live from 100 s to 200 s, 110 s to 210 s, and so on. */
function lived(cluster: string): ObservedClusters {
  const observed = new ObservedClusters();
  for (const [index, ip] of addresses.entries()) {
    const created = 100 + 10 * index;
    const one = { name: `web-${index}`, ip, created, readySince: created + 2 };
    observed
      .saw(created + 2, "Pod", pod(one), cluster)
      .saw(created + 100, "Pod", pod({ ...one, deleted: created + 100 }), cluster)
      .gone(created + 101, "Pod", pod(one), cluster);
  }
  return observed;
}

const observed = lived("prod");

/** The verdict, in seconds, on a log whose clock is ahead by so many seconds. */
function clock(aheadSeconds: number, skewMs = 100, odd?: string, { evidence } = observed) {
  const witness = new ProxyClockWitness(evidence);
  for (const [index, address] of addresses.entries()) {
    const from = 100 + 10 * index + aheadSeconds;
    const answered = { address, status: 200, answered: true };
    for (const after of [4, 50, 99.5]) witness.see(request(from + after, [answered]));
    witness.see(request(from + 102, [{ address }]));
    if (address === odd) witness.see(request(from + 150, [answered]));
  }
  const found = witness.clock(skewMs);
  if (found.type !== "off") return found.type;
  return [found.by.fromMs / 1_000, found.by.toMs / 1_000];
}

describe("a proxy's clock", () => {
  test("agrees as long as every pod answers during its life only", () => {
    expect([clock(0), clock(1), clock(-3)]).toEqual(["agrees", "agrees", "agrees"]);
    expect(clock(-10, 20_000)).toBe("agrees");
  });

  test("is off where pods answer before they exist or after they are gone, and so is by how much", () => {
    expect([clock(40), clock(-40), clock(19_800)]).toEqual([
      [-41.999, -38.499],
      [38.001, 41.501],
      [-19_801.999, -19_798.499],
    ]);
  });

  test("is not judged by one odd pod", () => {
    expect(clock(0, 100, "10.0.0.2")).toBe("agrees");
  });

  test("is doubted if the pods were not followed: others may have had their addresses", () => {
    expect(clock(40, 100, undefined, lived("west"))).toBe("doubted");
  });

  test("is doubted where no shift would explain the answers", () => {
    const witness = new ProxyClockWitness(observed.evidence);
    witness.see(request(0, []));
    for (const address of addresses) {
      const answered = { address, status: 200, answered: true };
      witness.see(request(20, [answered]));
      witness.see(request(400, [answered]));
    }
    witness.see(request(420, []));
    expect(witness.clock(100)).toEqual({ type: "doubted" });
  });
});
