import { beforeEach, describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import type { Direction, Hop, WitnessReport } from "../journeys/witness.ts";
import { HeldReports } from "./held-reports.ts";

const service = { cluster: "east", service: "shop/web" };
const endpoint = { ...service, address: "10.0.0.1", port: 8080, podUid: "a" };

describe("what a watch tells late", () => {
  let nowMs = 0;
  let passed: string[] = [];
  let open: string[] = [];
  let missedSince: MonotonicMs | undefined;
  let cutOff: Hop[] = [];
  let held: HeldReports;

  beforeEach(() => {
    nowMs = 60_000;
    passed = [];
    open = [];
    missedSince = undefined;
    cutOff = [];
    held = new HeldReports({
      clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => 0 as WallMs },
      awaits: (reports) => {
        let from = 0;
        const said = reports.map(({ witness, direction }) => `${witness.hop} ${direction}`);
        return said.every((one) => {
          from = open.indexOf(one, from) + 1;
          return from > 0;
        });
      },
      missedSince: () => missedSince,
      onTraffic: ({ service = "?" }) => passed.push(`request to ${service}`),
      hasMoreOf: ({ partOf, witness }) => partOf !== undefined && cutOff.includes(witness.hop),
      sink: {
        report: ({ witness, direction, notBefore }) => {
          const since = notBefore === undefined ? "" : ` since ${notBefore}`;
          passed.push(`${witness.hop} ${direction}${since}`);
        },
        follow: () => passed.push("follow"),
        unfollow: (_, { ports = [] }) => passed.push(["unfollow", ...ports].join(" ")),
      },
    });
  });

  function tell(hop: Hop, direction: Direction, more: Partial<WitnessReport> = {}): void {
    const witness = { hop, name: "east" };
    held.report({ witness, endpoint, direction, at: nowMs as MonotonicMs, ...more });
  }

  const since = (at: number) => ({ notBefore: at as MonotonicMs });

  function pass(ms: number): void {
    nowMs += ms;
    held.look();
  }

  test("is what happened, in order, when nobody has told of it", () => {
    for (const direction of ["join", "leave", "join"] as const) {
      tell("pod", direction, since(50_001));
    }
    pass(1_999);
    expect(passed).toEqual([]);
    pass(1);
    expect(passed).toEqual([
      "pod join since 50001",
      "pod leave since 50001",
      "pod join since 50001",
    ]);
  });

  test("of a list is nothing when an endpoint only moved from one object to another", () => {
    open = ["published leave"];
    tell("published", "leave", { ...since(60_000), partOf: "list" });
    nowMs += 100;
    tell("published", "join", { ...since(60_000), partOf: "list" });
    pass(2_000);
    expect(passed).toEqual([]);
  });

  test("of a pod and of its service is nothing when one takes back what the other makes", () => {
    tell("pod", "join", since(40_000));
    nowMs += 1_000;
    tell("pod", "leave", { ...since(40_000), partOf: "services" });
    pass(2_000);
    expect(passed).toEqual([]);
  });

  test("of a service is not taken back by what shows a change that is known", () => {
    tell("pod", "leave", since(40_000));
    tell("pod", "join", { ...since(40_000), partOf: "services" });
    open = ["pod leave"];
    pass(2_000);
    expect(passed).toEqual(["pod leave since 40000", "pod join since 40000"]);
  });

  test("is of before all that is known when all it tells next is that, though it might be some", () => {
    for (const direction of ["join", "leave", "join"] as const) {
      tell("pod", direction, since(50_001));
    }
    open = ["pod leave", "pod join"];
    pass(2_000);
    expect(passed).toEqual(["pod leave since 50001", "pod join since 50001"]);
  });

  test("is of before all that is known when what it tells next is the first of that", () => {
    open = ["pod leave"];
    tell("pod", "join", since(40_000));
    tell("pod", "leave", since(40_000));
    pass(2_000);
    expect(passed).toEqual(["pod leave since 40000"]);
  });

  test("of who knows only addresses may be of two endpoints, of which one left and the other came", () => {
    const stock = { ...since(40_000), endpoint: { ...endpoint, podUid: undefined } };
    tell("routed", "leave", stock);
    open = ["routed join"];
    tell("routed", "join", stock);
    pass(2_000);
    expect(passed).toEqual(["routed leave since 40000", "routed join since 40000"]);
  });

  test("holds back what others say of the address, and all is told in order", () => {
    tell("pod", "leave", since(40_000));
    nowMs += 100;
    tell("routed", "leave");
    nowMs += 100;
    tell("published", "leave");
    expect(passed).toEqual([]);
    pass(2_000);
    expect(passed).toEqual(["pod leave since 40000", "routed leave", "published leave"]);
  });

  test("that is half waits for the watch that knows the rest, within bounds", () => {
    cutOff = ["pod"];
    tell("pod", "join", { ...since(50_000), partOf: "list" });
    pass(2_700);
    expect(passed).toEqual([]);
    tell("pod", "leave", { ...since(40_000), partOf: "services" });
    tell("pod", "join", { ...since(40_000), partOf: "services" });
    cutOff = [];
    pass(0);
    expect(passed).toEqual(["pod join since 40000"]);
    cutOff = ["pod"];
    tell("pod", "leave", { ...since(55_000), partOf: "list" });
    pass(29_999);
    expect(passed).toHaveLength(1);
    pass(1);
    expect(passed).toEqual(["pod join since 40000", "pod leave since 55000"]);
    tell("pod", "join", since(80_000));
    pass(2_000);
    expect(passed).toHaveLength(3);
  });

  test("holds back requests to its address, and they are told after it", () => {
    const { address, port } = endpoint;
    const request = (service: string | undefined, to = address): void => {
      const witness = { hop: "traffic", name: "log" } as const;
      held.traffic({
        witness,
        service,
        address: to,
        port,
        at: nowMs as MonotonicMs,
        failed: false,
      });
    };
    tell("pod", "leave", since(40_000));
    request("shop/web");
    request(undefined);
    request("shop/api");
    request("shop/web", "10.0.0.2");
    expect(passed).toEqual(["request to shop/api", "request to shop/web"]);
    pass(2_000);
    request(undefined);
    expect(passed.slice(2)).toEqual([
      "pod leave since 40000",
      "request to shop/web",
      "request to ?",
      "request to ?",
    ]);
  });

  test("holds back requests that name no service as long as any at the address is held", () => {
    tell("pod", "leave", since(40_000));
    nowMs += 1_000;
    const other = { ...endpoint, service: "shop/api" };
    tell("pod", "leave", { ...since(40_000), endpoint: other });
    const { address, port } = endpoint;
    const request = { service: undefined, address, port, at: nowMs as MonotonicMs, failed: false };
    held.traffic({ witness: { hop: "traffic", name: "log" }, ...request });
    pass(1_000);
    expect(passed).toEqual(["pod leave since 40000"]);
    pass(1_000);
    expect(passed.slice(1)).toEqual(["pod leave since 40000", "request to ?"]);
  });

  test("says since when, of its address and of no other", () => {
    tell("pod", "leave", since(40_000));
    nowMs += 100;
    tell("routed", "leave");
    expect(held.since(endpoint)).toBe(60_000);
    expect(held.since({ ...endpoint, address: "10.0.0.2" })).toBe(undefined);
    pass(2_000);
    expect(held.since(endpoint)).toBe(undefined);
  });

  test("is told before ports of its service are unfollowed, and not those that come back", () => {
    const witness = { hop: "routed", name: "east" } as const;
    tell("routed", "leave", since(40_000));
    for (const port of [8080, 8443, 9090]) held.unfollow(witness, { ...service, ports: [port] });
    held.follow(witness, { ...service, ports: [8443] });
    pass(2_000);
    expect(passed).toEqual([
      "follow",
      "routed leave since 40000",
      "unfollow 8080",
      "unfollow 9090",
    ]);
  });

  test("is told before its service is unfollowed, and not if that comes back", () => {
    const witness = { hop: "pod", name: "east" } as const;
    tell("pod", "leave", since(40_000));
    held.unfollow(witness, service);
    pass(2_000);
    expect(passed).toEqual(["pod leave since 40000", "unfollow"]);
    tell("pod", "join", since(40_000));
    held.unfollow(witness, service);
    held.follow(witness, service);
    pass(2_000);
    expect(passed).toEqual(["pod leave since 40000", "unfollow", "follow", "pod join since 40000"]);
  });

  test("is told when nothing more will be", () => {
    tell("pod", "leave", since(40_000));
    held.end();
    expect(passed).toEqual(["pod leave since 40000"]);
  });

  test("may be in time for all that the watch knows, which has left out what others have told", () => {
    missedSince = 50_000 as MonotonicMs;
    tell("pod", "leave");
    nowMs += 49;
    tell("pod", "join");
    pass(2_000);
    expect(passed).toEqual(["pod leave since 50000", "pod join since 50000"]);
  });

  test("is in time when it does not come at once, though the witness has left something out", () => {
    missedSince = 50_000 as MonotonicMs;
    tell("pod", "leave");
    nowMs += 50;
    tell("pod", "join");
    tell("published", "leave");
    expect(passed).toEqual([]);
    pass(2_000);
    expect(passed).toEqual(["pod leave", "pod join", "published leave"]);
  });

  test("is not what was so before: that passes", () => {
    tell("pod", "leave", since(40_000));
    tell("pod", "join", { baseline: true });
    expect(passed).toEqual(["pod join"]);
  });
});
