// What the Priority admission plugin gives every pod in a cluster without priority classes.
import { ensureObject, objectAt, setDefaults } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";

export function addDefaultPriority(pod: KubeObject): void {
  setDefaults(ensureObject(pod, "spec"), {
    preemptionPolicy: "PreemptLowerPriority",
    priority: 0,
  });
}

/** An update that leaves it out keeps it. */
export function keepPriority(pod: KubeObject, current: KubeObject): void {
  const { preemptionPolicy, priority } = objectAt(current, "spec") ?? {};
  setDefaults(ensureObject(pod, "spec"), {
    ...(preemptionPolicy === undefined ? {} : { preemptionPolicy }),
    ...(priority === undefined ? {} : { priority }),
  });
}
