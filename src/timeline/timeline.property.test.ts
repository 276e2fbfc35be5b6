import fc from "fast-check";
import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Journey } from "./journey.ts";
import { abandonAfterMs } from "./journey-limits.ts";
import type { Observation } from "./observation.ts";
import { Timeline } from "./timeline.ts";
import type { Direction, Witness } from "./witness.ts";

const web = { cluster: "east", service: "shop/web" };
const witnesses: readonly Witness[] = [
  { hop: "pod", name: "east" },
  { hop: "published", name: "east" },
  { hop: "synced", name: "access" },
  { hop: "routed", name: "r1" },
  { hop: "routed", name: "r2" },
];

function report(
  witness: Witness,
  pod: number,
  direction: Direction,
  at: number,
  knowsPod = true,
): Observation {
  const podUid = knowsPod ? `uid-${pod}` : undefined;
  // Two pods share each address.
  const endpoint = { ...web, address: `10.0.0.${Math.floor(pod / 2)}`, port: 8080, podUid };
  return { witness, endpoint, direction, at: at as MonotonicMs };
}

class Watched {
  readonly over: Journey[] = [];
  /** By id: those of which there were events. */
  readonly opened = new Set<number>();
  readonly journeys: Timeline;

  constructor(bounds: { readonly pendingMax?: number; readonly endpointsMax?: number } = {}) {
    this.journeys = new Timeline({
      ...bounds,
      onEvent: (event) => {
        this.opened.add(event.journey.id);
        if (event.type === "over") this.over.push(event.journey);
      },
    });
    for (const witness of witnesses) this.journeys.follow(witness, web);
  }
}

function withoutNames({ direction, origin, hops, outcome }: Journey): Partial<Journey> {
  return { direction, origin, hops, outcome };
}

/** Witnesses that only ever alternate, as all of them do, each in its own time. */
const stories = fc.array(
  fc.record({
    witness: fc.nat(witnesses.length - 1),
    pod: fc.nat(5),
    afterMs: fc.nat(20_000),
    advance: fc.boolean(),
    knowsPod: fc.boolean(),
  }),
  { maxLength: 120 },
);

test("every change ends once, those that began were opened by a step, and no lag is negative", () => {
  fc.assert(
    fc.property(stories, fc.nat(12), (story, pendingMax) => {
      const watched = new Watched({ pendingMax: 1 + pendingMax, endpointsMax: 4 });
      const { journeys } = watched;
      const shown = new Map<string, Direction>();
      let now = 0;
      for (const step of story) {
        now += step.afterMs;
        const witness = witnesses[step.witness] ?? { hop: "pod", name: "east" };
        const key = `${step.witness} ${step.pod} ${step.knowsPod}`;
        const direction = shown.get(key) === "join" ? "leave" : "join";
        shown.set(key, direction);
        journeys.report(report(witness, step.pod, direction, now, step.knowsPod));
        if (step.advance) journeys.advance(now as MonotonicMs);
      }
      const pending = journeys.pending().map(({ id }) => id);
      // Of a change whose beginning is unknown there is no event until it is stuck or over.
      for (const id of pending) watched.opened.add(id);
      expect(watched.over.length + pending.length).toBe(watched.opened.size);
      journeys.advance((now + abandonAfterMs) as MonotonicMs);
      expect(journeys.pending()).toEqual([]);
      expect(watched.over.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
        Array.from({ length: watched.opened.size }, (_, index) => index + 1),
      );
      const { counts } = journeys;
      const isByReport = ({ origin }: Journey) => origin.beforeStart === undefined;
      expect(counts.opened).toBe(watched.over.filter(isByReport).length);
      const states = watched.over.flatMap(({ hops }) => hops.map(({ state }) => state));
      expect(states.filter((state) => state.type === "shown" && state.lagMs < 0)).toEqual([]);
    }),
  );
});

