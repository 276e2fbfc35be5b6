import { expect, test } from "vitest";
import type { WallMs } from "../environment/clock.ts";
import type { HopRecord, JourneyRecord } from "../timeline/journey-record.ts";
import type { Hop } from "../timeline/witness.ts";
import { journeySpans, stuckSpan } from "./journey-spans.ts";
import { type OtlpSpan, unixNano } from "./otlp-json.ts";

const originMs = 1_790_000_000_000;

function shown(hop: Hop, witness: string, lagMs: number): HopRecord {
  return { hop, witness, state: "shown", lagMs };
}

function missing(hop: Hop, witness: string, state: HopRecord["state"]): HopRecord {
  return { hop, witness, state, lagMs: null };
}

function leave(...hops: readonly HopRecord[]): JourneyRecord {
  return {
    id: "run-7",
    cluster: "east",
    service: "shop/web",
    address: "10.0.0.9",
    port: 8080,
    podUid: "uid-1",
    podName: "web-1",
    direction: "leave",
    cause: "terminating",
    originMs: originMs as WallMs,
    originNotBeforeMs: null,
    outcome: "complete",
    hops,
  };
}

/** `published east 0…1500 parent`: names, times after the origin in ms, and what is wrong. */
function brief({ name, startTimeUnixNano, endTimeUnixNano, parentSpanId, status }: OtlpSpan) {
  const after = (nanos: string) => Number(BigInt(nanos) - BigInt(unixNano(originMs))) / 1e6;
  const from = `${after(startTimeUnixNano)}…${after(endTimeUnixNano)}`;
  return [name, from, parentSpanId === undefined ? "root" : "hop", status.message ?? "ok"].join(
    " | ",
  );
}

function attributesOf({ attributes }: OtlpSpan): readonly string[] {
  return attributes.map(({ key, value }) => `${key} ${JSON.stringify(value)}`);
}

test("a hop's span begins where the change was last shown before it", () => {
  const record = leave(
    shown("pod", "east", 0),
    shown("published", "east", 1_500),
    shown("synced", "edge", 1_750.25),
    shown("routed", "proxy-1", 1_800),
    shown("routed", "proxy-2", 61_000),
    missing("traffic", "proxy-1", "pending"),
  );
  expect(journeySpans(record, originMs + 70_000).map(brief)).toMatchInlineSnapshot(`
    [
      "endpoint leave | 0…61000 | root | ok",
      "pod | 0…0 | hop | ok",
      "published | 0…1500 | hop | ok",
      "synced | 1500…1750.25 | hop | ok",
      "routed | 1750.25…1800 | hop | ok",
      "routed | 1750.25…61000 | hop | ok",
    ]
  `);
});

test("a hop that did not wait for the one before it begins at the origin", () => {
  const record = leave(
    shown("pod", "east", 0),
    shown("published", "east", 640_000),
    shown("routed", "lockstep-1", 4),
  );
  expect(journeySpans(record, originMs + 640_000).map(brief)).toMatchInlineSnapshot(`
    [
      "endpoint leave | 0…640000 | root | ok",
      "pod | 0…0 | hop | ok",
      "published | 0…640000 | hop | ok",
      "routed | 0…4 | hop | ok",
    ]
  `);
});

test("a hop that never showed it is an error that lasts until the journey is given up", () => {
  const record = {
    ...leave(shown("pod", "east", 0), missing("published", "east", "stuck")),
    outcome: "abandoned" as const,
  };
  expect(journeySpans(record, originMs + 21_600_000).map(brief)).toMatchInlineSnapshot(`
    [
      "endpoint leave | 0…21600000 | root | the change never became visible at a hop",
      "pod | 0…0 | hop | ok",
      "published | 0…21600000 | hop | east has not reported the change",
    ]
  `);
});

