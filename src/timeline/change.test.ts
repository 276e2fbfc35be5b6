import { describe, expect, test } from "vitest";
import { ms, Observed, pod, published, replica, web } from "../../tests/observer/observed.ts";
import type { WallMs } from "../environment/clock.ts";
import { Change } from "./change.ts";
import { Place } from "./place.ts";

const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };
const isPassedBy = (): boolean => false;

function begun(more: { readonly notBefore?: number; readonly isDisagreement?: true } = {}): Change {
  const { notBefore, ...rest } = more;
  const at = ms(1_000);
  const late = notBefore === undefined ? {} : { notBefore: ms(notBefore) };
  return new Change(1, new Place().add(endpoint), {
    direction: "leave",
    at,
    aheadFrom: at,
    ...late,
    ...rest,
  });
}

const stateAt = (change: Change, witness = published) =>
  change.hopTime(witness, { isPassedBy }).state;

describe("the origin of a change", () => {
  test("is the earliest of all times at which it was shown, so that no lag is negative", () => {
    const change = begun();
    change.show({ witness: pod, at: ms(1_000) });
    change.show({ witness: published, at: ms(900) });
    expect(change.originAt).toBe(900);
    expect(stateAt(change, pod)).toEqual({ type: "shown", lagMs: 100 });
    expect(stateAt(change)).toEqual({ type: "shown", lagMs: 0 });
    expect(change.begunAt).toBe(1_000);
  });

  test("is exact where, of two that showed it at the same time, one saw it live", () => {
    const change = begun({ notBefore: 200 });
    change.show({ witness: pod, at: ms(1_000), notBefore: ms(200) });
    change.show({ witness: published, at: ms(1_000) });
    expect(stateAt(change)).toEqual({ type: "shown", lagMs: 0 });
  });

  test("is not moved by requests", () => {
    const change = begun();
    const witness = { hop: "traffic", name: "log" } as const;
    const { service, address, port } = endpoint;
    change.request({ witness, service, address, port, at: ms(1_500), failed: true });
    expect([change.originAt, change.lastRequestAt]).toEqual([1_000, 1_500]);
  });

  test("of which nothing is known makes every lag a lower bound", () => {
    const change = begun({ isDisagreement: true });
    change.show({ witness: replica("r1"), at: ms(4_000) });
    change.show({ witness: published, at: ms(900) });
    expect(change.originAt).toBe(900);
    expect(stateAt(change, replica("r1"))).toEqual({
      type: "shown",
      lagMs: 3_100,
      range: { minMs: 3_100, maxMs: undefined },
    });
  });

  test("that lies between two instants makes every lag a range", () => {
    const change = begun({ notBefore: 200 });
    change.show({ witness: published, at: ms(4_000), notBefore: ms(3_000) });
    expect(stateAt(change)).toEqual({
      type: "shown",
      lagMs: 3_000,
      range: { minMs: 2_000, maxMs: 3_800 },
    });
  });
});

test("a witness has one mark: what it showed replaces that it had it so all along", () => {
  const change = begun();
  change.agree(published);
  expect(stateAt(change)).toEqual({ type: "unchanged" });
  change.show({ witness: published, at: ms(1_300) });
  expect(stateAt(change)).toEqual({ type: "shown", lagMs: 300 });
});

test("a change that is forgotten keeps only what requests and later steps need", () => {
  const change = begun();
  change.show({ witness: pod, at: ms(900), podName: "web-0" });
  change.becomesStuck(published, ms(31_000), 30_000);
  const { service, address, port } = endpoint;
  const witness = { hop: "traffic", name: "log" } as const;
  change.request({ witness, service, address, port, at: ms(1_500), failed: true });
  change.forget();
  expect([pod, witness].some((one) => change.isMarkedBy(one))).toBe(false);
  expect(change.isStuckAt(published)).toBe(false);
  expect([change.originAt, change.lastRequestAt]).toEqual([900, 900]);
});

test("a witness becomes stuck once, when its budget is over", () => {
  const change = begun();
  expect(change.becomesStuck(published, ms(30_999), 30_000)).toBe(false);
  expect(change.becomesStuck(published, ms(31_000), 30_000)).toBe(true);
  expect(change.becomesStuck(published, ms(32_000), 30_000)).toBe(false);
  expect(stateAt(change)).toEqual({ type: "stuck" });
});

test("the cause, the pod's name and the cluster's time are those of the pod watch where it has them", () => {
  const change = begun();
  const stamp = (at: number) => ({ at: at as WallMs, by: "n1" });
  change.show({ witness: published, at: ms(1_000), podName: "web-0", clusterStamp: stamp(1) });
  change.show({ witness: pod, at: ms(1_100), cause: "terminating", clusterStamp: stamp(2) });
  change.show({ witness: replica("r1"), at: ms(1_200), cause: "other", clusterStamp: stamp(3) });
  const journey = change.snapshot({ expected: [], isPassedBy, clusterTime: ({ at }) => ({ at }) });
  expect(journey).toMatchObject({
    podName: "web-0",
    cause: "terminating",
    clusterTime: { at: 2 },
  });
  expect(journey.hops.map(({ hop }) => hop)).toEqual(["pod", "published", "routed"]);
});

/** A leave that two replicas have yet to show when they are found stuck. */
function stuckAtTwo(): Observed {
  const all = [pod, published, replica("r1"), replica("r2")];
  const seen = new Observed(all);
  seen.baseline(...all);
  seen.say(20_000, pod, "leave");
  seen.say(20_040, published, "leave");
  seen.advance(50_000);
  return seen;
}

const states = ({ lastOver }: Observed) =>
  lastOver?.hops.map(({ hop, witness, state }) => `${hop} ${witness} ${state.type}`);

test.each([{ forGood: true }, {}] as const)(
  "a replica that was stuck stays so when it is no longer followed: %j",
  (how) => {
    const seen = stuckAtTwo();
    seen.journeys.unfollow(replica("r1"), { ...web, ...how });
    expect(seen.over).toEqual([]);
    seen.say(51_000, replica("r2"), "leave");
    expect(states(seen)).toEqual([
      "pod east shown",
      "published east shown",
      "routed r1 stuck",
      "routed r2 shown",
    ]);
    expect(seen.over).toEqual([
      "51000: complete: −10.0.0.1 shop/web  pod 0 · published 40 ms · routed never shown 31 s",
    ]);
  },
);

test("a replica that was stuck and is followed again shows the change, and is named once", () => {
  const seen = stuckAtTwo();
  seen.journeys.unfollow(replica("r1"), web);
  seen.say(51_000, replica("r1"), "leave");
  seen.journeys.follow(replica("r1"), web);
  seen.say(52_000, replica("r2"), "leave");
  expect(states(seen)).toEqual([
    "pod east shown",
    "published east shown",
    "routed r1 shown",
    "routed r2 shown",
  ]);
});
