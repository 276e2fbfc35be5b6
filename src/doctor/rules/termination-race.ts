// A proxy that connects to a pod in the seconds in which the pod ends. The pod closes its port before
// the removal of its endpoint has reached the proxy. Each rollout shows it, and nothing is broken.

import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import { placeText } from "../evidence/sign-log.ts";
import { counted } from "../report/counted.ts";

export const terminationRace: Cause = {
  name: "termination-race",
  summary:
    "A pod closes its port when it is asked to end, before the removal of its endpoint has reached " +
    "the proxy. Requests of these seconds fail.",
  hop: "traffic",
  explains: ["dead-endpoints"],

  signs(evidence) {
    const ended = [...terminatingPods(evidence), ...stoppedPods(evidence)];
    const refused = evidence.signs.get("upstream-refused");
    if (refused === undefined || ended.length === 0) return [];
    const text = `${counted(refused.count, "connection")} to a pod failed`;
    return [{ weight: "proof", source: "logs", lines: [refused.evidence(text)] }, ...ended];
  },

  conclude: () => ({
    severity: "warning",
    cause: "The proxy still sends requests to pods that are ending and have closed their port.",
    fix: {
      component: "pod",
      change: 'lifecycle: { preStop: { exec: { command: ["sleep", "10"] } } }',
      reason:
        "The pod then answers until the proxy has removed it. The sleep has to be longer than the leave " +
        "lag (see lockstep watch) and shorter than terminationGracePeriodSeconds.",
    },
    missing: ["lockstep record, during the next release: it measures the leave lag"],
  }),
};

/** Only pods that the failed connections went to. */
function terminatingPods({ objects, signs }: Evidence): readonly Sign[] {
  const refused = signs.get("upstream-refused");
  const addresses = new Set(
    [...(refused?.subjects.keys() ?? [])].map((subject) => subject.replace(/:\d+$/, "")),
  );
  const pod = [...objects.pods.values()].find(
    ({ isTerminating, ip }) => isTerminating && ip !== undefined && addresses.has(ip),
  );
  if (pod === undefined) return [];
  const text = `pod ${pod.key} with the address ${pod.ip ?? ""} is terminating`;
  const lines = [{ text, source: placeText(pod.place) }];
  return [{ weight: "proof", source: "objects", lines }];
}

function stoppedPods({ signs }: Evidence): readonly Sign[] {
  const stopped = signs.get("pod-stopped");
  if (stopped === undefined) return [];
  const lines = [stopped.evidence(`${counted(stopped.count, "event")} of pods that were deleted`)];
  return [{ weight: "support", source: "logs", lines }];
}
