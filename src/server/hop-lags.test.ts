import { expect, test } from "vitest";
import { at, change } from "../../tests/cli/watched-changes.ts";
import { HopLags } from "./hop-lags.ts";

test("one late cluster among quick changes of another is late, and known by its name", () => {
  const lags = new HopLags({ kindOf: () => "other" });
  const over = [
    ...[1, 2, 3, 4, 5, 6].map((id) => ({ id, cluster: "beta", published: 40 })),
    ...[7, 8].map((id) => ({ id, cluster: "alpha", published: 9_000 })),
  ].map(({ published, ...one }) => change({ ...one, originMs: 0, hops: { pod: 0, published } }));
  for (const journey of over) {
    for (const hop of journey.hops) lags.onEvent({ type: "shown", journey, hop });
  }
  const hops = { pod: 0, published: "pending" } as const;
  const waiting = [change({ id: 9, originMs: 0, outcome: "pending", hops })];
  const now = at(12_000);
  const places = lags.places(waiting, now).filter(({ hop }) => hop === "published");
  expect(
    places.map(({ cluster, recent, oldestPendingMs }) => {
      return [cluster, Math.round(recent.quantileMs(0.5) ?? 0), oldestPendingMs];
    }),
  ).toEqual([
    ["beta", 40, null],
    ["alpha", 9_000, 12_000],
  ]);
  const [row] = lags.rows(waiting, now).filter(({ hop }) => hop === "published");
  expect(row).toMatchObject({ count: 8, p50Ms: 40, recentMs: 9_000, oldestPendingMs: 12_000 });
});
