// Verdicts in sentences that a tired person understands: which pod it was, since when it was none
// any more, which hop was late and by how much.
import { durationText } from "../journeys/duration-text.ts";
import type { Happening, Moment } from "./pod-life.ts";
import { type Length, lengthOf, type Span } from "./span.ts";
import type { Cause, HopDelay, RequestVerdict, TryVerdict } from "./verdict.ts";

/** What each cause means, in one line. */
export const causeMeanings: Readonly<Record<Cause, string>> = {
  "published late": "stale endpoint: the pod had left, its service still listed it",
  "synced late": "stale endpoint: the copy in the access cluster still listed it",
  "routed late": "stale endpoint: no longer listed, the proxy still used it",
  "shown late": "stale endpoint: the pod was dead, the API did not show it yet",
  stale: "stale endpoint: the pod had left; which hop was late is not known",
  "joined late": "ready pods were there, the proxy had none of them yet",
  "no endpoints": "not a stale endpoint: the service had none",
  "left meanwhile": "not a stale endpoint: the pod left while it had the request",
  "not yet listening": "not a stale endpoint: the pod did not take requests yet",
  timeout: "not a stale endpoint: the pod was ready and too slow",
  application: "not a stale endpoint: the pod was ready and failed or refused",
  outside: "not a stale endpoint: it went to something that is no pod",
  unknown: "not known",
};

/** One paragraph for each try, or one for a request without any. */
export function verdictSentences(verdict: RequestVerdict): readonly string[] {
  const { tries, service, because } = verdict;
  if (tries.length === 0) {
    const name = service === undefined ? "" : `${service}: `;
    const late = verdict.late === undefined ? "" : `, ${lengthText(verdict.late)} late`;
    const untried = verdict.areTriesTold ? "no endpoint was tried; " : "";
    return [`${untried}${name}${because}${late}.`];
  }
  return tries.map(trySentence);
}

export function trySentence(verdict: TryVerdict): string {
  const { address, port, pod, cause, because, left } = verdict;
  const place = `${address.includes(":") ? `[${address}]` : address}:${port}`;
  if (pod === undefined) return `${place} ${podlessText(verdict)}.`;
  const on = pod.node === "" ? "" : ` on ${pod.node}`;
  const or = verdict.rivals.map(
    ({ namespace, name, cluster }) => ` or ${namespace}/${name} in ${cluster}`,
  );
  const who = `${place} was pod ${pod.namespace}/${pod.name} in ${pod.cluster}${on}${or.join("")}`;
  const isLost = left?.what === "node lost";
  const parts = [who];
  if (left !== undefined && cause !== "left meanwhile") parts.push(leftText(verdict, left));
  if (left !== undefined && cause === "left meanwhile") {
    parts.push(`${happenedText(left)} at ${clockText(left.at)}, while it had the request`);
  }
  // Of a lost node the API's part is told already.
  const hops = hopsText(verdict.hops.filter(({ hop }) => !(isLost && hop === "pod")));
  if (hops !== "") parts.push(hops);
  if (verdict.alternatives.length > 0) parts.push(alternativesText(verdict));
  if (left === undefined) parts.push(wellText(verdict));
  if (verdict.successor !== undefined) {
    const { namespace, name } = verdict.successor;
    parts.push(`the address belongs to ${namespace}/${name} by now`);
  }
  if (verdict.predecessor !== undefined) {
    const { namespace, name } = verdict.predecessor;
    parts.push(`perhaps ${namespace}/${name} was meant, which had the address before`);
  }
  const isSaid = verdict.alternatives.length > 0;
  if (left !== undefined && because !== "" && !isSaid) parts.push(because);
  return `${parts.join("; ")}.`;
}

function podlessText({ cause, because, hops }: TryVerdict): string {
  if (cause === "unknown") return `cannot be told: ${because}`;
  return hops.length === 0 ? `is no pod: ${because}` : `${because}; ${hopsText(hops)}`;
}

/** `; perhaps routed late instead: the times are too coarse to tell`, unless something else is. */
function alternativesText({ alternatives, because }: TryVerdict): string {
  const why = because === "" ? "the times are too coarse to tell" : because;
  return `perhaps ${alternatives.join(" or ")} instead: ${why}`;
}

