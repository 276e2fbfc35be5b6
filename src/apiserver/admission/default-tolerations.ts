// The admission plugin DefaultTolerationSeconds: a pod that does not say how long it tolerates a
// node that is not ready or not reachable tolerates it for five minutes. It is why pods of a dead
// node are deleted, and why not sooner.

import { ensureObject, type JsonObject, objectsAt, textAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";

/** plugin/pkg/admission/defaulttolerationseconds defaultNotReadyTolerationSeconds and its twin. */
const toleratedSeconds = 300;

const keys = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

export function addDefaultTolerations(pod: KubeObject): void {
  const spec = ensureObject(pod, "spec");
  const tolerations = objectsAt(spec, "tolerations");
  const missing = keys.filter((key) => !tolerations.some((one) => tolerates(one, key)));
  if (missing.length === 0) return;
  spec["tolerations"] = [
    ...tolerations,
    ...missing.map((key) => ({
      key,
      operator: "Exists",
      effect: "NoExecute",
      tolerationSeconds: toleratedSeconds,
    })),
  ];
}

function tolerates(toleration: JsonObject, key: string): boolean {
  const effect = textAt(toleration, "effect");
  const named = textAt(toleration, "key");
  return (named === key || named === "") && (effect === "NoExecute" || effect === "");
}
