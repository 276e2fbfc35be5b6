import { describe, expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { FreshnessTracker, maxUnreachedReads } from "./freshness.ts";

function trackerAt(startMs = 0) {
  let nowMs = startMs;
  const tracker = new FreshnessTracker({
    clock: { monotonicMs: () => nowMs as MonotonicMs, wallMs: () => nowMs as WallMs },
  });
  const listed = (resourceVersion: string, consistent = true) => {
    tracker.answered();
    tracker.listed({ sentAt: nowMs as MonotonicMs, resourceVersion, consistent });
    tracker.connected("api:443");
  };
  const read = (resourceVersion: string, reachedAtSending = "1") =>
    tracker.quorumRead({ sentAt: nowMs as MonotonicMs, resourceVersion, reachedAtSending });
  const hear = (resourceVersion: string) => {
    tracker.received();
    tracker.reached(resourceVersion);
  };
  return { tracker, listed, read, hear, pass: (ms: number) => (nowMs += ms) };
}

describe("being current", () => {
  test("is proved as of the sending of a read whose version the watch reaches later", () => {
    const { tracker, listed, read, hear, pass } = trackerAt();
    listed("10");
    pass(20_000);
    expect(read("30")).toBe("unreached");
    pass(20_000);
    expect(read("50")).toBe("unreached");
    pass(10_000);
    hear("49");
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([20_000, 40_000]);
    hear("50");
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([40_000, undefined]);
    expect(tracker.quorumProofs).toBe(2);
  });

  test("a version that a read knew before the watch is as old as that read", () => {
    const { tracker, listed, read, hear, pass } = trackerAt();
    listed("10");
    pass(20_000);
    read("30");
    pass(20_000);
    read("50");
    expect(["11", "30", "31", "51", "x"].map((version) => tracker.readBefore(version))).toEqual([
      20_000,
      20_000,
      40_000,
      undefined,
      undefined,
    ]);
    hear("30");
    expect(tracker.readBefore("30")).toBe(40_000);
  });

  test("is proved at once by a read that shows what the watch has already reached", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    pass(20_000);
    expect([read("10"), tracker.freshness().currentAtMs]).toEqual(["reached", 20_000]);
  });

  test("is not proved by bookmarks of a cache that lags, and ends with the bound", () => {
    const { tracker, listed, read, hear, pass } = trackerAt();
    listed("10");
    pass(20_000);
    read("30");
    pass(70_000);
    hear("11");
    expect(tracker.freshness().fresh).toBe(true);
    pass(1);
    hear("12");
    expect(tracker.freshness().reason).toBe(
      "api:443 has not been known to be up to date for over 90 s",
    );
  });

  test("is not proved by a list that may be old, nor by one that a read contradicts", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    pass(1_000);
    read("30");
    listed("20", false);
    listed("20");
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([0, 1_000]);
    listed("30");
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([1_000, undefined]);
  });

  test("is proved by a list that may be old when it has reached what a read has shown", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    pass(1_000);
    read("30");
    pass(1_000);
    listed("30", false);
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([1_000, undefined]);
  });

  test("a list has reached a read that was sent after it and shows no more", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    pass(1_000);
    const sentAt = 1_000 as MonotonicMs;
    pass(1_000);
    read("30");
    tracker.listed({ sentAt, resourceVersion: "30", consistent: true });
    expect([tracker.freshness().currentAtMs, tracker.behindSince]).toEqual([2_000, undefined]);
  });

  test("is believed when versions that cannot be ordered change", () => {
    const { tracker, listed, read, hear, pass } = trackerAt();
    listed("a");
    pass(1_000);
    expect(read("c", "a")).toBe("unreached");
    hear("a");
    expect(tracker.freshness().currentAtMs).toBe(0);
    hear("b");
    expect(tracker.freshness().currentAtMs).toBe(1_000);
  });

  test("is believed on new events when reads are refused, until one is answered", () => {
    const { tracker, listed, read, hear, pass } = trackerAt();
    listed("10");
    tracker.quorumRefused();
    pass(50_000);
    hear("10");
    expect(tracker.freshness().currentAtMs).toBe(0);
    hear("11");
    const { currentAtMs, provedBy } = tracker.freshness();
    expect([currentAtMs, provedBy]).toEqual([50_000, "events"]);
    read("99");
    expect(tracker.freshness().provedBy).toBe("quorum");
  });

  test("cannot be proved by a history that went back", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    pass(1_000);
    expect([read("9", "10"), tracker.freshness().currentAtMs]).toEqual(["rewound", 0]);
  });

  test("remembers a bounded number of reads, the newest", () => {
    const { tracker, listed, read, pass } = trackerAt();
    listed("10");
    for (let index = 0; index < maxUnreachedReads + 3; index += 1) {
      pass(1_000);
      read("30");
    }
    expect(tracker.behindSince).toBe(4_000);
  });
});

describe("being alive", () => {
  test("holds while connected, and for fifteen seconds after the server closed", () => {
    const { tracker, listed, hear, pass } = trackerAt();
    listed("10");
    pass(40_000);
    tracker.quorumRefused();
    hear("11");
    tracker.disconnected({ byServer: true });
    pass(15_000);
    expect(tracker.freshness().fresh).toBe(true);
    pass(1);
    const { fresh, reason, aliveAtMs, connectedSinceMs } = tracker.freshness();
    expect({ fresh, reason, aliveAtMs, connectedSinceMs }).toEqual({
      fresh: false,
      reason: "api:443 has not been reached for over 15 s",
      aliveAtMs: 40_000,
      connectedSinceMs: undefined,
    });
  });

  test("ends at once for a connection that broke, unless data arrived on it recently", () => {
    const { tracker, listed, hear, pass } = trackerAt();
    listed("10");
    pass(50_000);
    tracker.disconnected({ byServer: false });
    expect(tracker.freshness().aliveAtMs).toBe(35_000);
    tracker.connected("api:443");
    hear("11");
    pass(5_000);
    tracker.disconnected({ byServer: false });
    expect(tracker.freshness().aliveAtMs).toBe(50_000);
  });
});