const happenings: Readonly<Record<Happening, string>> = {
  appeared: "got its address",
  ready: "became ready",
  unready: "was not ready any more",
  terminating: "was asked to end",
  ended: "its container ended",
  started: "its container started",
  deleted: "was deleted",
  moved: "got another address",
  "node lost": "its node was last heard",
};

function leftText({ late, dead, sent }: TryVerdict, left: Moment): string {
  if (left.what === "node lost") return lostText(sent, left);
  const before = late === undefined ? "" : ` ${lengthText(late)} before`;
  const since = `${happenedText(left)}${before}, at ${clockText(left.at)}`;
  const isOther = dead !== undefined && dead.what !== left.what;
  return isOther ? `${since}, and ${happenedText(dead)} at ${clockText(dead.at)}` : since;
}

/** `its container ended (OOMKilled)`. */
function happenedText({ what, why }: Moment): string {
  return why === undefined ? happenings[what] : `${happenings[what]} (${why})`;
}

/** When it died is not known; only when it was last heard, and when that was noticed. */
function lostText(sent: Span, { at, shownMs, why }: Moment): string {
  const heard = { fromMs: at.fromMs, toMs: at.fromMs };
  const before = lengthText(lengthOf(heard, sent));
  const given = clockText({ fromMs: shownMs, toMs: shownMs });
  if (why !== undefined) {
    const silent = durationText(shownMs - at.fromMs);
    return `its node was given up at ${given}, ${why}, and had been silent for up to ${silent}`;
  }
  return `its node was last heard ${before} before, at ${clockText(heard)}, and given up at ${given}`;
}

function hopsText(hops: readonly HopDelay[]): string {
  return hops.map(hopText).join("; ");
}

function hopText({ hop, where, took, isPending, shownAfter }: HopDelay): string {
  const late = lengthText(took);
  const at = where === undefined ? "" : ` in ${where}`;
  const until = shownAfter === undefined ? "" : ` (until ${lengthText(shownAfter)} after)`;
  switch (hop) {
    case "pod":
      return isPending
        ? `the API did not show it yet${until}`
        : `the API showed it ${lengthText(shownAfter ?? took)} after`;
    case "published":
    case "synced":
      return isPending
        ? `${hop}${at} late by ${late}: still listed${until}`
        : `${hop}${at} after ${late}`;
    case "routed":
    case "traffic":
      return `routed late by ${late}: no longer listed`;
  }
}

function wellText({ cause, status, durationMs, answered, because }: TryVerdict): string {
  const after = durationMs === undefined ? "" : ` after ${durationText(durationMs)}`;
  switch (cause) {
    case "timeout":
      return `${because}, and gave no answer${after}`;
    case "application":
      return answered === true
        ? `${because}, and answered ${status}${after} by itself`
        : `${because}, and refused or broke off${after}`;
    default:
      return because;
  }
}

/** `16:00:14.250`; to the second `16:00:14`; and known less well `16:00:14–16:00:20`. */
export function clockText({ fromMs, toMs }: Span): string {
  const time = (ms: number): string => new Date(ms).toISOString().slice(11, 23);
  const second = (ms: number): string => time(ms).slice(0, 8);
  const widthMs = toMs - fromMs;
  if (widthMs > unknownMs) return `some time before ${second(toMs)}`;
  if (widthMs > secondMs) return `${second(fromMs)}–${second(toMs)}`;
  return widthMs === secondMs ? second(fromMs) : time(toMs);
}

const secondMs = 1_000;

/** A year: what is known no better has no known beginning. */
const unknownMs = 31_536_000_000;

/** One number where both ends are about the same: `1 min 12 s`, `2.1 s to 3 s`, `up to 900 ms`. */
export function lengthText({ leastMs, mostMs }: Length): string {
  if (mostMs > unknownMs)
    return leastMs < 1 ? "an unknown time" : `${durationText(leastMs)} or more`;
  if (mostMs - leastMs <= mostMs * sameShare) return durationText((leastMs + mostMs) / 2);
  if (leastMs < 1) return `up to ${durationText(mostMs)}`;
  return `${durationText(leastMs)} to ${durationText(mostMs)}`;
}

/** Lengths that differ by less than this share say the same to a person. */
const sameShare = 0.05;
