// The server as the verbs see it: clock, randomness, and a store for each kind.
import type { Clock } from "../../environment/clock.ts";
import type { Random } from "../../environment/random.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { ResourceStore } from "../listwatch/resource-store.ts";
import type { Allocator } from "./allocator.ts";

export interface Backend {
  readonly clock: Clock;
  readonly random: Random;
  readonly allocator: Allocator;
  store(kind: ResourceKind): ResourceStore;
}

/** One object, or the collection when `name` is absent. */
export interface Target {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  readonly name: string;
}
