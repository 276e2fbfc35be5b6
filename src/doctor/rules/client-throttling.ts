// Rule: the controller manager's own request limit holds back endpoint changes. Its log and its
// metrics can show the cause; its queues and the journeys show only the effect, which other causes
// have too. So there is no finding without a sign of the cause, and each further source that agrees
// makes it surer.
import { durationText } from "../../environment/duration-text.ts";
import type { Evidence, JourneyEvidence, MetricsEvidence } from "../evidence/evidence.ts";
import { type LimiterWindow, limiterWindow } from "../evidence/limiter-window.ts";
import { MetricsWindow } from "../evidence/metrics-window.ts";
import { type PublishedLag, publishedLag } from "../evidence/published-lag.ts";
import { type QueueWindow, queueWindow } from "../evidence/queue-window.ts";
import { type ThrottlingLog, throttlingLog } from "../evidence/throttling-log.ts";
import { confidenceOf, type EvidenceLine, type Finding, type Severity } from "../finding.ts";

const component = "kube-controller-manager";

/** One line may be a moment's burst at the start of a process. */
const linesMin = 3;

/** Below it five workers share a limit of 100 a second already; client-go does not log such waits. */
const waitMinSeconds = 0.05;

/** Quiet controllers publish within milliseconds. */
const lateMs = 1_000;

/** Longer than a proxy tries another peer, so requests are lost. */
const criticalMs = 10_000;

/** A limit that explains at least half of the time is the binding one. */
const binding = 0.5;

const endpointQueues = ["endpoint", "endpoint_slice", "endpoint_slice_mirroring"];

/** One source's contribution. */
interface Sign {
  readonly lines: readonly EvidenceLine[];
  /** How late changes are by this source. */
  readonly delayMs: number;
}

export function clientThrottling(evidence: Evidence): Finding | undefined {
  const logs = evidence.logs.filter((log) => log.component === component).flatMap(logSign);
  const metrics = evidence.metrics.filter((page) => page.component === component);
  const limits = metrics.flatMap(limiterSign);
  if (logs.length === 0 && limits.length === 0) return undefined;
  const journeys = evidence.journeys === undefined ? [] : journeySign(evidence.journeys);
  const sources = [logs, limits, journeys].filter((signs) => signs.length > 0);
  const signs = sources.flat();
  return {
    rule: "client-throttling",
    severity: severityOf(Math.max(...signs.map(({ delayMs }) => delayMs))),
    confidence: confidenceOf(sources.length),
    cause:
      `${component}'s own request limit holds back endpoint changes: its workers wait for the ` +
      "client's rate limit, not for the API server.",
    evidence: signs.flatMap(({ lines }) => lines),
    fix: {
      component,
      change: "--kube-api-qps=300 --kube-api-burst=325",
      reason:
        "All workers of a controller share one limit, so the limit sets how many changes a second " +
        "are published. More workers (--concurrent-endpoint-syncs) do not help: they wait for the " +
        "same tokens, each for longer (workers ÷ qps). The log shows that wait alone and never " +
        "the time a change spent in the queue before it.",
    },
  };
}

function severityOf(delayMs: number): Severity {
  if (delayMs >= criticalMs) return "critical";
  return delayMs >= lateMs ? "warning" : "info";
}

function logSign(log: Evidence["logs"][number]): readonly Sign[] {
  const seen = throttlingLog(log);
  if (seen === undefined || seen.count < linesMin) return [];
  const source = `${log.source}:${seen.longestLine}`;
  // The line leaves out the wait in the queue, so a change is later than it says.
  const delayMs = Math.max(lateMs, seen.maxWaitMs);
  return [{ lines: [{ text: logText(seen), source }], delayMs }];
}

function logText({ count, spanMs, medianWaitMs, maxWaitMs, longest }: ThrottlingLog): string {
  const path = longest.url.replace(/^https?:\/\/[^/]*/, "").replace(/\?.*$/, "");
  return (
    `${count} requests for endpoints waited for the client's limit within ` +
    `${durationText(spanMs)}: a median of ${durationText(medianWaitMs)}, at most ` +
    `${durationText(maxWaitMs)} (${longest.verb} ${path})`
  );
}

function limiterSign({ source, pages }: MetricsEvidence): readonly Sign[] {
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
    return [{ lines: texts.map((text) => ({ text, source })), delayMs }];
  });
}

/** Whether the work on a key is mostly a wait for the limit, and not for the server. */
function isLimitBinding(limiter: LimiterWindow, queue: QueueWindow): boolean {
  if (limiter.meanWaitSeconds < waitMinSeconds) return false;
  const isServerSlow = (limiter.meanRequestSeconds ?? 0) >= binding * queue.meanWorkSeconds;
  return !isServerSlow && limiter.waitSeconds >= binding * queue.workSeconds;
}

/** Those that were taken say how long they had waited; those behind will wait for the whole queue. */
function queueDelayMs({ depth, rate, meanQueueSeconds }: QueueWindow): number {
  return Math.max(meanQueueSeconds, depth / rate) * 1000;
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
  return (
    `${waiting}; ${figure(busy)} workers are busy at ${figure(queue.rate)} syncs/s of ${work} each ` +
    `(${limiter.metric}, ${queue.metrics.work})`
  );
}

function queueText(queue: QueueWindow): string {
  return (
    `the queue ${queue.name} holds ${figure(queue.depth)} keys, and those taken had waited ` +
    `${durationText(queue.meanQueueSeconds * 1000)} (${queue.metrics.depth}, ` +
    `${queue.metrics.queue})`
  );
}

/** Journeys agree only if lateness is the rule among them: one late change has many causes. */
function journeySign(evidence: JourneyEvidence): readonly Sign[] {
  return (["leave", "join"] as const).flatMap((direction) => {
    const lag = publishedLag(evidence, direction);
    if (lag === undefined || lag.medianMs < lateMs) return [];
    return [{ lines: [{ text: lagText(lag), source: evidence.source }], delayMs: lag.maxMs }];
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
