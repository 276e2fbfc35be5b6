import fc from "fast-check";
import { expect, test } from "vitest";
import { EndpointTrack } from "./endpoint-track.ts";
import { ms, Observed, pod, published, replica, web } from "./observed.contract.ts";
import { OpenJourney } from "./open-journey.ts";
import { WaitingHops } from "./waiting-hops.ts";
import type { Direction, Hop } from "./witness.ts";

function journeyOf(id: number, direction: Direction, originMs: number): OpenJourney {
  const endpoint = { ...web, address: `10.0.0.${id}`, port: 8080, podUid: `uid-${id}` };
  return new OpenJourney(id, new EndpointTrack(endpoint), {
    direction,
    endpoint,
    at: ms(originMs),
  });
}

test("what began before the observation is the oldest, whatever was opened before it", () => {
  const seen = new Observed([pod, published, replica("r1")]);
  seen.baseline(pod, published);
  seen.say(5_000, pod, "join", { uid: "b", address: "10.0.0.2" });
  seen.advance(20_000);
  expect(seen.journeys.pending().map(({ origin }) => origin.at)).toEqual([5_000, 0]);
  expect(seen.journeys.oldestPending(ms(20_000))).toEqual([
    { cluster: "east", hop: "published", direction: "join", ageMs: 15_000 },
    { cluster: "east", hop: "routed", direction: "join", ageMs: 20_000 },
  ]);
});

test("the oldest is exact, whenever journeys wait where and however their origins move", () => {
  const hops = fc.subarray<Hop>(["published", "synced", "routed"]);
  const steps = fc.array(fc.record({ journey: fc.nat(7), hops, earlierMs: fc.nat(500) }), {
    maxLength: 60,
  });
  const origins = fc.array(fc.integer({ min: 1_000, max: 9_000 }), { minLength: 8, maxLength: 8 });
  fc.assert(
    fc.property(steps, origins, (story, originsMs) => {
      const waiting = new WaitingHops();
      const all = originsMs.map((originMs, id) =>
        journeyOf(id, id % 2 === 0 ? "join" : "leave", originMs),
      );
      const waitsAt = new Map<OpenJourney, readonly Hop[]>();
      for (const { journey: index, hops: at, earlierMs } of story) {
        const journey = all[index];
        if (journey === undefined) continue;
        const { direction, endpoint } = journey;
        const shownAt = ms(journey.originAt - earlierMs);
        journey.show({ witness: pod, direction, endpoint, at: shownAt });
        waiting.set(journey, at);
        waitsAt.set(journey, at);
      }
      const expected = new Map<string, number>();
      for (const [{ direction, originAt }, at] of waitsAt) {
        for (const hop of at) {
          const key = `${hop} ${direction}`;
          expected.set(key, Math.max(expected.get(key) ?? 0, 10_000 - originAt));
        }
      }
      const found = waiting.oldest(ms(10_000));
      expect(new Map(found.map((one) => [`${one.hop} ${one.direction}`, one.ageMs]))).toEqual(
        expected,
      );
    }),
  );
});
