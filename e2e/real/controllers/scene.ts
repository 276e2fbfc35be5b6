// The parts of a random history: requests in steps, and the scene that the moves need.
import { type Random, randomInt } from "../../../src/environment/random.ts";

/** One request of a history. */
export interface Operation {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  /** A path, or a slice, whose name only the server knows. */
  readonly target: string | SliceChoice;
  readonly body?: object;
}

/** One of the slices that a controller keeps for a service. */
export interface SliceChoice {
  readonly namespace: string;
  readonly service: string;
  /** Counts through the slices in the order of their content, and begins again. */
  readonly index: number;
}

export interface Step {
  /** The event, for the reader of a difference. */
  readonly title: string;
  readonly operations: readonly Operation[];
  /** True where the requests may overtake each other. */
  readonly isUnordered?: boolean;
  /** False where it is up to chance how many writes a change takes, though not where it leads. */
  readonly isCounted?: boolean;
}

export interface History {
  readonly namespace: string;
  readonly steps: readonly Step[];
}

/** The existing objects, as far as the moves need them. */
export interface Scene {
  readonly namespace: string;
  readonly random: Random;
  /** Whether services may have labels that keep the controllers writing. */
  readonly allowsAlwaysWritten: boolean;
  /** Whether pods may name a node that does not exist: their services are tried again and again. */
  readonly hasMissingNode: boolean;
  /**
   * Whether services may ask for topology hints. Then all nodes have a zone: where one endpoint has
   * none, the slices are written at every sync.
   */
  readonly hasTopology: boolean;
  readonly services: Map<string, SceneService>;
  readonly pods: Map<string, ScenePod>;
  /** How many pods and times there have been: names and times are never used twice. */
  counter: number;
}

export interface SceneService {
  readonly hasSelector: boolean;
  readonly isHeadless: boolean;
  readonly isExternal: boolean;
  /** Another writer made Endpoints for it. */
  readonly hasOwnEndpoints: boolean;
}

export interface ScenePod {
  readonly address: string | undefined;
  readonly isReady: boolean;
  readonly isLeaving: boolean;
  readonly hasNode: boolean;
}

/** One way for a history to go on; undefined where it makes no sense now. */
export interface Move {
  /** How often it is chosen, compared with the others. */
  readonly weight: number;
  readonly make: (scene: Scene) => Step | undefined;
}

/** Made once for all histories. Of zones of equal size it would be up to chance which one gives. */
export const nodes = [
  { name: "node-a", zone: "zone-a", cpu: "4" },
  { name: "node-b", zone: "zone-b", cpu: "3000m" },
  { name: "node-c", zone: "zone-c", cpu: "2" },
  { name: "node-nowhere", zone: undefined, cpu: "8" },
] as const;

/** One of them. */
export function oneOf<T>(random: Random, values: readonly T[]): T {
  const chosen = values[randomInt(random, values.length)];
  if (chosen === undefined) throw new Error("there is nothing to choose from");
  return chosen;
}

/** True as often as `share` says. */
export function chance(random: Random, share: number): boolean {
  return random.next() < share;
}
