// The plan of a run: when it looks, when its resync comes, and how many changes it times. Enough for a
// result, few enough to change nothing, and within the cost of a run. No value here enters a result.
import { profileNamed } from "../versions/profiles.ts";
import type { Question } from "./question.ts";

/** Timed changes in quiet times, and about how many during storms. */
export const quietProbes = 40;
const stormProbes = 200;

/** The share of the churn that is timed, and its bound. */
const churnProbeShare = 0.1;
const churnProbesMax = 200;

/** Timed changes are work too: at most this share of the work of a storm. */
const probeShare = 0.01;
const probesPerStormMin = 4;

/** Storms are repeated until enough changes are timed, within the cost of a run. */
const stormsMax = 10;
const keysMax = 15_000;

/** The cost of a run whose rounds never end, in requests and changes. */
const roundsRequestsMax = 8_000;

/** In quiet times changes come at a fifth of the limit, at most four a second. */
const quietLoad = 0.2;
const quietPerSecondMax = 4;

/** Until the last quiet change is published, before anything else is measured. */
export const settleMs = 2_000;

/** The load of quiet times is measured over this time. */
export const quietLoadMs = 20_000;

/** Of a version that syncs all services periodically. */
const roundsMin = 4;

/** Changes of the churn before a run measures, at most. */
const churnChangesMax = 3_000;

/** Below this share of the limits no queue builds up. */
const churnLoadMin = 0.25;

/**
 * A key is in the queue only once, so a queue that fills reaches a final length. It is close to it after
 * four times the time in which every service changes once. After half that time it still grows linearly.
 */
const levelAfterFills = 4;
const straightFills = 0.5;
const churnWindowMinMs = 10_000;

/** The precision of the length of a storm: a 500th of it, within bounds. */
const looksPerStorm = 500;
const looksPerExpectation = 5_000;
const lookMinMs = 5;
const lookMaxMs = 1_000;

/** A storm that takes so many times longer than by its limits counts as endless. */
const patience = 3;
const patienceMinMs = 60_000;

/** The resync comes so much later than the expected end of the start. */
const resyncSlack = 1.5;

/** When the start took longer than expected, the resync is postponed by this factor. */
const resyncStretch = 4;

export class PublishingPlan {
  /** Estimated time of a storm; only the times of looks and the bounds depend on it. */
  readonly expectedMs: number;
  readonly quietWindowMs: number;
  /** `--min-resync-period` of the run. */
  readonly resyncMs: number;
  /** The period of resyncs, where it is short enough to be simulated; undefined otherwise. */
  readonly periodMs: number | undefined;
  readonly probesPerStorm: number;
  readonly storms: number;
  /** Time of churn before the run decides whether the queue keeps up; 0 when it surely does. */
  readonly churnWindowMs: number;
  /** The window is long enough for a queue to reach its final length. */
  readonly isLevelSeen: boolean;
  /** More changes than the limits allow: a start would not end with them. */
  readonly isOverloaded: boolean;
  readonly #question: Question;
  readonly #shortenedMs: number;

  constructor(question: Question, shortenedMs?: number) {
    const { counts, settings } = question;
    this.#question = question;
    this.expectedMs = expectedDrainMs(question);
    const quietPerSecond = Math.min(quietPerSecondMax, settings.qps * quietLoad);
    this.quietWindowMs = (quietProbes / quietPerSecond) * 1000;
    this.churnWindowMs = churnWindowMs(question, this.expectedMs);
    this.isLevelSeen = isLevelSeen(question);
    this.isOverloaded = loadOf(question, this.expectedMs) >= 1;
    const measuredMs = this.churnWindowMs + this.quietWindowMs + settleMs * 2 + quietLoadMs;
    this.#shortenedMs = shortenedMs ?? this.expectedMs * resyncSlack + measuredMs;
    const { serviceResyncMs } = profileNamed(settings.version).endpoints;
    const isShortened = serviceResyncMs === undefined && this.#shortenedMs < settings.resyncMs;
    this.resyncMs = isShortened ? this.#shortenedMs : settings.resyncMs;
    this.periodMs = isShortened ? undefined : (serviceResyncMs ?? settings.resyncMs);
    const share = Math.floor(counts.services * probeShare);
    this.probesPerStorm = Math.max(probesPerStormMin, Math.min(stormProbes, share));
    const affordable = Math.max(1, Math.floor(keysMax / counts.services));
    const wanted = Math.ceil(stormProbes / this.probesPerStorm);
    const churned = (this.resyncMs / 1000) * counts.changesPerSecond;
    const bearable = Math.max(1, Math.floor(churnChangesMax / Math.max(1, churned)));
    this.storms = Math.min(wanted, stormsMax, affordable, bearable);
  }

  /** The same with a later resync. */
  withLaterResync(): PublishingPlan {
    return new PublishingPlan(this.#question, this.#shortenedMs * resyncStretch);
  }

  /** The time between two looks at a storm of this length. */
  lookGapMs(drainMs: number): number {
    const gapMs = Math.max(drainMs / looksPerStorm, this.expectedMs / looksPerExpectation);
    return Math.min(lookMaxMs, Math.max(lookMinMs, gapMs));
  }

  /** After this time a storm counts as endless. */
  limitMs(drainMs: number): number {
    return Math.max(drainMs, this.expectedMs) * patience + patienceMinMs;
  }

  /** Several rounds, and at least twice the time one key may wait behind all others. */
  roundsWindowMs(): number {
    const { counts, settings } = this.#question;
    const perSecond = settings.qps + counts.changesPerSecond;
    const affordableMs = (roundsRequestsMax / perSecond) * 1000;
    return Math.max((this.periodMs ?? 0) * roundsMin, this.expectedMs * 2, affordableMs);
  }

  /** They replace changes of the churn, so they add no work. */
  churnProbes(windowMs: number): number {
    const changes = (windowMs / 1000) * this.#question.counts.changesPerSecond;
    return Math.max(1, Math.min(churnProbesMax, Math.floor(changes * churnProbeShare)));
  }

  roundsProbes(): number {
    const { qps } = this.#question.settings;
    return Math.min(stormProbes, Math.ceil((this.roundsWindowMs() / 1000) * qps * probeShare));
  }
}

/** Changes as a share of the limits. */
function loadOf({ counts }: Question, expectedMs: number): number {
  return (counts.changesPerSecond * expectedMs) / 1000 / counts.services;
}

function isLevelSeen({ counts: { pods, services } }: Question): boolean {
  return Math.min(pods, services) * levelAfterFills <= churnChangesMax;
}

function churnWindowMs(question: Question, expectedMs: number): number {
  const { changesPerSecond, pods, services } = question.counts;
  if (loadOf(question, expectedMs) < churnLoadMin) return 0;
  const changing = Math.min(pods, services);
  const changes = changing * (isLevelSeen(question) ? levelAfterFills : straightFills);
  const windowMs = (Math.min(changes, churnChangesMax) / changesPerSecond) * 1000;
  return Math.max(churnWindowMinMs, windowMs);
}

function expectedDrainMs({ counts, settings }: Question): number {
  const { services, writesPerSecond = Number.POSITIVE_INFINITY, writeLatencyMs } = counts;
  const byLatency = settings.workers / ((writeLatencyMs + 1) / 1000);
  return (services / Math.min(settings.qps, writesPerSecond, byLatency)) * 1000;
}
