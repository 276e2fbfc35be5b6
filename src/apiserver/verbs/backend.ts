// What the verbs need of the server they run in.
import type { Clock } from "../../environment/clock.ts";
import type { Random } from "../../environment/random.ts";
import type { OwnerRecorder } from "../apply/record-owners.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { ResourceStore } from "../listwatch/resource-store.ts";
import type { ServiceAllocator } from "./service-allocator.ts";

export interface Backend extends OwnerRecorder {
  readonly clock: Clock;
  readonly random: Random;
  readonly allocator: ServiceAllocator;
  store(kind: ResourceKind): ResourceStore;
  /** Throws if the user of the request may not write this. `current` is undefined for a new one. */
  admit?(object: KubeObject, current: KubeObject | undefined): void;
}

/** One object, or the collection when `name` is absent. */
export interface Target {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly name: string;
}
