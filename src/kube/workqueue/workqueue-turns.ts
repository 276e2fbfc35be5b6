// A list of keys whose owners take turns: however many keys one owner has in it, a key of another
// waits for one key of each owner at most. The keys of one owner come in the order they went in, or
// take turns themselves.
import { assertCostly } from "../../environment/assert.ts";
import { WorkqueueLane } from "./workqueue-lane.ts";

/** A list of keys, each in it at most once. */
export interface KeyLine {
  readonly size: number;
  push(key: string): void;
  shift(): string | undefined;
  remove(key: string): boolean;
  keys(): Iterable<string>;
}

export class WorkqueueTurns implements KeyLine {
  readonly #ownerOf: (key: string) => string;
  readonly #newLine: () => KeyLine;
  /** The owner of each key when it went in. */
  readonly #ownerByKey = new Map<string, string>();
  /** By owner, its keys; only of owners that have some. */
  readonly #lines = new Map<string, KeyLine>();
  /** The owners of `#lines`, the one whose turn is next first. */
  readonly #owners = new WorkqueueLane();
  #size = 0;

  constructor(
    ownerOf: (key: string) => string,
    newLine: () => KeyLine = () => new WorkqueueLane(),
  ) {
    this.#ownerOf = ownerOf;
    this.#newLine = newLine;
  }

  get size(): number {
    return this.#size;
  }

  /** Appends a key that is not in the list. */
  push(key: string): void {
    const owner = this.#ownerOf(key);
    const line = this.#lines.get(owner) ?? this.#newLine();
    this.#ownerByKey.set(key, owner);
    if (line.size === 0) {
      this.#lines.set(owner, line);
      this.#owners.push(owner);
    }
    line.push(key);
    this.#size += 1;
    this.#check();
  }

  /** Takes the oldest key of the owner whose turn it is. */
  shift(): string | undefined {
    const owner = this.#owners.shift();
    const line = owner === undefined ? undefined : this.#lines.get(owner);
    const key = line?.shift();
    if (owner === undefined || line === undefined || key === undefined) return undefined;
    this.#ownerByKey.delete(key);
    this.#size -= 1;
    if (line.size > 0) this.#owners.push(owner);
    else this.#lines.delete(owner);
    this.#check();
    return key;
  }

  /** True if the key was in the list. */
  remove(key: string): boolean {
    const owner = this.#ownerByKey.get(key);
    const line = owner === undefined ? undefined : this.#lines.get(owner);
    if (owner === undefined || line === undefined || !line.remove(key)) return false;
    this.#ownerByKey.delete(key);
    this.#size -= 1;
    if (line.size === 0) {
      this.#lines.delete(owner);
      this.#owners.remove(owner);
    }
    this.#check();
    return true;
  }

  /** Owner by owner. */
  *keys(): Generator<string, void, undefined> {
    for (const line of this.#lines.values()) yield* line.keys();
  }

  #check(): void {
    assertCostly(
      () => this.#isInStep(),
      "owners take turns while they have keys",
      this.#lines.size,
    );
  }

  #isInStep(): boolean {
    let size = 0;
    for (const line of this.#lines.values()) {
      if (line.size === 0) return false;
      size += line.size;
    }
    const owners = [...this.#owners.keys()];
    return (
      size === this.#size &&
      owners.length === this.#lines.size &&
      owners.every((owner) => this.#lines.has(owner))
    );
  }
}
