import { describe, expect, test } from "vitest";
import { ms, Observed, pod, published, replica, web } from "../../tests/observer/observed.ts";
import { LateObservations, withoutOpposites } from "./late-observations.ts";
import type { Observation } from "./observation.ts";
import type { Direction, Witness } from "./witness.ts";

const endpoint = { ...web, address: "10.0.0.1", port: 8080, podUid: "a" };

function late(
  direction: Direction,
  at: number,
  notBefore?: number,
  more: Partial<Observation> = {},
): Observation {
  const since = notBefore === undefined ? {} : { notBefore: ms(notBefore) };
  return { witness: pod, endpoint, direction, at: ms(at), ...since, ...more };
}

function released(waiting: LateObservations, watermark: number): readonly string[] {
  return [...waiting.release(() => ms(watermark))].flatMap(({ observations }) =>
    observations.map(({ direction, at }) => `${direction} at ${at}`),
  );
}

describe("opposite observations", () => {
  const rest = (...all: readonly Observation[]): readonly string[] =>
    withoutOpposites(all).map(({ direction, at }) => `${direction} at ${at}`);

  test("of the same gap cancel: an endpoint only moved from one object to another", () => {
    expect(rest(late("leave", 60, 40), late("join", 61, 40))).toEqual([]);
  });

  test("of gaps that overlap cancel: a service and its pods are reported by two watches", () => {
    expect(rest(late("join", 60, 50), late("leave", 65, 40))).toEqual([]);
  });

  test("of different gaps do not cancel", () => {
    expect(rest(late("leave", 60, 40), late("join", 80, 60))).toEqual([
      "leave at 60",
      "join at 80",
    ]);
  });

  test("do not cancel where one of them was seen live", () => {
    expect(rest(late("leave", 60, 40), late("join", 61))).toHaveLength(2);
    expect(rest(late("leave", 60), late("join", 61, 40))).toHaveLength(2);
  });

  test("cancel in pairs, so that of three the first is left", () => {
    const three = [late("leave", 60, 40), late("join", 61, 40), late("leave", 62, 40)];
    expect(rest(...three)).toEqual(["leave at 60"]);
  });

  test("of one instant are halves of one list, whatever comes after them", () => {
    const moved = [late("leave", 60, 40), late("join", 60, 40)];
    expect(rest(...moved, late("leave", 61, 50))).toEqual(["leave at 61"]);
  });

  test("are no pair where both say the same", () => {
    expect(rest(late("leave", 60, 40), late("leave", 61, 40))).toHaveLength(2);
  });
});

describe("a late observation", () => {
  test("waits until the watermark has passed the time at which it came", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    expect(released(waiting, 60)).toEqual([]);
    expect(waiting.size).toBe(1);
    expect(released(waiting, 61)).toEqual(["leave at 60"]);
    expect(waiting.size).toBe(0);
  });

  test("keeps back what the witness sees live of the endpoint, and all is taken in order", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    expect(waiting.has({ witness: pod, endpoint })).toBe(true);
    waiting.add(late("join", 90));
    expect(released(waiting, 61)).toEqual(["leave at 60", "join at 90"]);
  });

  test("waits for the last late one of the endpoint", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    waiting.add(late("join", 70, 65));
    expect(released(waiting, 70)).toEqual([]);
    expect(released(waiting, 71)).toEqual(["leave at 60", "join at 70"]);
  });

  test("keeps back neither other endpoints nor other witnesses", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    expect(waiting.has({ witness: published, endpoint })).toBe(false);
    expect(waiting.has({ witness: pod, endpoint: { ...endpoint, podUid: "b" } })).toBe(false);
    expect(waiting.hasOf(pod, web.service)).toBe(true);
    expect(waiting.hasOf(pod, "shop/api")).toBe(false);
    expect(waiting.hasOf(published, web.service)).toBe(false);
  });

  test("is counted when it cancels another", () => {
    const waiting = new LateObservations();
    for (const one of [late("leave", 60, 40), late("join", 61, 40)]) waiting.add(one);
    expect([...waiting.release(() => ms(70))]).toEqual([
      { witness: pod, observations: [], cancelled: 2, unfollowed: [] },
    ]);
  });
});

