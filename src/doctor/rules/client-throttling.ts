// The controller manager's own request limit holds back endpoint changes. Its log and its metrics can
// prove this; its queues and the observed changes show only the effect, which other causes have too.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence, JourneyEvidence, MetricsEvidence } from "../evidence/evidence.ts";
import { type LimiterWindow, limiterWindow } from "../evidence/limiter-window.ts";
import { MetricsWindow } from "../evidence/metrics-window.ts";
import { type PublishedLag, publishedLag } from "../evidence/published-lag.ts";
import {
  endpointQueues,
  type QueueWindow,
  queueDelayMs,
  queueWindow,
} from "../evidence/queue-window.ts";
import type { SignGroup } from "../evidence/sign-log.ts";
import type { Severity } from "../finding.ts";

const component = "kube-controller-manager";

/** One line may be a moment's burst at the start of a process, unless its wait is long. */
const linesMin = 3;
const longWaitMs = 1_000;

/** Below it five workers share a limit of 100 a second already; client-go does not log such waits. */
const waitMinSeconds = 0.05;

/** Quiet controllers publish within milliseconds. */
const lateMs = 1_000;

/** Longer than a proxy tries another peer, so requests are lost. */
const criticalMs = 10_000;

/** A limit that explains at least half of the time is the binding one. */
const binding = 0.5;

/** Of `--kube-api-qps`, and how much more the burst has. */
const usualLimit = 300;
const burstAbove = 25;

/** Syncs that wait for a limit all take the same time; a slow server answers sometimes so, sometimes so. */
const syncsMin = 5;
const fewSyncsMin = 3;
const pacedMinMs = 100;
const pacedSpread = 1.5;

const directions = ["leave", "join"] as const;

/** A sign with how late changes are by it. */
interface LateSign extends Sign {
  readonly delayMs: number;
}

export const clientThrottling: Cause = {
  name: "client-throttling",
  summary:
    "The controller manager waits for its own request limit (--kube-api-qps), not for the " +
    "API server. Endpoint changes are published later than they could be, by seconds to " +
    "minutes.",
  affected: "All versions, current ones included: the default limit is still 20 requests/s.",
  shownBy: ["manager metrics", "published changes", "manager log"],
  hop: "published",
  explains: ["endpoint-backlog", "per-sync-get", "dead-endpoints", "no-endpoints"],

  signs(evidence) {
    const causes = [
      ...logSign(evidence),
      ...pacedSyncs(evidence),
      ...evidence.metrics.flatMap(limiterSign),
    ];
    return causes.length === 0 ? [] : [...causes, ...journeySigns(evidence)];
  },

  conclude(evidence) {
    const signs = [
      ...logSign(evidence),
      ...pacedSyncs(evidence),
      ...evidence.metrics.flatMap(limiterSign),
      ...journeySigns(evidence),
    ];
    const delayMs = Math.max(...signs.map((sign) => sign.delayMs));
    return {
      severity: isOver(evidence) ? "info" : severityOf(delayMs),
      cause:
        `${component}'s own request limit holds back endpoint changes: its workers wait for the ` +
        "client's rate limit, not for the API server.",
      fix: {
        component,
        change: `--kube-api-qps=${limitFor(evidence)} --kube-api-burst=${limitFor(evidence) + burstAbove}`,
        reason:
          "All workers of a controller share one limit, so the limit sets how many changes a second " +
          "are published. More workers (--concurrent-endpoint-syncs) do not help: they wait for the " +
          "same tokens, each for longer (workers ÷ qps). The log shows that wait alone and never " +
          "the time a change spent in the queue before it.",
      },
      ...(signs.every(({ weight }) => weight === "support") && { missing: surer }),
    };
  },

  trial(evidence) {
    const qps = limitFor(evidence);
    return { concerns: "publishing", fixed: { qps, burst: qps + burstAbove } };
  },
};

const surer = [
  `the log of ${component} at -v=3 or more: "Throttling request" or "client-side throttling", for endpoints`,
  `two samples of its metrics: rest_client_rate_limiter_duration_seconds and the queue endpoint_slice`,
];

/** As in the write-ups, or twice what did not suffice. */
function limitFor({ settings }: Evidence): number {
  return Math.max(usualLimit, 2 * Number(settings.flag("kube-api-qps")?.value ?? 0));
}

function severityOf(delayMs: number): Severity {
  if (delayMs >= criticalMs) return "critical";
  return delayMs >= lateMs ? "warning" : "info";
}

/**
 * Only the log shows it, its last line is older than the observation, and the observed changes were
 * published in time: so it was, after a start for example, and is no longer.
 */
function isOver(evidence: Evidence): boolean {
  const { journeys, signs, metrics } = evidence;
  if (journeys?.beganAtMs === undefined) return false;
  const isPast = signs.get("endpoints-throttled")?.isBefore(journeys.beganAtMs) ?? false;
  if (!isPast || metrics.some((one) => limiterSign(one).length > 0)) return false;
  const lags = directions.flatMap((direction) => publishedLag(journeys, direction) ?? []);
  return lags.length > 0 && lags.every(({ maxMs }) => maxMs < lateMs);
}

function logSign({ signs }: Evidence): readonly LateSign[] {
  const group = signs.get("endpoints-throttled");
  const longestMs = group?.longest?.ms ?? 0;
  if (group === undefined || (group.count < linesMin && longestMs < longWaitMs)) return [];
  // Other programs have limits of their own, and other flags.
  if (group.programs.size > 0 && !group.programs.has(component)) return [];
  if (isOfReader(group, signs.get("throttled"))) return [];
  // The line leaves out the wait in the queue, so a change is later than it says.
  const delayMs = Math.max(lateMs, longestMs);
  return [{ weight: "proof", source: "logs", lines: [group.evidence(logText(group))], delayMs }];
}

