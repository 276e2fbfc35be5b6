// The endpoint controllers have many services to work on at once, and a real change waits behind them.
// The trigger is a start of the controller manager, the periodic resync, or a change of many pods.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { parseGoDuration } from "../../environment/go-duration.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { MetricsWindow } from "../evidence/metrics-window.ts";
import {
  endpointQueues,
  type QueueWindow,
  queueDelayMs,
  queueWindow,
} from "../evidence/queue-window.ts";
import { versionParts } from "../evidence/settings.ts";
import type { SignGroup } from "../evidence/sign-log.ts";

/** A rollout writes dozens; a resync or a start writes each service once. */
const writesMin = 200;
const onceEach = 0.8;
const lastingMs = 10_000;
const lateMs = 1_000;

/** Two waves have this much quiet between them; less, where resyncs come more often. */
const quietMaxMs = 30 * 60_000;

/** A controller manager syncs its caches for some minutes at most. */
const startMs = 10 * 60_000;

/** Changes of many pods come this close together, and to the wave that they bring about. */
const massMs = 60_000;
const massMin = 100;

/** `--min-resync-period` without the flag. */
const minResyncMs = 12 * 3_600_000;

/** The start of a wave is exact to this share of the period. */
const periodSlack = 0.04;

/** Since then each Endpoints object needs a label, so an upgrade writes all of them once. */
const relabelMinor = 33;

/** Of one wave, by the clock of the log. */
interface Wave {
  readonly fromMs: number;
  readonly toMs: number;
  readonly writes: number;
}

export type Trigger =
  | { readonly type: "start"; readonly isRelabel: boolean }
  | { readonly type: "resync"; readonly periodMs: number; readonly lastMs: number }
  /** `3 nodes became not ready`. */
  | { readonly type: "mass change"; readonly text: string }
  | { readonly type: "unknown" };

export const endpointBacklog: Cause = {
  name: "endpoint-backlog",
  summary:
    "The endpoint controllers work on many services at once, after a start, a periodic resync or a " +
    "change of many pods. Real changes wait in the queue behind them.",
  affected:
    "All versions, current ones included; the first start of 1.33 also writes all Endpoints once.",
  shownBy: ["manager metrics", "published changes", "apiserver log"],
  hop: "published",
  explains: ["dead-endpoints"],

  signs(evidence) {
    return [...waveSign(evidence), ...queueSigns(evidence)];
  },

  conclude(evidence) {
    const trigger = triggerOf(evidence);
    const longest = Math.max(0, ...waves(evidence).map(({ toMs, fromMs }) => toMs - fromMs));
    const delayMs = Math.max(
      longest,
      ...lateQueues(evidence).map(({ queue }) => queueDelayMs(queue)),
    );
    const { qps, burst } = limitsFor(evidence);
    return {
      severity: "warning",
      cause: `The endpoint controllers work on many services at once, and a change waits up to ${durationText(delayMs)} behind them. ${triggerText(trigger)}`,
      fix: {
        component: "kube-controller-manager",
        change: `--kube-api-qps=${qps} --kube-api-burst=${burst}`,
        reason:
          "A wave lasts for its writes divided by the limit. A higher limit makes it shorter; more workers " +
          "help only if the limit is not reached. The API server gets the requests in a shorter time.",
      },
      missing:
        trigger.type === "unknown"
          ? [
              "a longer log of the controller manager: its start, nodes that became not ready, and the wave before this one",
            ]
          : [],
    };
  },

  trial: (evidence) => ({ concerns: "publishing", fixed: limitsFor(evidence) }),
};

/** So that a wave takes some ten seconds, and more than what did not suffice. */
function limitsFor(evidence: Evidence): { readonly qps: number; readonly burst: number } {
  const services = Math.max(0, ...waves(evidence).map(({ writes }) => writes));
  const forWave = services === 0 ? 300 : Math.max(50, Math.ceil(services / 100) * 10);
  const found = Number(evidence.settings.flag("kube-api-qps")?.value ?? 0);
  const qps = Math.max(forWave, 2 * found);
  return { qps, burst: qps + 20 };
}

/** The period is drawn at the start of the process: the flag, times 1 to 2. 0 is no resync. */
export function resyncPeriod({ settings }: Evidence): {
  readonly minMs: number;
  readonly maxMs: number;
} {
  const flag = settings.flag("min-resync-period")?.value;
  const minMs = (flag === undefined ? undefined : parseGoDuration(flag)) ?? minResyncMs;
  return { minMs, maxMs: 2 * minMs };
}

function triggerText(trigger: Trigger): string {
  switch (trigger.type) {
    case "start":
      return trigger.isRelabel
        ? "The trigger is a start: since 1.33 Endpoints need a label, and the first start writes all of them once."
        : "The trigger is a start of the controller manager, which works on every service once.";
    case "resync": {
      const { periodMs, lastMs } = trigger;
      const next = logTimeText(lastMs + periodMs);
      return `The trigger is the periodic resync, each ${durationText(periodMs)}; the next one is at about ${next} on the clock of the log.`;
    }
    case "mass change":
      return `The trigger is a change of many pods: ${trigger.text}.`;
    default:
      return "The trigger is not in the evidence.";
  }
}

/** Logs without a year have a day and a time only. */
export function logTimeText(atMs: number): string {
  return new Date(atMs).toISOString().slice(5, 16).replace("T", " ");
}

