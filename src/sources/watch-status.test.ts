import { expect, test } from "vitest";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Condition } from "../kube/reflector/reflector-state.ts";
import { type WatchStatus, watchStatus } from "./watch-status.ts";

const currentAtMs = undefined;

function statusOf(
  reason: string | undefined,
  condition: Condition,
  currentAtMs?: MonotonicMs,
): WatchStatus {
  return watchStatus({
    freshness: () => ({
      fresh: reason === undefined,
      reason,
      doubt: undefined,
      connectedSinceMs: undefined,
      aliveAtMs: undefined,
      currentAtMs,
      resourceVersion: undefined,
      server: undefined,
      provedBy: "quorum",
    }),
    condition: () => condition,
  });
}

test("tells one that was current and keeps failing by both", () => {
  const at = 1 as MonotonicMs;
  const condition: Condition = { type: "retrying", message: "the connection broke" };
  expect(statusOf("10.0.0.1 was last reached 20 s ago", condition, at)).toEqual({
    state: "stale",
    detail: "10.0.0.1 was last reached 20 s ago: the connection broke",
    currentAtMs: at,
  });
});

test.each<[string, string | undefined, Condition, WatchStatus]>([
  [
    "one that is proved",
    undefined,
    { type: "ok", message: "watching" },
    { state: "fresh", detail: "", currentAtMs },
  ],
  [
    "one that has only just begun",
    "nothing has been listed yet",
    { type: "ok", message: "listing" },
    { state: "stale", detail: "nothing has been listed yet", currentAtMs },
  ],
  [
    "one that keeps failing, with what it fails of",
    "nothing has been listed yet",
    { type: "retrying", message: "Unauthorized" },
    { state: "stale", detail: "Unauthorized", currentAtMs },
  ],
  [
    "one without permission",
    "nothing has been listed yet",
    { type: "refused", message: "pods is forbidden" },
    { state: "refused", detail: "pods is forbidden", currentAtMs },
  ],
])("tells %s", (_, reason, condition, expected) => {
  expect(statusOf(reason, condition)).toEqual(expected);
});
