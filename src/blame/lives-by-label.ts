// Finds the pods that a selector selects without a look at every pod of the namespace: among those
// with one of the labels that it asks for, and of these labels the rarest.
import type { StringMap } from "../kube/kinds/intern.ts";
import { selects } from "../sources/service-pods.ts";
import type { PodHistory } from "./address-lives.ts";

export class LivesByLabel {
  /** By place and name of the label, then by its value; made when it is first asked for. */
  readonly #byLabel = new Map<string, ReadonlyMap<string, readonly PodHistory[]>>();

  /** To be called when a pod has come, gone or changed its labels. */
  clear(): void {
    if (this.#byLabel.size > 0) this.#byLabel.clear();
  }

  /** Of these, which are all that are in the place, in their order. */
  selected(
    place: string,
    lives: ReadonlySet<PodHistory>,
    selector: StringMap,
  ): readonly PodHistory[] {
    let fewest: readonly PodHistory[] | undefined;
    for (const [name, value] of Object.entries(selector)) {
      const labelled = this.#labelled(place, lives, name).get(value) ?? [];
      if (fewest === undefined || labelled.length < fewest.length) fewest = labelled;
    }
    return (fewest ?? [...lives]).filter(({ facts }) => selects(selector, facts.labels));
  }

  #labelled(
    place: string,
    lives: ReadonlySet<PodHistory>,
    name: string,
  ): ReadonlyMap<string, readonly PodHistory[]> {
    const key = `${place} ${name}`;
    const known = this.#byLabel.get(key);
    if (known !== undefined) return known;
    const byValue = new Map<string, PodHistory[]>();
    for (const life of lives) {
      const value = life.facts.labels[name];
      if (value === undefined) continue;
      const labelled = byValue.get(value);
      if (labelled === undefined) byValue.set(value, [life]);
      else labelled.push(life);
    }
    this.#byLabel.set(key, byValue);
    return byValue;
  }
}
