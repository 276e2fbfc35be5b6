// When a run looks, when its resync comes and how many changes it times: enough to know something,
// few enough to change nothing, and within what a run may cost. Nothing here enters a result.
import { profileNamed } from "../versions/profiles.ts";
import type { Question } from "./question.ts";

/** So many changes are timed in quiet times, and about so many during storms. */
export const quietProbes = 40;
const stormProbes = 200;

/** Of the changes of the churn, and at most so many. */
const churnProbeShare = 0.1;
const churnProbesMax = 200;

/** Timed changes are themselves work: at most this part of all that is done meanwhile. */
const probeShare = 0.01;
const probesPerStormMin = 4;

/** Storms are repeated until enough changes have been timed, within what a run may cost. */
const stormsMax = 10;
const keysMax = 15_000;

/** The same for rounds that are never over: so many requests and changes. */
const roundsRequestsMax = 8_000;

/** In quiet times changes come at a fifth of what the limit lets through, or four a second. */
const quietLoad = 0.2;
const quietPerSecondMax = 4;

/** For what came in quiet times to be published, before anything else is measured. */
export const settleMs = 2_000;

/** Over so long the load of quiet times is measured. */
export const quietLoadMs = 20_000;

/** Of a version that goes over all services every so often. */
const roundsMin = 4;

/** So many changes of the churn a run may cost before it measures. */
const churnChangesMax = 3_000;

/** Below this part of what the limits let through no queue builds up. */
const churnLoadMin = 0.25;

/**
 * A key is in the queue only once, so that a queue which fills ends at a length of its own: nearly
 * so after four times the time in which every service changes once, hardly less straight than at the
 * beginning after half of it.
 */
const levelAfterFills = 4;
const straightFills = 0.5;
const churnWindowMinMs = 10_000;

/** How exactly the length of a storm is known: a five hundredth of it, within bounds. */
const looksPerStorm = 500;
const looksPerExpectation = 5_000;
const lookMinMs = 5;
const lookMaxMs = 1_000;

/** How much longer than by its limits a storm may take before it is said never to end. */
const patience = 3;
const patienceMinMs = 60_000;

/** Resyncs of the run come this much after the start has drained, at the least. */
const resyncSlack = 1.5;

/** When the start took longer than thought, the resync is put off so much more. */
const resyncStretch = 4;

export class PublishingPlan {
  /** A guess at how long a storm takes; only times of looks and limits depend on it. */
  readonly expectedMs: number;
  readonly quietWindowMs: number;
  /** `--min-resync-period` of the run. */
  readonly resyncMs: number;
  /** How often everything is enqueued, where that is often enough to be run as it is. */
  readonly periodMs: number | undefined;
  readonly probesPerStorm: number;
  readonly storms: number;
  /** How long churn goes on before it is decided whether the queue keeps up; 0 when it must. */
  readonly churnWindowMs: number;
  /** The window is long enough for a queue that fills to end at its length. */
  readonly isLevelSeen: boolean;
  /** More changes than the limits let through: a start would not end with them. */
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

  /** The same with its resync later. */
  withLaterResync(): PublishingPlan {
    return new PublishingPlan(this.#question, this.#shortenedMs * resyncStretch);
  }

  /** Between two looks, when a storm is thought to take so long. */
  lookGapMs(drainMs: number): number {
    const gapMs = Math.max(drainMs / looksPerStorm, this.expectedMs / looksPerExpectation);
    return Math.min(lookMaxMs, Math.max(lookMinMs, gapMs));
  }

  /** After which a storm is said never to end. */
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

  /** In place of changes of the churn: they are no work of their own. */
  churnProbes(windowMs: number): number {
    const changes = (windowMs / 1000) * this.#question.counts.changesPerSecond;
    return Math.max(1, Math.min(churnProbesMax, Math.floor(changes * churnProbeShare)));
  }

  roundsProbes(): number {
    const { qps } = this.#question.settings;
    return Math.min(stormProbes, Math.ceil((this.roundsWindowMs() / 1000) * qps * probeShare));
  }
}

/** Changes, as a share of what the limits let through. */
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
