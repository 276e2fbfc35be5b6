import { expect, it } from "vitest";
import type { MonotonicMs } from "../../../environment/clock.ts";
import type { HopTime, Journey } from "../../../timeline/journey.ts";
import type { Hop } from "../../../timeline/witness.ts";
import { earlyLine, journeyRow, rowsHead } from "./changes.ts";

function shown(hop: Hop, witness: string, lagMs: number): HopTime {
  return { hop, witness, state: { type: "shown", lagMs } };
}

function leave(hops: readonly HopTime[]): Journey {
  return {
    id: 1,
    endpoint: {
      cluster: "alpha",
      service: "default/shop",
      address: "127.31.0.5",
      port: 8080,
      podUid: "uid",
    },
    podName: "shop-1",
    direction: "leave",
    cause: "terminating",
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops,
    outcome: "complete",
  };
}

const lockstep = [11.6, 11.8, 12.04].map((ms, index) =>
  shown("routed", `lockstep-${index + 1}`, ms),
);
const stock = [29_612, 29_700, 33_000].map((ms, index) =>
  shown("routed", `stock-${index + 1}`, ms),
);

it("says nothing before every Lockstep replica routes by the change", () => {
  expect(earlyLine(leave(lockstep.slice(0, 2)))).toBeUndefined();
});

it("shows a change early at Lockstep and late elsewhere", () => {
  const journey = leave([
    shown("pod", "alpha", 0),
    shown("published", "alpha", 29_400),
    shown("synced", "access", 29_415),
    ...lockstep,
    ...stock,
  ]);
  expect(earlyLine(journey)).toBe(
    "  −127.31.0.5      Lockstep replicas removed it after 11.6 11.8 12 ms (real)",
  );
  expect(`\n${[...rowsHead, journeyRow(journey)].join("\n")}\n`).toMatchInlineSnapshot(`
    "
      Real time until the change was visible in
                                    copy in    stock (model)       Lockstep
      pod              Endpoints    access     replicas 1 2 3      replicas 1 2 3
      −127.31.0.5      29.4 s       29.4 s     29.6 29.7 33 s      11.6 11.8 12 ms
    "
  `);
});

it("marks a hop that nobody reported, and a journey that did not end well", () => {
  const journey = {
    ...leave([shown("pod", "alpha", 0), ...lockstep]),
    outcome: "superseded" as const,
  };
  expect(journeyRow(journey)).toMatchInlineSnapshot(
    `
    "  −127.31.0.5      –            –          –                   11.6 11.8 12 ms
        (superseded)"
  `,
  );
});

it("names the unit of each lag where they differ", () => {
  const mixed = leave([12, 1_200, 13].map((ms, at) => shown("routed", `lockstep-${at}`, ms)));
  expect(earlyLine(mixed)).toBe(
    "  −127.31.0.5      Lockstep replicas removed it after 12 ms, 1.2 s, 13 ms (real)",
  );
});
