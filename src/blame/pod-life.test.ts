import { describe, expect, test } from "vitest";
import { at, pod } from "../../tests/blame/blame-world.ts";
import { isRecord, listAt, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { readPod } from "./pod-facts.ts";
import { momentsBetween, type Seen } from "./pod-life.ts";

/** Moments in seconds: `ready 0–10`. */
function momentTexts(
  previous: RawRecord | undefined,
  next: RawRecord,
  seen: Seen,
): readonly string[] {
  const before = previous === undefined ? undefined : readPod(previous);
  const seconds = (ms: number): number => (ms - at(0)) / 1_000;
  return momentsBetween(before, readPod(next), seen).map(
    ({ what, at: { fromMs, toMs } }) => `${what} ${seconds(fromMs)}–${seconds(toMs)}`,
  );
}

function saved(seconds: number, after?: number): Seen {
  const afterMs = after === undefined ? undefined : at(after);
  return { atMs: at(seconds), isWatched: false, afterMs };
}

describe("a pod that is not ready when it is first seen", () => {
  test("was ready before if that is so since after its container ran", () => {
    expect(momentTexts(undefined, pod({ created: 5, unreadySince: 50 }), saved(100))).toEqual([
      "appeared 5–6",
      "ready 5–50",
      "unready 50–51",
    ]);
  });

  test("and was so before its container ended, if one has", () => {
    const crashed = pod({ created: 5, unreadySince: 52, endedAt: 50 });
    expect(momentTexts(undefined, crashed, saved(100))).toEqual([
      "appeared 5–6",
      "ready 5–50",
      "ended 50–51",
      "unready 52–53",
    ]);
  });

  test("never was if that is so since before its container ran", () => {
    const starting = pod({ created: 5, unreadySince: 5 });
    expect(momentTexts(undefined, starting, saved(100))).toEqual(["appeared 5–6", "unready 5–6"]);
  });
});

describe("a pod that is ready in two versions", () => {
  const [before, after] = [pod({ readySince: 10 }), pod({ readySince: 80 })];

  test("since different times was not ready at some time between", () => {
    expect(momentTexts(before, after, saved(100, 30))).toEqual(["unready 30–80", "ready 80–81"]);
  });

  test("that came from a watch missed nothing", () => {
    const watched = { atMs: at(100), isWatched: true, afterMs: undefined };
    expect(momentTexts(before, after, watched)).toEqual([]);
    expect(momentTexts(before, before, saved(100, 30))).toEqual([]);
  });
});

describe("a pod that is not ready though its containers are", () => {
  const watched = { atMs: at(140.5), isWatched: true, afterMs: undefined };

  const given = pod({ unreadySince: 140, areContainersReady: true });

  test("was given up with its node, which had been silent for a while", () => {
    expect(momentTexts(pod({ readySince: 10 }), given, watched)).toEqual(["node lost 20–140.5"]);
    expect(momentTexts(pod({ readySince: 100 }), given, watched)).toEqual(["node lost 100–140.5"]);
  });

  test("unless a readiness gate holds it back", () => {
    const status = recordAt(given, "status");
    const [ready] = listAt(status, "conditions").filter(isRecord);
    const conditions = [{ ...ready, reason: "ReadinessGatesNotReady" }];
    const held = { ...given, status: { ...status, conditions } };
    expect(momentTexts(pod({ readySince: 10 }), held, watched)).toEqual(["unready 140–140.5"]);
  });
});
