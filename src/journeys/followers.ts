// Which witnesses are expected to show the changes of a service. A hop that nobody follows is
// unknown: it is neither waited for nor taken to be fast.
import { type ServiceRef, type Witness, witnessId } from "./witness.ts";

/** The place of witnesses to which the cluster makes no difference; no cluster has this name. */
const anyCluster = "";

type Witnesses = Map<string, Witness>;

/** Invariant: no map in it is empty. */
export class Followers {
  /** By service, then by cluster, then by witness. */
  readonly #byService = new Map<string, Map<string, Witnesses>>();

  follow(witness: Witness, { cluster = anyCluster, service }: ServiceRef): void {
    const clusters = this.#byService.get(service) ?? new Map<string, Witnesses>();
    const witnesses: Witnesses = clusters.get(cluster) ?? new Map<string, Witness>();
    witnesses.set(witnessId(witness), witness);
    clusters.set(cluster, witnesses);
    this.#byService.set(service, clusters);
  }

  unfollow(witness: Witness, { cluster = anyCluster, service }: ServiceRef): void {
    const clusters = this.#byService.get(service);
    const witnesses = clusters?.get(cluster);
    witnesses?.delete(witnessId(witness));
    if (witnesses?.size === 0) clusters?.delete(cluster);
    if (clusters?.size === 0) this.#byService.delete(service);
  }

  /**
   * Those that follow this cluster's service, and those to which the cluster makes no difference.
   * Of an endpoint whose cluster is not known yet, all: any of them may be the one to name it.
   */
  of({ cluster, service }: ServiceRef): readonly Witness[] {
    const clusters = this.#byService.get(service);
    if (clusters === undefined) return [];
    if (cluster === undefined) return [...clusters.values()].flatMap((all) => [...all.values()]);
    const here = clusters.get(cluster)?.values() ?? [];
    return [...here, ...(clusters.get(anyCluster)?.values() ?? [])];
  }
}
