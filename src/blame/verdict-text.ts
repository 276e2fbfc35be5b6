// Verdicts in sentences: which pod it was, when it left, which hop was late and by how much. A length
// that is known only within bounds is printed as a range or as "at most".
import { durationText } from "../environment/duration-text.ts";
import type { Happening, Moment } from "./pod-life.ts";
import { type Length, lengthOf, type Span } from "./span.ts";
import type { Cause, HopDelay, RequestVerdict, TryVerdict } from "./verdict.ts";

/** The meaning of each cause, in one line. */
export const causeMeanings: Readonly<Record<Cause, string>> = {
  "published late": "stale endpoint: the pod had left, its service still listed it",
  "synced late": "stale endpoint: the copy in the access cluster still listed it",
  "routed late": "stale endpoint: no longer listed, the proxy still used it",
  "shown late": "stale endpoint: the pod was dead, the API did not show it yet",
  stale: "stale endpoint: the pod had left; the late hop is unknown",
  "joined late": "ready pods existed, the proxy did not have them yet",
  "no endpoints": "not a stale endpoint: the service had none",
  "left meanwhile": "not a stale endpoint: the pod left while it had the request",
  "not yet listening": "not a stale endpoint: the pod did not take requests yet",
  timeout: "not a stale endpoint: the pod was ready and too slow",
  application: "not a stale endpoint: the pod was ready and failed or refused",
  outside: "not a stale endpoint: the address belongs to no pod",
  unknown: "unknown",
};

/** One paragraph for each try, or one for a request without any. */
export function verdictSentences(verdict: RequestVerdict): readonly string[] {
  const { tries, service, because, triesLeftOut } = verdict;
  if (tries.length === 0) {
    const name = service === undefined ? "" : `${service}: `;
    const late = verdict.late === undefined ? "" : `, late by ${lengthText(verdict.late)}`;
    const untried = verdict.areTriesKnown ? "No endpoint was tried. " : "";
    return [`${untried}${name === "" ? capitalised(because) : name + because}${late}.`];
  }
  if (triesLeftOut === 0) return tries.map(trySentences);
  const more = `${triesLeftOut} more tries before the last one were not judged.`;
  return [...tries.map(trySentences), more];
}

function trySentences(verdict: TryVerdict): string {
  const { address, port, pod, cause, because, left, hops } = verdict;
  const place = `${address.includes(":") ? `[${address}]` : address}:${port}`;
  if (pod === undefined) return podlessText(place, verdict);
  const on = pod.node === "" ? "" : ` on ${pod.node}`;
  const or = verdict.rivals.map(
    ({ namespace, name, cluster }) => ` or ${namespace}/${name} in ${cluster}`,
  );
  const who = `${place} was pod ${pod.namespace}/${pod.name} in ${pod.cluster}${on}${or.join("")}`;
  const parts = [who];
  if (left !== undefined && cause !== "left meanwhile") parts.push(...leftTexts(verdict, left));
  if (left !== undefined && cause === "left meanwhile") {
    parts.push(`${happenedText(left)} at ${clockText(left.at)}, while it had the request`);
  }
  // Of a lost node the API's part is in the text already.
  const isLost = left?.what === "node lost";
  parts.push(...hops.filter(({ hop }) => !(isLost && hop === "pod")).map(hopText));
  if (verdict.alternatives.length > 0) parts.push(alternativesText(verdict));
  if (left === undefined) parts.push(wellText(verdict));
  if (verdict.successor !== undefined) {
    const { namespace, name } = verdict.successor;
    parts.push(`The address now belongs to ${namespace}/${name}`);
  }
  if (verdict.predecessor !== undefined) {
    const { namespace, name } = verdict.predecessor;
    parts.push(`${namespace}/${name} had the address before and may have been meant`);
  }
  const hasReason = because !== "" && verdict.alternatives.length === 0;
  if (left !== undefined && hasReason) parts.push(capitalised(because));
  return `${parts.join(". ")}.`;
}

function podlessText(place: string, { cause, because, hops }: TryVerdict): string {
  if (cause === "unknown") return `${place}: unknown. ${capitalised(because)}.`;
  if (hops.length === 0) return `${place} is no pod: ${because}.`;
  return `${[`${place}: ${because}`, ...hops.map(hopText)].join(". ")}.`;
}