test("what is known of the change is on every span, and what is not is left out", () => {
  const record = {
    ...leave(missing("pod", "east", "unchanged"), shown("published", "east", 0.5)),
    originNotBeforeMs: (originMs - 2_000) as WallMs,
    cause: null,
  };
  expect(journeySpans(record, originMs).map(attributesOf)).toMatchInlineSnapshot(`
    [
      [
        "lockstep.journey {"stringValue":"run-7"}",
        "lockstep.direction {"stringValue":"leave"}",
        "k8s.namespace.name {"stringValue":"shop"}",
        "k8s.service.name {"stringValue":"web"}",
        "k8s.pod.name {"stringValue":"web-1"}",
        "k8s.pod.uid {"stringValue":"uid-1"}",
        "server.address {"stringValue":"10.0.0.9"}",
        "server.port {"intValue":"8080"}",
        "lockstep.outcome {"stringValue":"complete"}",
        "lockstep.origin.uncertainty_ms {"doubleValue":2000}",
        "lockstep.not_shown {"arrayValue":{"values":[{"stringValue":"pod east: unchanged"}]}}",
      ],
      [
        "lockstep.journey {"stringValue":"run-7"}",
        "lockstep.direction {"stringValue":"leave"}",
        "k8s.namespace.name {"stringValue":"shop"}",
        "k8s.service.name {"stringValue":"web"}",
        "k8s.pod.name {"stringValue":"web-1"}",
        "k8s.pod.uid {"stringValue":"uid-1"}",
        "server.address {"stringValue":"10.0.0.9"}",
        "server.port {"intValue":"8080"}",
        "lockstep.hop {"stringValue":"published"}",
        "lockstep.witness {"stringValue":"east"}",
        "lockstep.lag_ms {"doubleValue":0.5}",
      ],
    ]
  `);
});

test("what is not exact says between what it lies, and requests after the leave are counted", () => {
  const record: JourneyRecord = {
    ...leave({ ...shown("routed", "proxy-1", 900), lagRangeMs: { min: 400, max: null } }),
    originBeforeStart: true,
    traffic: { requests: 5, failed: 2, lastFailedMs: null },
  };
  const all = journeySpans(record, originMs).map((span) => attributesOf(span).slice(9));
  expect(all).toMatchInlineSnapshot(`
    [
      [
        "lockstep.outcome {"stringValue":"complete"}",
        "lockstep.origin.before_start {"boolValue":true}",
        "lockstep.requests_after_leave {"intValue":"5"}",
        "lockstep.failed_requests_after_leave {"intValue":"2"}",
      ],
      [
        "lockstep.hop {"stringValue":"routed"}",
        "lockstep.witness {"stringValue":"proxy-1"}",
        "lockstep.lag_ms {"doubleValue":900}",
        "lockstep.lag_min_ms {"doubleValue":400}",
      ],
    ]
  `);
});

test("what is stuck has a span of its own, so that no span is ever sent twice", () => {
  const stuck = missing("published", "east", "stuck");
  const record = leave(shown("pod", "east", 0), stuck);
  const early = stuckSpan(record, stuck, originMs + 30_000);
  expect(brief(early)).toBe(
    "stuck at published | 0…30000 | hop | east has not reported the change",
  );
  expect(early.events).toEqual([
    { timeUnixNano: unixNano(originMs + 30_000), name: "stuck", attributes: [] },
  ]);
  const late = journeySpans(record, originMs + 60_000);
  expect(new Set([early, ...late].map(({ spanId }) => spanId)).size).toBe(1 + late.length);
  expect(new Set([early, ...late].map(({ traceId }) => traceId)).size).toBe(1);
});

test("the same journey always has the same ids, another has others", () => {
  const ids = (id: string) =>
    journeySpans({ ...leave(shown("pod", "east", 0)), id }, originMs).map(
      ({ traceId, spanId }) => `${traceId} ${spanId}`,
    );
  expect(ids("run-7")).toEqual(ids("run-7"));
  expect(ids("run-8")).not.toEqual(ids("run-7"));
});

test("nanoseconds keep fractions of a millisecond", () => {
  expect([0, 1_790_000_000_000.25, 1_790_000_000_000.999_8].map(unixNano)).toEqual([
    "0",
    "1790000000000250000",
    "1790000000000999756",
  ]);
});
