// The time an object's last change was triggered, which the endpoint controllers publish as an
// annotation: the earliest of the pods' Ready transitions that are new since the last sync. A pod
// that is deleted contributes nothing, so pure removals go unmeasured, as in Kubernetes.
import type { WallMs } from "../../environment/clock.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import type { Pod } from "../../kube/kinds/pod.ts";
import type { Service } from "../../kube/kinds/service.ts";

interface Seen {
  readonly created: number;
  /** By pod name. */
  readonly pods: ReadonlyMap<string, WallMs>;
}

/** Invariant: one entry for each service that was synced and not forgotten. */
export class TriggerTimes {
  readonly #seen = new Map<string, Seen>();

  /** Remembers this sync; undefined when nothing new is known to have triggered it. */
  next(service: Service, pods: Iterable<Pod>): WallMs | undefined {
    const key = objectKey(service.metadata);
    const known = this.#seen.get(key);
    const created = service.metadata.creationTimestamp;
    const changed: WallMs[] = [];
    const transitions = new Map<string, WallMs>();
    for (const { metadata, readyTransitionTime } of pods) {
      if (readyTransitionTime === undefined) continue;
      transitions.set(metadata.name, readyTransitionTime);
      const before = known?.pods.get(metadata.name);
      if (before === undefined || readyTransitionTime > before) changed.push(readyTransitionTime);
    }
    if (created !== undefined && created > (known?.created ?? 0)) changed.push(created);
    this.#seen.set(key, { created: created ?? 0, pods: transitions });
    if (known === undefined) return created;
    return changed.sort((one, other) => one - other)[0];
  }

  forget(serviceKey: string): void {
    this.#seen.delete(serviceKey);
  }
}