/** Of a sentence that begins with a name the name stays as it is. */
function capitalised(text: string): string {
  return text.replace(/^[a-z](?=[a-z]*[ ,])/, (letter) => letter.toUpperCase());
}

/** Without another reason, the coarse times are the reason. */
function alternativesText({ alternatives, because }: TryVerdict): string {
  const why = because === "" ? "the times are too coarse to decide" : because;
  return `The cause may also be ${alternatives.join(" or ")}: ${why}`;
}

const happenings: Readonly<Record<Happening, string>> = {
  appeared: "Pod got its address",
  ready: "Pod became ready",
  unready: "Pod became unready",
  terminating: "Pod deletion requested",
  ended: "Container ended",
  started: "Container started",
  deleted: "Pod deleted",
  moved: "Pod got another address",
  "node lost": "Node last seen",
};

function leftTexts({ late, dead, sent }: TryVerdict, left: Moment): readonly string[] {
  if (left.what === "node lost") return [lostText(sent, left)];
  const before = late === undefined ? "" : ` (${lengthText(late)} before the request)`;
  const since = `${happenedText(left)} at ${clockText(left.at)}${before}`;
  const isOther = dead !== undefined && dead.what !== left.what;
  return isOther ? [since, `${happenedText(dead)} at ${clockText(dead.at)}`] : [since];
}

/** `Container ended (OOMKilled)`. */
function happenedText({ what, why }: Moment): string {
  return why === undefined ? happenings[what] : `${happenings[what]} (${why})`;
}

/** When it died is not known; only when it was last seen, and when that was noticed. */
function lostText(sent: Span, { at, shownMs, why }: Moment): string {
  const seen = { fromMs: at.fromMs, toMs: at.fromMs };
  const before = lengthText(lengthOf(seen, sent));
  const marked = clockText({ fromMs: shownMs, toMs: shownMs });
  if (why !== undefined) {
    const silent = durationText(shownMs - at.fromMs);
    return `Node marked lost at ${marked}, ${why}, after at most ${silent} without a heartbeat`;
  }
  return (
    `Node last seen at ${clockText(seen)} (${before} before the request), ` +
    `marked lost at ${marked}`
  );
}

function hopText({ hop, where, took, isPending, shownAfter }: HopDelay): string {
  const late = lengthText(took);
  const at = where === undefined ? "" : ` in ${where}`;
  const until =
    shownAfter === undefined ? "" : `, until ${lengthText(shownAfter)} after the change`;
  const shown = shownAfter === undefined ? "" : `; it did ${lengthText(shownAfter)} later`;
  switch (hop) {
    case "pod":
      return isPending
        ? `The API did not show it yet${shown}`
        : `The API showed it ${lengthText(shownAfter ?? took)} later`;
    case "published":
      return isPending
        ? `The service's endpoints${at} still listed it ${late} later${until}`
        : `The service's endpoints${at} were updated ${late} later`;
    case "synced":
      return isPending
        ? `The copy${at} still listed it ${late} later${until}`
        : `The copy${at} was updated ${late} after that`;
    case "routed":
    case "traffic":
      return `The proxy still used it ${late} after that`;
  }
}

function wellText({ cause, status, durationMs, answered, because }: TryVerdict): string {
  const after = durationMs === undefined ? "" : ` after ${durationText(durationMs)}`;
  const why = capitalised(because);
  switch (cause) {
    case "timeout":
      return durationMs === undefined
        ? `${why}, and did not answer`
        : `${why}, and did not answer within ${durationText(durationMs)}`;
    case "application":
      return answered === true
        ? `${why}, and answered ${status}${after} itself`
        : `${why}, and refused or closed the connection${after}`;
    default:
      return why;
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

/** A year: a span longer than this has no known beginning. */
const unknownMs = 31_536_000_000;

/** One number where both ends are about the same: `1 min 12 s`, `2.1 s to 3 s`, `at most 900 ms`. */
export function lengthText({ leastMs, mostMs }: Length): string {
  if (mostMs > unknownMs)
    return leastMs < 1 ? "an unknown time" : `${durationText(leastMs)} or more`;
  if (mostMs - leastMs <= mostMs * sameShare) return durationText((leastMs + mostMs) / 2);
  if (leastMs < 1) return `at most ${durationText(mostMs)}`;
  return `${durationText(leastMs)} to ${durationText(mostMs)}`;
}

/** Lengths that differ by less than this share say the same to a person. */
const sameShare = 0.05;