/**
 * A program that reads single endpoints among other objects. The endpoint controllers write endpoints; up to 1.7
 * they read each one too, and all other objects from their cache.
 */
function isOfReader(group: SignGroup, others: SignGroup | undefined): boolean {
  const readsOnly = [...group.details.keys()].every((verb) => verb === "GET");
  return readsOnly && others?.details.has("GET") === true && !group.programs.has(component);
}

/** Each of several services took equally long to sync, far longer than a request takes. */
function pacedSyncs({ signs }: Evidence): readonly LateSign[] {
  const group = signs.get("endpoint-synced");
  const [shortestMs, longestMs] = [group?.shortestMs ?? 0, group?.longest?.ms ?? 0];
  if (group === undefined || group.subjects.size < fewSyncsMin) return [];
  if (shortestMs < pacedMinMs || longestMs > pacedSpread * shortestMs) return [];
  const text = `${counted(group.count, "sync")} of services took ${durationText(shortestMs)} to ${durationText(longestMs)} each, as they do when they wait for a limit`;
  const delayMs = Math.max(lateMs, group.spanMs);
  const weight = group.subjects.size < syncsMin ? "support" : "proof";
  return [{ weight, source: "logs", lines: [group.evidence(text)], delayMs }];
}

function logText({ count, spanMs, longest }: SignGroup): string {
  const path = (longest?.subject ?? "").replace(/^https?:\/\/[^/]*/, "").replace(/\?.*$/, "");
  const within = spanMs === 0 ? "" : ` within ${durationText(spanMs)}`;
  const requests = counted(count, "request");
  return (
    `${requests} for endpoints waited for the client's limit${within}, at most ` +
    `${durationText(longest?.ms ?? 0)} (${longest?.detail ?? ""} ${path})`
  );
}

function limiterSign(evidence: MetricsEvidence): readonly LateSign[] {
  const { source, pages } = evidence;
  if (evidence.component !== component) return [];
  const earlier = pages[0];
  const later = pages.at(-1);
  if (earlier === undefined || later === undefined) return [];
  const window = new MetricsWindow(earlier, later);
  return endpointQueues.flatMap((name) => {
    const queue = queueWindow(window, name);
    if (queue === undefined) return [];
    const limiter = limiterWindow(window, queue);
    if (limiter === undefined || !isLimitBinding(limiter, queue)) return [];
    const delayMs = queueDelayMs(queue);
    if (delayMs < lateMs) return [];
    const texts = [limiterText(limiter, queue), queueText(queue)];
    const lines = texts.map((text) => ({ text, source }));
    return [{ weight: "proof", source: "metrics", lines, delayMs }];
  });
}

/** Whether the work on a key is mostly a wait for the limit, and not for the server. */
function isLimitBinding(limiter: LimiterWindow, queue: QueueWindow): boolean {
  if (limiter.meanWaitSeconds < waitMinSeconds) return false;
  const isServerSlow = (limiter.meanRequestSeconds ?? 0) >= binding * queue.meanWorkSeconds;
  return !isServerSlow && limiter.waitSeconds >= binding * queue.workSeconds;
}

function limiterText(limiter: LimiterWindow, queue: QueueWindow): string {
  const busy = queue.meanWorkSeconds * queue.rate;
  const work = durationText(queue.meanWorkSeconds * 1000);
  const wait = durationText(limiter.meanWaitSeconds * 1000);
  const server =
    limiter.meanRequestSeconds === undefined
      ? ""
      : `, the server answers in ${durationText(limiter.meanRequestSeconds * 1000)}`;
  const waiting = limiter.isMeasured
    ? `a request waits ${wait} for the client's limit${server}`
    : `a sync takes ${work}${server}: ${wait} of it are a wait inside the client, which this ` +
      "version does not measure";
  // Pages without a time have no rate.
  const workers = Number.isNaN(queue.rate)
    ? ""
    : `; ${figure(busy)} workers are busy at ${figure(queue.rate)} syncs/s of ${work} each`;
  return `${waiting}${workers} (${limiter.metric}, ${queue.metrics.work})`;
}

function queueText(queue: QueueWindow): string {
  return (
    `the queue ${queue.name} holds ${figure(queue.depth)} keys, and those taken had waited ` +
    `${durationText(queue.meanQueueSeconds * 1000)} (${queue.metrics.depth}, ` +
    `${queue.metrics.queue})`
  );
}

function journeySigns({ journeys }: Evidence): readonly LateSign[] {
  return journeys === undefined ? [] : journeySign(journeys);
}

/** Changes agree only if lateness is the rule among them: one late change has many causes. */
function journeySign(evidence: JourneyEvidence): readonly LateSign[] {
  return directions.flatMap((direction) => {
    const lag = publishedLag(evidence, direction);
    if (lag === undefined || lag.medianMs < lateMs) return [];
    const lines = [{ text: lagText(lag), source: evidence.source }];
    return [{ weight: "support", source: "changes", lines, delayMs: lag.maxMs }];
  });
}

function lagText({ direction, count, pending, medianMs, maxMs }: PublishedLag): string {
  const subject = count === 1 ? "1 endpoint" : `${count} endpoints`;
  const verb = direction === "leave" ? "left" : "joined";
  const waiting = pending === 0 ? "" : `, ${pending} not yet`;
  return (
    `${subject} ${verb}: published after a median of ${durationText(medianMs)}, at most ` +
    `${durationText(maxMs)}${waiting}`
  );
}

function figure(value: number): string {
  return String(Number(value.toPrecision(3)));
}
