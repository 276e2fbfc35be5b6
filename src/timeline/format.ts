// A journey as one line of a terminal: the change, then the lag at each hop. It fits the given
// width by dropping detail in a fixed order: single replicas, the pod hop where it is the origin,
// the namespace, and at last letters of the service's name.
import type { MonotonicMs } from "../environment/clock.ts";
import { durationText } from "../environment/duration-text.ts";
import { isBeforePod, isFirstReported } from "./first-reported.ts";
import { ageMs, type HopState, type Journey } from "./journey.ts";
import { type LagBound, lagBound, type ShownState } from "./lag-bound.ts";
import { type Hop, hops } from "./witness.ts";

export interface LineOptions {
  /** For the age of what is pending. */
  readonly now: MonotonicMs;
  /** Columns; 80 unless given. */
  readonly width?: number;
}

const defaultWidth = 80;

/** A shorter piece of a name says nothing any more. */
const serviceMinWidth = 8;

/** `−127.31.2.5 shop/web  pod 0 · published 31.2 s · synced 31.3 s · routed 12–14 ms`. */
export function journeyLine(journey: Journey, options: LineOptions): string {
  const { now, width = defaultWidth } = options;
  const { address, service } = journey.endpoint;
  const subject = (journey.direction === "join" ? "+" : "−") + address;
  const forms = [
    hopsText(journey, now, listed, hops),
    hopsText(journey, now, ranged, hops),
    hopsText(journey, now, ranged, isOriginAtPod(journey) ? hops.slice(1) : hops),
  ];
  const roomBeside = (text: string) => width - `${subject}   ${text}`.length;
  const needed = Math.min(service.length, serviceMinWidth);
  const text =
    forms.find((form) => roomBeside(form) >= service.length) ??
    forms.find((form) => roomBeside(form) >= needed) ??
    forms.at(-1) ??
    "";
  const name = shortened(service, Math.max(needed, roomBeside(text)));
  return cut(`${subject} ${name}  ${text}`, width);
}

/** How long a pending journey has waited, empty for no time; undefined once it is over. */
type Waited = string | undefined;
type WitnessesText = (states: readonly ShownHop[], waited: Waited) => string;

/** It reported the change before the pod's own event came, so its lag is not 0 but negative. */
const beforePod = { type: "before pod" } as const;

type ShownHop = HopState | typeof beforePod;

/** Nothing is known of how late it was. */
const anyLag = { minMs: 0, maxMs: undefined };

function hopsText(
  journey: Journey,
  now: MonotonicMs,
  witnessesText: WitnessesText,
  named: readonly Hop[],
): string {
  const waited = waitedText(journey, now);
  const parts = named.flatMap((hop) => {
    const states = journey.hops
      .filter((one) => one.hop === hop)
      .map((one) => (isFirstReported(journey, one) ? { ...one.state, range: anyLag } : one.state))
      .map((state) => (isBeforePod(journey, hop, state) ? beforePod : state));
    const isTraffic = hop === "traffic";
    const failed = isTraffic ? failedText(journey) : "";
    // A request that does not come is not late.
    const text = witnessesText(states, isTraffic && waited !== undefined ? "" : waited);
    if (states.length > 0) return [`${hop} ${text}${failed}`];
    return isAlwaysNamed(hop) ? [`${hop} ?`] : [];
  });
  const { outcome } = journey;
  const end = outcome === "pending" || outcome === "complete" ? "" : ` (${outcome})`;
  return parts.join(" · ") + end;
}

/** Copies and access logs are optional; every change has the other hops. */
function isAlwaysNamed(hop: Hop): boolean {
  return hop !== "synced" && hop !== "traffic";
}

/** Requests that went to a dead address are what it is all about. */
function failedText({ traffic }: Journey): string {
  return traffic === undefined || traffic.failed === 0 ? "" : `, ${traffic.failed} failed`;
}

/** Each witness by itself: `12 14 13 ms`. */
function listed(states: readonly ShownHop[], waited: Waited): string {
  return withSharedUnit(
    states.map((state) => stateText(state, waited)),
    " ",
  );
}

/** The fastest and the slowest, and how many are missing: `12–14 ms`, `12–14 ms, 1 of 3 …`. */
function ranged(states: readonly ShownHop[], waited: Waited): string {
  const [first] = states;
  if (states.length === 1 && first !== undefined) return stateText(first, waited);
  const shown = states.flatMap((state) => (state.type === "shown" ? [state] : []));
  const lags = shown.map(({ lagMs }) => lagMs);
  const late = states.filter(({ type }) => type === "pending" || type === "stuck").length;
  const missing = `${late} of ${states.length} ${waited === undefined ? "never shown" : "…"}`;
  const isEarly = states.some(({ type }) => type === "before pod");
  if (lags.length === 0 && isEarly) return late === 0 ? "before pod" : `before pod, ${missing}`;
  if (lags.length === 0) return late === 0 ? "unchanged" : missing;
  const ends = new Set([durationText(Math.min(...lags)), durationText(Math.max(...lags))]);
  const before = isEarly ? "before pod to " : "";
  const range = before + sharedBound(shown) + withSharedUnit([...ends], "–");
  return late === 0 ? range : `${range}, ${missing}`;
}

/** Where they differ, none of them says more than that it is not exact. */
function sharedBound(shown: readonly ShownState[]): LagBound {
  const [first = "", ...others] = new Set(shown.map(lagBound));
  return others.length === 0 ? first : "~";
}

/** The unit once, at the end, where all have the same one. */
function withSharedUnit(texts: readonly string[], separator: string): string {
  const parts = texts.map((text) => text.split(" "));
  const unit = parts[0]?.[1];
  const isShared = parts.every((part) => part.length === 2 && part[1] === unit);
  if (!isShared) return texts.join(separator);
  return `${parts.map(([number]) => number).join(separator)} ${unit}`;
}

function stateText(state: ShownHop, waited: Waited): string {
  switch (state.type) {
    case "before pod":
      return "before pod";
    case "shown":
      return lagBound(state) + durationText(state.lagMs);
    case "pending":
      return missingText("", waited);
    case "stuck":
      return missingText("stuck ", waited);
    case "unchanged":
      return "unchanged";
    case "passed":
      return "passed";
    case "quiet":
      return "no request";
  }
}

function missingText(word: string, waited: Waited): string {
  return waited === undefined ? "never shown" : `${word}${waited}…`;
}

/** At least so long where the start is unknown. */
function waitedText(journey: Journey, now: MonotonicMs): Waited {
  if (journey.outcome !== "pending") return undefined;
  const age = Math.max(0, ageMs(journey, now));
  if (age === 0) return "";
  return (journey.origin.beforeStart === true ? "≥" : "") + durationText(age);
}

function isOriginAtPod(journey: Journey): boolean {
  return journey.hops.some(
    ({ hop, state }) => hop === "pod" && state.type === "shown" && state.lagMs === 0,
  );
}

/** Without the namespace if that is enough. */
function shortened(service: string, width: number): string {
  if (service.length <= width) return service;
  return cut(service.slice(service.indexOf("/") + 1), width);
}

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`;
}
