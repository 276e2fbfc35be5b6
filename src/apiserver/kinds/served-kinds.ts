// The kinds one server serves at this moment: those it was built with, and those that
// CustomResourceDefinitions have added. Routing, discovery and OpenAPI read it with every request;
// `all` is another array exactly when the set has changed, so results made from it can be cached.
import { assertCostly } from "../../environment/assert.ts";
import type { ResourceKind } from "./resource-kind.ts";

export class ServedKinds {
  readonly #builtIn: readonly ResourceKind[];
  #all: readonly ResourceKind[];
  /** Invariant: this and `#groups` hold each of `#all`. */
  #byPlace: ReadonlyMap<string, ResourceKind>;
  #groups: ReadonlySet<string>;

  constructor(builtIn: readonly ResourceKind[]) {
    this.#builtIn = builtIn;
    this.#all = builtIn;
    this.#byPlace = byPlace(builtIn);
    this.#groups = new Set(builtIn.map((kind) => kind.group));
  }

  get all(): readonly ResourceKind[] {
    return this.#all;
  }

  hasGroup(group: string): boolean {
    return this.#groups.has(group);
  }

  find(group: string, version: string, resource: string): ResourceKind | undefined {
    return this.#byPlace.get(placeOf({ group, version, resource }));
  }

  /** Replaces the custom kinds. A built-in kind is never hidden by a custom one. */
  setCustom(custom: readonly ResourceKind[]): void {
    const taken = byPlace(this.#builtIn);
    const added = custom.filter((kind) => !taken.has(placeOf(kind)));
    this.#all = [...this.#builtIn, ...added];
    this.#byPlace = byPlace(this.#all);
    this.#groups = new Set(this.#all.map((kind) => kind.group));
    const isFound = (kind: ResourceKind) => this.#byPlace.get(placeOf(kind)) === kind;
    assertCostly(() => this.#all.every(isFound), "every kind is found", this.#all.length);
  }
}

function byPlace(kinds: readonly ResourceKind[]): ReadonlyMap<string, ResourceKind> {
  return new Map(kinds.map((kind) => [placeOf(kind), kind]));
}

function placeOf(kind: Pick<ResourceKind, "group" | "version" | "resource">): string {
  return `${kind.group}/${kind.version}/${kind.resource}`;
}
