// The backends that the rules of any host name, each as long as one host names it.
import type { Backend } from "./route.ts";

interface Counted {
  readonly backend: Backend;
  readonly hosts: number;
}

export class CountedBackends {
  readonly #counted = new Map<string, Counted>();
  readonly #backends = new Map<string, Backend>();
  /** By key, whether it was there when changes were last taken. */
  readonly #touched = new Map<string, boolean>();

  /** By key, all of them; changes under the reader. */
  get all(): ReadonlyMap<string, Backend> {
    return this.#backends;
  }

  /** One host names these from now on. */
  add(backends: ReadonlyMap<string, Backend>): void {
    for (const [key, backend] of backends) {
      this.#touch(key);
      this.#counted.set(key, { backend, hosts: (this.#counted.get(key)?.hosts ?? 0) + 1 });
      this.#backends.set(key, backend);
    }
  }

  /** One host names these no longer. */
  remove(backends: ReadonlyMap<string, Backend>): void {
    for (const key of backends.keys()) {
      this.#touch(key);
      const counted = this.#counted.get(key);
      if (counted !== undefined && counted.hosts > 1) {
        this.#counted.set(key, { ...counted, hosts: counted.hosts - 1 });
      } else {
        this.#counted.delete(key);
        this.#backends.delete(key);
      }
    }
  }

  /** Which came and which went since this was last asked. */
  takeChanges(): BackendChanges {
    const touched = [...this.#touched];
    this.#touched.clear();
    const isThere = (key: string) => this.#backends.has(key);
    return {
      joined: touched.filter(([key, was]) => !was && isThere(key)).map(([key]) => key),
      left: touched.filter(([key, was]) => was && !isThere(key)).map(([key]) => key),
    };
  }

  #touch(key: string): void {
    if (!this.#touched.has(key)) this.#touched.set(key, this.#backends.has(key));
  }
}

/** Keys. */
export interface BackendChanges {
  readonly joined: readonly string[];
  readonly left: readonly string[];
}
