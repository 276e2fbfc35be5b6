// A proxy that connects to a pod in the seconds in which the pod ends. The pod closes its port before
// the removal of its endpoint has reached the proxy. Each rollout shows it, and nothing is broken. A
// refused connection alone is no proof: its time has to fit the end of a pod that had the address.

import { counted } from "../../environment/counted.ts";
import { durationText } from "../../environment/duration-text.ts";
import { lagsAt } from "../../timeline/journey.ts";
import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { PodEnding } from "../evidence/objects.ts";
import { placeText } from "../evidence/sign-log.ts";

/** Clocks and log times are exact to a second. */
const beforeMs = 2_000;

/** Failures that begin later have another cause: a hop is stuck. */
const afterMs = 60_000;

const marginSeconds = 3;
const defaultSleepSeconds = 10;
const defaultGraceSeconds = 30;

interface Race {
  readonly pod: string;
  readonly address: string;
  readonly requests: number;
  /** From the end of the pod's service to the last failed connection. */
  readonly lateMs: number;
  readonly ending: PodEnding | undefined;
  readonly sources: readonly string[];
}

export const terminationRace: Cause = {
  name: "termination-race",
  summary:
    "A pod closes its port when it is asked to end, before the removal of its endpoint has reached " +
    "the proxy. Requests of these seconds fail.",
  affected: "All versions, current ones included: it is how Kubernetes ends pods.",
  shownBy: ["proxy log", "removed endpoints"],
  hop: "traffic",
  explains: ["dead-endpoints"],

  signs(evidence) {
    const observed = observedLeaves(evidence);
    if (observed?.weight === "against") return [observed];
    const timed = races(evidence).map(raceSign);
    const sure = observed === undefined ? timed : [...timed, observed];
    return sure.length > 0 ? sure : untimed(evidence);
  },

  conclude(evidence) {
    const [race] = races(evidence);
    const lagMs = Math.max(race?.lateMs ?? 0, leaveLagMs(evidence));
    const sleep = lagMs === 0 ? defaultSleepSeconds : Math.ceil(lagMs / 1000) + marginSeconds;
    const grace = race?.ending?.graceSeconds ?? defaultGraceSeconds;
    const longer =
      sleep + marginSeconds > grace ? `\nterminationGracePeriodSeconds: ${sleep + grace}` : "";
    const measured =
      lagMs === 0
        ? "The sleep has to be longer than the leave lag (see lockstep watch)"
        : `Requests came for up to ${durationText(lagMs)} after the end began, so ${sleep} s are enough`;
    return {
      severity: "warning",
      severityIfPossible: "warning",
      cause: "The proxy still sends requests to pods that are ending and have closed their port.",
      fix: {
        component: race === undefined ? "pod" : `pod ${race.pod}`,
        change: `lifecycle: { preStop: { exec: { command: ["sleep", "${sleep}"] } } }${longer}`,
        reason:
          `The pod then answers until the proxy has removed it. ${measured}; it has to be shorter than ` +
          "terminationGracePeriodSeconds. Each pod ends that much later.",
      },
      missing:
        lagMs === 0 ? ["lockstep record, during the next release: it measures the leave lag"] : [],
    };
  },
};

/** Failed connections that begin when a pod with that address ends. */
function races({ objects, requests }: Evidence): readonly Race[] {
  const found: Race[] = [];
  for (const { key, ip, ending, place } of objects.pods.values()) {
    const failures = ip === undefined ? undefined : requests.failures.get(ip);
    const killed = objects.stopped.get(key);
    const sinceMs = ending?.sinceMs ?? killed?.atMs;
    const { firstMs, lastMs, count } = failures ?? {};
    if (failures === undefined || sinceMs === undefined) continue;
    if (firstMs === undefined || lastMs === undefined || count === undefined) continue;
    if (firstMs < sinceMs - beforeMs || firstMs > sinceMs + afterMs) continue;
    const lateMs = Math.min(lastMs - sinceMs, afterMs);
    const sources = [placeText(failures.place), placeText(killed?.place ?? place)];
    found.push({ pod: key, address: failures.address, requests: count, lateMs, ending, sources });
  }
  return found.sort((a, b) => b.lateMs - a.lateMs);
}

function raceSign({ pod, address, requests, lateMs, ending, sources }: Race): Sign {
  const [failed = "", ended = ""] = sources;
  const sleep = ending?.sleepSeconds ?? 0;
  const hook = sleep === 0 ? "no preStop sleep" : `a preStop sleep of ${sleep} s`;
  return {
    weight: "proof",
    source: "objects",
    lines: [
      {
        text: `${counted(requests, "connection")} to ${address} failed up to ${durationText(lateMs)} after pod ${pod} began to end`,
        source: failed,
      },
      { text: `pod ${pod} has the address ${address} and ${hook}`, source: ended },
    ],
  };
}

/** Requests to endpoints that had left, where an observer has both. */
function observedLeaves({ journeys }: Evidence): Sign | undefined {
  const leaves = (journeys?.journeys ?? []).filter(
    ({ direction, traffic }) => direction === "leave" && traffic !== undefined,
  );
  if (journeys === undefined || leaves.length === 0) return undefined;
  const failed = leaves.filter(({ traffic }) => (traffic?.failed ?? 0) > 0);
  const text =
    failed.length === 0
      ? `${counted(leaves.length, "endpoint")} left, and each answered all requests that still came`
      : `${counted(failed.length, "endpoint")} of ${leaves.length} left and still got requests that failed`;
  const lines = [{ text, source: journeys.source }];
  return { weight: failed.length === 0 ? "against" : "proof", source: "changes", lines };
}

function leaveLagMs({ journeys }: Evidence): number {
  const leaves = (journeys?.journeys ?? []).filter(({ direction }) => direction === "leave");
  return Math.max(0, ...leaves.flatMap((journey) => lagsAt(journey, "routed")));
}

/** Without times: refused connections beside pods that end. */
function untimed(evidence: Evidence): readonly Sign[] {
  const refused = evidence.signs.get("upstream-refused");
  const ended = [...terminatingPods(evidence), ...stoppedPods(evidence)];
  if (refused === undefined || ended.length === 0 || isLater(evidence)) return [];
  const text = `${counted(refused.count, "connection")} to a pod failed`;
  return [{ weight: "support", source: "logs", lines: [refused.evidence(text)] }, ...ended];
}

/** The times are known, and the connections failed at another time. */
function isLater({ objects, requests }: Evidence): boolean {
  const timed = [...objects.pods.values()].filter(
    ({ key, ip, ending }) =>
      (ending?.sinceMs ?? objects.stopped.get(key)) !== undefined &&
      requests.failures.get(ip ?? "")?.firstMs !== undefined,
  );
  return timed.length > 0;
}

/** Only pods that the failed connections went to. */
function terminatingPods({ objects, requests }: Evidence): readonly Sign[] {
  const pod = [...objects.pods.values()].find(
    ({ isTerminating, ip }) => isTerminating && ip !== undefined && requests.failures.has(ip),
  );
  if (pod === undefined) return [];
  const text = `pod ${pod.key} with the address ${pod.ip ?? ""} is terminating`;
  const lines = [{ text, source: placeText(pod.place) }];
  return [{ weight: "support", source: "objects", lines }];
}

/** Events are objects, also where a table shows them. */
function stoppedPods({ signs }: Evidence): readonly Sign[] {
  const stopped = signs.get("pod-stopped");
  if (stopped === undefined) return [];
  const lines = [stopped.evidence(`${counted(stopped.count, "event")} of pods that were deleted`)];
  return [{ weight: "support", source: "objects", lines }];
}
