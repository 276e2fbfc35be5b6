// Takes cluster-wide numbers, such as addresses and ports, for the objects of a kind that has
// `allocation`. A number that is taken is a key in the storage, written only if absent, so two
// servers on one storage never give the same number twice. A number leaks if a server dies between
// taking it and storing the object; the ranges are wide enough for that.
import { type Random, randomInt } from "../../environment/random.ts";
import { ApiError } from "../api-error.ts";
import type { AllocationRules, Taking } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Storage } from "../storage/storage.ts";

/** Random tries before the range counts as full; at 99 % full this fails once in 10¹³ times. */
const maxTries = 3000;

const taken = new TextEncoder().encode("{}");

export interface AllocationRequest {
  readonly object: KubeObject;
  /** The stored one when this is an update. */
  readonly previous: KubeObject | undefined;
  readonly dryRun: boolean;
}

export interface Allocation {
  /** A copy with every number it needs. */
  readonly object: KubeObject;
  /** Keys taken by this request, to be released if the object is not stored after all. */
  readonly keys: readonly string[];
  /** Keys that only the stored object held, to be released once this one is stored. */
  readonly released: readonly string[];
}

export class Allocator {
  readonly #storage: Storage;
  readonly #random: Random;

  constructor(options: { storage: Storage; random: Random }) {
    this.#storage = options.storage;
    this.#random = options.random;
  }

  /** Completes the object with the numbers it lacks, or throws if they cannot be had. */
  async allocate(
    rules: AllocationRules,
    { object, previous, dryRun }: AllocationRequest,
  ): Promise<Allocation> {
    const copy = structuredClone(object);
    const keys: string[] = [];
    try {
      await rules.allocate(copy, previous, this.#taking(keys, dryRun));
    } catch (error) {
      await this.release(keys);
      throw error;
    }
    const before = dryRun || previous === undefined ? [] : rules.heldKeys(previous);
    const held = rules.heldKeys(copy);
    return { object: copy, keys, released: before.filter((key) => !held.includes(key)) };
  }

  async release(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      const { record } = await this.#storage.get(key);
      if (record !== undefined) {
        await this.#storage.delete(key, record.revision);
      }
    }
  }

  /** Adds every key it takes to `keys`; a dry run takes none. */
  #taking(keys: string[], dryRun: boolean): Taking {
    const take = async (key: string): Promise<boolean> => {
      if (dryRun) return (await this.#storage.get(key)).record === undefined;
      const { done } = await this.#storage.put(key, taken, 0);
      if (done) keys.push(key);
      return done;
    };
    return {
      dryRun,
      take,
      takeAny: async ({ prefix, count, nameOf, what }) => {
        for (let tries = 0; tries < maxTries; tries++) {
          const name = nameOf(1 + randomInt(this.#random, count - 2));
          if (await take(`${prefix}${name}`)) return name;
        }
        throw new ApiError(
          500,
          "InternalError",
          `Internal error occurred: failed to allocate a ${what}: range is full`,
        );
      },
    };
  }
}
