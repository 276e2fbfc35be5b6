import { expect, test } from "vitest";
import { change } from "../../tests/cli/watched-changes.ts";
import { PageJourneys } from "./page-journeys.ts";

test("requests to endpoints that had left are counted over all changes, in their last state", () => {
  const journeys = new PageJourneys();
  const late = change({ id: 1, outcome: "pending" });
  const traffic = (requests: number, failed: number) => ({
    traffic: { requests, failed, lastFailedAt: undefined },
  });
  journeys.onEvent({ type: "found", journey: late });
  journeys.onEvent({ type: "over", journey: { ...change({ id: 2 }), ...traffic(5, 1) } });
  expect(journeys.toRemoved).toEqual({ requests: 5, failed: 1 });
  journeys.refresh([{ ...late, ...traffic(3, 2) }]);
  expect(journeys.toRemoved).toEqual({ requests: 8, failed: 3 });
  journeys.onEvent({ type: "over", journey: { ...late, ...traffic(4, 2) } });
  expect(journeys.toRemoved).toEqual({ requests: 9, failed: 3 });
});
