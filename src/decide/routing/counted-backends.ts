// The backends that the rules of any host name, each as long as one host names it.
import type { Backend } from "./route.ts";

export class CountedBackends {
  /** By key, the hosts that name it. */
  readonly #hosts = new Map<string, Set<string>>();
  readonly #backends = new Map<string, Backend>();
  /** By key, whether it was there when changes were last taken. */
  readonly #touched = new Map<string, boolean>();

  /** By key, all of them; changes under the reader. */
  get all(): ReadonlyMap<string, Backend> {
    return this.#backends;
  }

  /** By its key, the hosts whose rules name it. */
  hostsOf(key: string): Iterable<string> {
    return this.#hosts.get(key) ?? noHosts;
  }

  /** The host names these from now on. */
  add(backends: ReadonlyMap<string, Backend>, host: string): void {
    for (const [key, backend] of backends) {
      this.#touch(key);
      const hosts = this.#hosts.get(key) ?? new Set();
      this.#hosts.set(key, hosts.add(host));
      this.#backends.set(key, backend);
    }
  }

  /** The host names these no longer. */
  remove(backends: ReadonlyMap<string, Backend>, host: string): void {
    for (const key of backends.keys()) {
      this.#touch(key);
      const hosts = this.#hosts.get(key);
      hosts?.delete(host);
      if (hosts !== undefined && hosts.size > 0) continue;
      this.#hosts.delete(key);
      this.#backends.delete(key);
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

const noHosts: readonly string[] = [];

/** Keys. */
export interface BackendChanges {
  readonly joined: readonly string[];
  readonly left: readonly string[];
}
