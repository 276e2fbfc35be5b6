// The verdict on a try at a pod that had not left by then: it did not take requests yet, left while it
// had this one, was too slow, or failed by itself. None of these is a stale endpoint.
import { type PodHistory, placeOf } from "./address-lives.ts";
import { asNodeSays, isSeenWhole, probablyLeftMs } from "./judge-left.ts";
import type { JudgeTryOptions } from "./judge-try.ts";
import { type Moment, standingAt } from "./pod-life.ts";
import { lengthOf, middleOf, orderOf } from "./span.ts";
import type { TryTimes } from "./try-time.ts";
import type { TryBase, TryVerdict } from "./verdict.ts";

/** A program that is marked ready before it listens does so within this. */
const startUpMs = 30_000;

/** A connection that is refused or reset is so at once. */
const atOnceMs = 1_000;

/** The status that nginx logs for a client that closed the connection early. */
const clientGone = 499;

export function judgeServing(
  options: JudgeTryOptions,
  life: PodHistory,
  base: TryBase,
): TryVerdict {
  const { tried, times, evidence } = options;
  const { moments } = life;
  const now = standingAt(moments, times.sent.toMs, "from");
  if (now.type === "not yet") {
    if (!evidence.isCovered(placeOf(life), times.sent)) return judgeUnseen(times, life, base);
    const confidence = isSeenWhole(evidence, life, times.sent) ? "certain" : "likely";
    return {
      ...base,
      cause: "not yet listening",
      confidence,
      because: "it had not been ready yet",
    };
  }
  const left = leftMeanwhile(options, life);
  if (left !== undefined) {
    const isBetween =
      orderOf(times.sent, left.at) === "before" && orderOf(left.at, times.over) === "before";
    const confidence = isBetween ? "certain" : "likely";
    return { ...base, cause: "left meanwhile", confidence, left, because: "" };
  }
  const readyForMs =
    now.type === "serving" ? lengthOf(now.since.at, times.sent).mostMs : Number.POSITIVE_INFINITY;
  const failedAtOnce = tried.answered !== true && (tried.durationMs ?? atOnceMs) < atOnceMs;
  if (failedAtOnce && readyForMs < startUpMs) {
    const because = life.facts.hasReadinessProbe
      ? "it had become ready just before"
      : "it has no readiness probe, so it counts as ready before it listens";
    return { ...base, cause: "not yet listening", confidence: "likely", because };
  }
  const isSurelyReady = standingAt(moments, times.sent.fromMs, "to").type === "serving";
  return judgeWell(options, base, { isSure: isSurelyReady && tried.answered === true });
}

/** How the pod or its node left before the pod had answered, as far as known. */
function leftMeanwhile({ tried, times, evidence }: JudgeTryOptions, life: PodHistory) {
  const later = standingAt(life.moments, times.over.toMs, "from");
  if (later.type === "left") {
    const by = asNodeSays(evidence, life, later.by);
    const isAfter = probablyLeftMs(by) > middleOf(times.over);
    return isAfter && orderOf(by.at, times.over) !== "before" ? undefined : by;
  }
  const loss = evidence.nodes.lossAt(life.cluster, life.facts.node, times.over);
  if (tried.answered === true || loss === undefined) return undefined;
  if (middleOf(times.over) < loss.at.fromMs) return undefined;
  return { what: "node lost", at: loss.at, shownMs: loss.shownMs } satisfies Moment;
}

function judgeWell(
  { tried, status }: JudgeTryOptions,
  base: TryBase,
  { isSure }: { readonly isSure: boolean },
): TryVerdict {
  const confidence = isSure ? "certain" : "likely";
  const isSlow = tried.status === 504 || (tried.status ?? 0) < 500;
  const isLeft = isSlow && status === clientGone;
  const because = isLeft ? "the client closed the connection; the pod was ready" : "it was ready";
  return { ...base, cause: isSlow ? "timeout" : "application", confidence, because };
}

/**
 * The evidence does not show whether the pod was ready. It may show that the pod ended, or was
 * being deleted, during the request.
 */
function judgeUnseen(times: TryTimes, { moments }: PodHistory, base: TryBase): TryVerdict {
  const ends: readonly Moment["what"][] = ["ended", "terminating", "deleted"];
  const left = moments.find(
    ({ what, at }) =>
      ends.includes(what) && at.fromMs >= times.sent.fromMs && at.fromMs <= times.over.toMs,
  );
  if (left !== undefined) {
    return { ...base, cause: "left meanwhile", confidence: "likely", left, because: "" };
  }
  const because = "no data about its readiness at that time";
  return { ...base, cause: "unknown", confidence: "cannot tell", because };
}
