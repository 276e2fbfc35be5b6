import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import { journeyLine } from "./format.ts";
import type { HopState, HopTime, Journey } from "./journey.ts";
import type { Hop } from "./witness.ts";

const now = 5_000 as MonotonicMs;

const shown = (lagMs: number): HopState => ({ type: "shown", lagMs });

function journey(
  hops: readonly (readonly [Hop, HopState])[],
  other: Partial<Journey> & { readonly service?: string } = {},
): Journey {
  const { service = "shop/web", ...rest } = other;
  return {
    id: 1,
    endpoint: { cluster: "east", service, address: "127.31.2.5", port: 8080, podUid: "a" },
    podName: "web-0",
    direction: "leave",
    cause: "terminating",
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops: hops.map(([hop, state], index): HopTime => ({ hop, witness: `w${index}`, state })),
    outcome: "pending",
    ...rest,
  };
}

const stock = journey([
  ["pod", shown(0)],
  ["published", shown(31_200)],
  ["synced", shown(31_300)],
  ["routed", shown(12)],
  ["routed", shown(14)],
  ["routed", shown(13)],
]);

test("a hop that reported before the pod's own event is not 0 late", () => {
  const early = journey([
    ["pod", shown(45)],
    ["published", shown(50)],
    ["routed", shown(0)],
    ["routed", shown(12)],
  ]);
  expect(journeyLine(early, { now, width: 120 })).toBe(
    "−127.31.2.5 shop/web  pod 45 ms · published 50 ms · routed before pod 12 ms",
  );
  const three = { ...early, hops: [...early.hops, ...early.hops.slice(3)] };
  expect(journeyLine(three, { now, width: 78 })).toBe(
    "−127.31.2.5 shop/web  pod 45 ms · published 50 ms · routed before pod to 12 ms",
  );
});

test("lines for every kind of hop", () => {
  const lines = [
    stock,
    { ...stock, endpoint: { ...stock.endpoint, service: "web" } },
    journey([["pod", shown(0)]], { direction: "join" }),
    journey([
      ["pod", shown(0)],
      ["published", { type: "pending" }],
      ["routed", { type: "stuck" }],
    ]),
    journey(
      [
        ["pod", shown(0)],
        ["published", { type: "unchanged" }],
        ["routed", { type: "passed" }],
      ],
      { outcome: "superseded" },
    ),
    journey(
      [
        ["pod", { type: "pending" }],
        ["routed", shown(0)],
      ],
      { outcome: "withdrawn" },
    ),
    journey(
      [
        ["pod", shown(0)],
        ["published", shown(900)],
        ...Array.from({ length: 9 }, (_, index) => ["routed", shown(3_300 + index)] as const),
        ["routed", { type: "pending" }],
      ],
      { service: "a-namespace-with-a-long-name/a-service-with-a-long-name" },
    ),
  ].map((one) => journeyLine(one, { now }));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  expect(lines).toMatchInlineSnapshot(`
    [
      "−127.31.2.5 shop/web  pod 0 · published 31.2 s · synced 31.3 s · routed 12–14 ms",
      "−127.31.2.5 web  pod 0 · published 31.2 s · synced 31.3 s · routed 12 14 13 ms",
      "+127.31.2.5 shop/web  pod 0 · published ? · routed ?",
      "−127.31.2.5 shop/web  pod 0 · published 5 s… · routed stuck 5 s…",
      "−127.31.2.5 shop/web  pod 0 · published unchanged · routed passed (superseded)",
      "−127.31.2.5 shop/web  pod never shown · published ? · routed 0 (withdrawn)",
      "−127.31.2.5 a-service-…  pod 0 · published 900 ms · routed 3.3–3.31 s, 1 of 10 …",
    ]
  `);
});

test("a lag that is not exact has the sign of how it relates to the true one", () => {
  const inexact = (lagMs: number, minMs: number, maxMs: number | undefined): HopState => ({
    type: "shown",
    lagMs,
    range: { minMs, maxMs },
  });
  const learnt = journey([
    ["pod", inexact(0, 0, 1_500)],
    ["published", inexact(19.6, 10, 1_500)],
    ["synced", inexact(400, 400, undefined)],
    ["routed", inexact(900, 0, 900)],
    ["routed", inexact(950, 0, 950)],
  ]);
  const mixed = journey([
    ["published", shown(0)],
    ["routed", shown(20)],
    ["routed", inexact(950, 0, 950)],
  ]);
  const lines = [200, 80].flatMap((width) =>
    [learnt, mixed].map((one) => journeyLine(one, { now, width })),
  );
  expect(lines).toMatchInlineSnapshot(`
    [
      "−127.31.2.5 shop/web  pod ≥0 · published ~19.6 ms · synced ≥400 ms · routed ≤900 ≤950 ms",
      "−127.31.2.5 shop/web  pod ? · published ≥0 · routed 20 ≤950 ms",
      "−127.31.2.5 shop/web  published ~19.6 ms · synced ≥400 ms · routed ≤900–950 ms",
      "−127.31.2.5 shop/web  pod ? · published ≥0 · routed 20 ≤950 ms",
    ]
  `);
});

test("a wider terminal shows every replica", () => {
  expect(journeyLine(stock, { now, width: 120 })).toBe(
    "−127.31.2.5 shop/web  pod 0 · published 31.2 s · synced 31.3 s · routed 12 14 13 ms",
  );
});