test("the order in which witnesses report does not change the journey", () => {
  const order = fc.shuffledSubarray([...witnesses], { minLength: witnesses.length });
  const times = fc.array(fc.nat(60_000), {
    minLength: witnesses.length,
    maxLength: witnesses.length,
  });
  fc.assert(
    fc.property(order, order, times, (joins, leaves, atMs) => {
      const watched = new Watched();
      const at = (witness: Witness) => atMs[witnesses.indexOf(witness)] ?? 0;
      for (const witness of joins) {
        watched.journeys.report(report(witness, 0, "join", at(witness)));
      }
      for (const witness of leaves) {
        watched.journeys.report(report(witness, 0, "leave", 100_000 + at(witness)));
      }
      const origin = Math.min(...atMs);
      const hops = witnesses.map((witness) => ({
        hop: witness.hop,
        witness: witness.name,
        state: { type: "shown", lagMs: at(witness) - origin },
      }));
      expect(watched.over.map(withoutNames)).toEqual([
        {
          direction: "join",
          origin: { at: origin, notBefore: undefined },
          hops,
          outcome: "complete",
        },
        {
          direction: "leave",
          origin: { at: 100_000 + origin, notBefore: undefined },
          hops,
          outcome: "complete",
        },
      ]);
    }),
  );
});

test("witnesses that show every change in order, however late, give every change its own lags", () => {
  const gaps = fc.array(fc.integer({ min: 1, max: 30_000 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(gaps, fc.nat(8_000), fc.nat(8_000), (gapsMs, publishedLag, routedLag) => {
      const watched = new Watched();
      const [pod, published, synced, r1, r2] = witnesses;
      const lags = new Map([
        [pod, 0],
        [published, publishedLag],
        [synced, publishedLag + 5],
        [r1, routedLag],
        [r2, routedLag + 1],
      ]);
      const reports: Observation[] = [];
      let at = 0;
      for (const [index, gapMs] of gapsMs.entries()) {
        at += gapMs;
        for (const [witness, lag] of lags) {
          if (witness === undefined) continue;
          reports.push(report(witness, 0, index % 2 === 0 ? "join" : "leave", at + lag));
        }
      }
      reports.sort((a, b) => a.at - b.at);
      for (const one of reports) {
        watched.journeys.advance(one.at);
        watched.journeys.report(one);
      }
      expect(watched.over.map(({ hops }) => hops.map(({ state }) => state))).toEqual(
        gapsMs.map(() => [...lags.values()].map((lagMs) => ({ type: "shown", lagMs }))),
      );
    }),
  );
});

test("when every witness has let go of every endpoint, all changes are over and nothing is kept", () => {
  fc.assert(
    fc.property(stories, fc.nat(30_000), (story, behindMs) => {
      const over: Journey[] = [];
      let now = 0;
      const timeline = new Timeline({
        onEvent: (event) => event.type === "over" && over.push(event.journey),
        watermark: ({ hop }) => (hop === "routed" ? undefined : ((now - behindMs) as MonotonicMs)),
      });
      for (const witness of witnesses) timeline.follow(witness, web);
      const shown = new Map<string, Observation>();
      const tell = (one: Observation, key: string): void => {
        const isLate = behindMs > 20_000 && one.witness.hop !== "routed";
        const late = isLate ? { notBefore: (now - behindMs) as MonotonicMs } : {};
        timeline.report({ ...one, ...late });
        shown.set(key, one);
      };
      for (const step of story) {
        now += step.afterMs;
        const witness = witnesses[step.witness] ?? { hop: "pod", name: "east" };
        const key = `${step.witness} ${step.pod}`;
        const direction = shown.get(key)?.direction === "join" ? "leave" : "join";
        tell(report(witness, step.pod, direction, now, step.witness < 4), key);
        if (step.advance) timeline.advance(now as MonotonicMs);
      }
      for (const [key, one] of shown) {
        now += 10;
        const at = now as MonotonicMs;
        if (one.direction === "join") tell({ ...one, direction: "leave", at }, key);
      }
      for (let round = 0; round < 10; round += 1) {
        now += 10_000;
        timeline.advance(now as MonotonicMs);
      }
      expect(timeline.pending()).toEqual([]);
      expect(timeline.size).toBe(0);
      expect(new Set(over.map(({ id }) => id)).size).toBe(over.length);
    }),
  );
});