describe("a service that is unfollowed while late observations wait", () => {
  const b = { endpoint: { ...endpoint, podUid: "b" } };
  const unfollowed = (waiting: LateObservations, watermark: number) =>
    [...waiting.release(() => ms(watermark))].flatMap((one) => one.unfollowed);

  test("is unfollowed after the last of them", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    waiting.add(late("leave", 70, 40, b));
    waiting.unfollowLater(pod, web);
    expect(unfollowed(waiting, 65)).toEqual([]);
    expect(waiting.hasOf(pod, web.service)).toBe(true);
    expect(unfollowed(waiting, 71)).toEqual([web]);
    expect(waiting.hasOf(pod, web.service)).toBe(false);
  });

  test("stays followed if it is followed again meanwhile", () => {
    const waiting = new LateObservations();
    waiting.add(late("leave", 60, 40));
    waiting.unfollowLater(pod, web);
    waiting.keepFollowing(pod, { ...web, cluster: "west" });
    waiting.keepFollowing(published, web);
    waiting.unfollowLater(pod, { ...web, cluster: "west" });
    waiting.keepFollowing(pod, web);
    expect(unfollowed(waiting, 61)).toEqual([{ ...web, cluster: "west" }]);
  });
});

describe("on the timeline", () => {
  function listed(...witnesses: readonly Witness[]): Observed {
    const seen = new Observed(witnesses);
    seen.watermarks = { pod: 40_000 };
    seen.baseline(...witnesses);
    seen.advance(40_000);
    return seen;
  }

  test("a late change appears when the watermark has passed, between the two instants", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.watermarks = { pod: 60_000 };
    seen.advance(61_000);
    expect(seen.events).toEqual([]);
    seen.watermarks = { pod: 60_001 };
    seen.advance(62_000);
    seen.say(63_000, published, "leave");
    expect(seen.lastOver?.origin).toEqual({ at: 60_000, notBefore: 40_000 });
    expect(seen.lastOver?.hops.map(({ state }) => state)).toEqual([
      { type: "shown", lagMs: 0, range: { minMs: 0, maxMs: 20_000 } },
      { type: "shown", lagMs: 3_000, range: { minMs: 3_000, maxMs: 23_000 } },
    ]);
  });

  test("a flap inside a gap is nothing, and is counted as cancelled", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.say(60_001, pod, "join", { notBefore: ms(40_000) });
    seen.watermarks = { pod: 61_000 };
    seen.advance(62_000);
    seen.advance(100_000);
    expect(seen.events).toEqual([]);
    expect(seen.journeys.counts).toMatchObject({ cancelled: 2, opened: 0 });
  });

  test("a live change waits behind a late one of the same pod", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.say(60_500, pod, "join");
    expect(seen.inFlight).toEqual([]);
    seen.watermarks = { pod: 60_400 };
    seen.advance(62_000);
    expect(seen.inFlight).toEqual([
      "leave a 60000: pod shown, published pending",
      "join a 60500: pod shown, published pending",
    ]);
  });

  test("a first list does not wait", () => {
    const seen = listed(pod);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.say(60_000, pod, "join", { uid: "b", baseline: true });
    expect(seen.journeys.counts).toMatchObject({ baseline: 2 });
  });

  test("a late change of a witness without a watermark is taken at once", () => {
    const seen = listed(pod, replica("r1"));
    seen.say(50_000, pod, "leave");
    seen.say(60_000, replica("r1"), "leave", { notBefore: ms(49_000) });
    expect(seen.lastOver?.hops.at(-1)?.state).toEqual({
      type: "shown",
      lagMs: 10_000,
      range: { minMs: 0, maxMs: 10_000 },
    });
  });

  test("a service is unfollowed after its late changes, and waited for until then", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.journeys.unfollow(pod, web);
    expect(seen.journeys.isService(web.service)).toBe(true);
    seen.journeys.unfollow(published, web);
    expect(seen.journeys.isService(web.service)).toBe(true);
    seen.watermarks = { pod: 61_000 };
    seen.advance(62_000);
    expect(seen.over).toEqual([
      "62000: complete: −10.0.0.1 shop/web  pod ≥0 · published ? · routed ?",
    ]);
    expect(seen.journeys.isService(web.service)).toBe(false);
  });

  test("a service that is followed again before its late changes are taken stays followed", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.journeys.unfollow(pod, web);
    seen.journeys.follow(pod, web);
    seen.journeys.unfollow(published, web);
    seen.watermarks = { pod: 61_000 };
    seen.advance(62_000);
    expect(seen.journeys.isService(web.service)).toBe(true);
  });

  test("nothing is settled by a watermark while late observations of the reference wait", () => {
    const seen = listed(pod, published, replica("r1"));
    seen.say(50_000, replica("r1"), "leave");
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.watermarks = { pod: 60_000 };
    seen.advance(61_000);
    expect(seen.inFlight).toEqual([]);
    seen.watermarks = { pod: 60_001 };
    seen.advance(62_000);
    expect(seen.inFlight).toEqual(["leave a 50000: pod shown, published pending, r1 shown"]);
  });

  test("at the end all that waits is taken as it is", () => {
    const seen = listed(pod, published);
    seen.say(60_000, pod, "leave", { notBefore: ms(40_000) });
    seen.journeys.end(ms(60_500));
    expect(seen.inFlight).toEqual(["leave a 60000: pod shown, published pending"]);
  });
});
