import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { EndpointTrack } from "./endpoint-track.ts";
import { GoneTracks } from "./gone-tracks.ts";
import { goneMax, keptMs } from "./journey-limits.ts";

const ms = (value: number) => value as MonotonicMs;

function trackOf(address: string): EndpointTrack {
  return new EndpointTrack({ cluster: "east", service: "a/b", address, port: 1, podUid: "u" });
}

test("an endpoint that is gone is kept for a while since it went", () => {
  const gone = new GoneTracks();
  const track = trackOf("10.0.0.1");
  gone.add(track, ms(0));
  gone.add(track, ms(1_000));
  expect(gone.takeOld(ms(keptMs - 1))).toBeUndefined();
  expect(gone.takeOld(ms(keptMs))).toBe(track);
  expect(gone.takeOld(ms(keptMs))).toBeUndefined();
});

test("the oldest are let go when there are too many, or when room is needed", () => {
  const gone = new GoneTracks();
  const tracks = Array.from({ length: goneMax + 1 }, (_, index) => trackOf(`10.0.0.${index}`));
  for (const track of tracks) gone.add(track, ms(0));
  expect(gone.takeOld(ms(1))).toBe(tracks[0]);
  expect(gone.takeOld(ms(1))).toBeUndefined();
  expect(gone.takeOldest()).toBe(tracks[1]);
});

test("one that is back is not among them", () => {
  const gone = new GoneTracks();
  const track = trackOf("10.0.0.1");
  gone.add(track, ms(0));
  gone.delete(track);
  expect(gone.takeOldest()).toBeUndefined();
});
