import { describe, expect, test } from "vitest";
import { Observed, pod, published, replica, synced, web } from "../../tests/observer/observed.ts";
import { Expectations } from "./expectations.ts";
import type { Witness } from "./witness.ts";

const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };
const log: Witness = { hop: "traffic", name: "log" };
const names = (all: readonly Witness[]): readonly string[] =>
  all.map(({ hop, name }) => `${hop} ${name}`);

describe("the witnesses that are expected to show a change", () => {
  test("are those that follow the service, in the order of hops and names", () => {
    const expected = new Expectations();
    const all = [log, replica("r2"), replica("r1"), synced, published, pod];
    for (const witness of all) expect(expected.follow(witness, web)).toBe(true);
    expect(expected.follow(pod, web)).toBe(false);
    expect(names(expected.of(endpoint))).toEqual([
      "pod east",
      "published east",
      "synced access",
      "routed r1",
      "routed r2",
      "traffic log",
    ]);
    expect(expected.of({ ...endpoint, service: "shop/api" })).toEqual([]);
  });

  test("are of the endpoint's cluster, or of any, and each is there once", () => {
    const expected = new Expectations();
    expected.follow(pod, web);
    expected.follow({ hop: "pod", name: "west" }, { ...web, cluster: "west" });
    for (const cluster of ["east", undefined]) expected.follow(replica("r1"), { ...web, cluster });
    expect(names(expected.of(endpoint))).toEqual(["pod east", "routed r1"]);
    expect(names(expected.of({ ...endpoint, cluster: "west" }))).toEqual(["pod west", "routed r1"]);
    expect(names(expected.of({ ...endpoint, cluster: undefined }))).toEqual([
      "pod east",
      "pod west",
      "routed r1",
    ]);
  });

  test("are at the ports that a replica has been seen to route to", () => {
    const expected = new Expectations();
    expected.follow(replica("r1"), { ...web, ports: [8080] });
    expect(expected.of({ ...endpoint, port: 9090 })).toEqual([]);
    expect(expected.follow(replica("r1"), { ...web, ports: [9090] })).toBe(true);
    expect(expected.of({ ...endpoint, port: 9090 })).toHaveLength(1);
    expect(expected.unfollow(replica("r1"), { ...web, ports: [8080] })).toBe(true);
    expect(expected.unfollow(replica("r1"), { ...web, ports: [8080] })).toBe(false);
    expect(expected.of(endpoint)).toEqual([]);
  });

  test("are no longer those that have ceased to follow", () => {
    const expected = new Expectations();
    for (const witness of [pod, synced]) expected.follow(witness, web);
    expect(expected.isInCluster(web.service)).toBe(true);
    expect(expected.of(endpoint)).toHaveLength(2);
    expect(expected.unfollow(pod, web)).toBe(true);
    expect(expected.unfollow(pod, web)).toBe(false);
    expect(names(expected.of(endpoint))).toEqual(["synced access"]);
    expect(expected.isInCluster(web.service)).toBe(false);
  });
});

describe("a replica that gives up one of two ports", () => {
  const tls = { port: 8443 };

  function givenUp(): Observed {
    const seen = new Observed([pod, published]);
    const toAll = { ...web, cluster: undefined };
    seen.journeys.follow(replica("r1"), { ...toAll, ports: [8080, 8443] });
    for (const said of [{}, tls]) {
      for (const witness of [pod, published, replica("r1")]) {
        seen.say(0, witness, "join", { ...said, baseline: true });
      }
    }
    seen.advance(60_000);
    seen.say(60_000, replica("r1"), "leave", tls);
    seen.journeys.unfollow(replica("r1"), { ...toAll, ports: [8443], forGood: true });
    return seen;
  }

  test("shows no change of the pods at it", () => {
    const seen = givenUp();
    seen.advance(120_000);
    expect(seen.journeys.pending()).toEqual([]);
    expect(seen.events.filter((event) => event.includes("stuck"))).toEqual([]);
  });

  test("is waited for at the port that it keeps only", () => {
    const seen = givenUp();
    for (const said of [{}, tls]) {
      for (const near of [pod, published]) {
        seen.say(70_000, near, "join", { ...said, uid: "b", address: "10.0.0.2" });
      }
    }
    expect(seen.journeys.pending().map(({ endpoint: { port } }) => port)).toEqual([8080]);
    expect(seen.over.at(-1)).toBe(
      "70000: complete: +10.0.0.2 shop/web  pod 0 · published 0 · routed ?",
    );
  });

  test("has still shown what it had at the port that it keeps", () => {
    const seen = givenUp();
    for (const near of [pod, published]) seen.say(70_000, near, "leave");
    expect(seen.inFlight).toEqual(["leave a 70000: pod shown, published shown, r1 pending"]);
  });
});