export function triggerOf(evidence: Evidence): Trigger {
  const all = waves(evidence);
  const started = evidence.signs.get("controller-started")?.timesMs ?? [];
  const minor = versionParts(evidence.settings.version?.value ?? "0.0").minor;
  const isStart = all.some(({ fromMs }) =>
    started.some((at) => fromMs - at >= 0 && fromMs - at <= startMs),
  );
  if (isStart) return { type: "start", isRelabel: minor >= relabelMinor };
  const text = lostNodes(evidence, all) ?? manyChanges(evidence);
  if (text !== undefined) return { type: "mass change", text };
  const gaps = all.slice(1).map(({ fromMs }, index) => fromMs - (all[index]?.fromMs ?? fromMs));
  const periodMs = gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 2)] ?? 0;
  const { minMs, maxMs } = resyncPeriod(evidence);
  const last = all.at(-1);
  const isPeriodic = periodMs >= minMs * (1 - periodSlack) && periodMs <= maxMs * (1 + periodSlack);
  if (periodMs > 0 && isPeriodic && last !== undefined) {
    return { type: "resync", periodMs, lastMs: last.fromMs };
  }
  return { type: "unknown" };
}

/** Nodes that became not ready just before a wave: the endpoints of all their pods leave. */
function lostNodes({ signs }: Evidence, all: readonly Wave[]): string | undefined {
  const lost = signs.get("node-not-ready");
  const isTrigger = lost?.timesMs.some((at) =>
    all.some(({ fromMs, toMs }) => at >= fromMs - massMs && at <= toMs),
  );
  if (lost === undefined || isTrigger !== true) return undefined;
  const [first = ""] = lost.topSubjects(1);
  const { size } = lost.subjects;
  return size > 1 ? `${size} nodes became not ready` : `${first || "a node"} became not ready`;
}

/** The most changes that were observed to start within so long; a rollout has dozens. */
function manyChanges({ journeys }: Evidence): string | undefined {
  const started = (journeys?.journeys ?? [])
    .filter(({ origin }) => origin.beforeStart === undefined)
    .sort((a, b) => a.origin.at - b.origin.at);
  let most: readonly Journey[] = [];
  for (let first = 0, last = 0; last < started.length; last += 1) {
    const toMs = started[last]?.origin.at ?? 0;
    while (toMs - (started[first]?.origin.at ?? 0) > massMs) first += 1;
    if (last - first >= most.length) most = started.slice(first, last + 1);
  }
  if (most.length < massMin) return undefined;
  const services = new Set(most.map(({ endpoint }) => endpoint.service)).size;
  return (
    `${most.length} endpoints of ${counted(services, "service")} changed within ` +
    durationText((most.at(-1)?.origin.at ?? 0) - (most[0]?.origin.at ?? 0))
  );
}

function waveSign(evidence: Evidence): readonly Sign[] {
  const all = waves(evidence);
  const group = evidence.signs.get("endpoints-written");
  const [first] = all;
  if (group === undefined || first === undefined) return [];
  const many = all.length === 1 ? "" : `, and ${all.length - 1} more such waves`;
  const text = `${first.writes} writes of different Endpoints within ${durationText(first.toMs - first.fromMs)}${many}`;
  return [{ weight: "proof", source: "logs", lines: [group.evidence(text)] }];
}

/** Times with many writes, each of another service, and quiet between them. */
export function waves(evidence: Evidence): readonly Wave[] {
  const group = evidence.signs.get("endpoints-written");
  if (group === undefined || group.count < writesMin) return [];
  const { minMs } = resyncPeriod(evidence);
  const quietMs = minMs === 0 ? quietMaxMs : Math.min(quietMaxMs, minMs / 2);
  const found: Wave[] = [];
  for (const at of [...group.timesMs].sort((a, b) => a - b)) {
    const last = found.at(-1);
    if (last === undefined || at - last.toMs > quietMs) {
      found.push({ fromMs: at, toMs: at, writes: 1 });
    } else found[found.length - 1] = { ...last, toMs: at, writes: last.writes + 1 };
  }
  const large = found.filter(
    ({ fromMs, toMs, writes }) => writes >= writesMin && toMs - fromMs >= lastingMs,
  );
  return isOnceEach(group, found.length) ? large : [];
}

/** A rollout writes the same few services again and again. */
function isOnceEach({ subjects, count }: SignGroup, times: number): boolean {
  return subjects.size >= onceEach * Math.min(count / Math.max(1, times), 2_000);
}

interface LateQueue {
  readonly source: string;
  readonly queue: QueueWindow;
}

/** Queues of the endpoint controllers in which a change waits. */
export function lateQueues({ metrics }: Evidence): readonly LateQueue[] {
  return metrics.flatMap(({ component, source, pages }) => {
    const [earlier, later] = [pages[0], pages.at(-1)];
    if (component !== "kube-controller-manager" || earlier === undefined || later === undefined) {
      return [];
    }
    const window = new MetricsWindow(earlier, later);
    return endpointQueues.flatMap((name) => {
      const queue = queueWindow(window, name);
      return queue === undefined || queueDelayMs(queue) < lateMs ? [] : [{ source, queue }];
    });
  });
}

function queueSigns(evidence: Evidence): readonly Sign[] {
  return lateQueues(evidence).map(({ source, queue }) => {
    const copies = queue.name.endsWith("mirroring")
      ? ": copies of Endpoints without a selector wait"
      : "";
    const text =
      `the queue ${queue.name} holds ${counted(Math.round(queue.depth), "key")}, and a key waits ` +
      `${durationText(queueDelayMs(queue))}${copies} (${queue.metrics.depth}, ${queue.metrics.queue})`;
    return { weight: "proof", source: "metrics", lines: [{ text, source }] };
  });
}
