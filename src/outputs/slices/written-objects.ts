// Objects that we have written, or read again after a conflict, until the watch shows them too.
// Without them, a second change to a service a few milliseconds after the first would be planned on
// the watch's old version, and be refused.
import { objectKey, type Projected } from "../../kube/kinds/kind.ts";
import { compareResourceVersions } from "../../kube/reflector/resource-version.ts";

export interface WrittenObjectsOptions<T> {
  /** Objects that are looked at together, as an index has it; an object of none is not kept. */
  readonly groupOf: (object: T) => string | undefined;
  /** The watch's version of an object. */
  readonly stored: (namespace: string, name: string) => T | undefined;
  /** The version that the watch has reached. */
  readonly reachedVersion: () => string | undefined;
}

type Entry<T> =
  | { readonly type: "written"; readonly object: T; readonly versionBefore: string | undefined }
  | { readonly type: "gone"; readonly uid: string };

/**
 * Invariant: an entry is newer than what the watch shows. Those that are not are dropped when their
 * group is looked at, which the watch's own event causes: so it holds what is on its way, no more.
 */
export class WrittenObjects<T extends Projected> {
  readonly #options: WrittenObjectsOptions<T>;
  readonly #groups = new Map<string, Map<string, Entry<T>>>();

  constructor(options: WrittenObjectsOptions<T>) {
    this.#options = options;
  }

  note(object: T): void {
    const { namespace, name } = object.metadata;
    const versionBefore = this.#options.stored(namespace, name)?.metadata.resourceVersion;
    this.#set(object, { type: "written", object, versionBefore });
  }

  /** The object that the watch still shows is not there any more. */
  noteGone(object: T): void {
    this.#set(object, { type: "gone", uid: object.metadata.uid });
  }

  /** The objects of a group: the watch's versions, replaced by newer ones. */
  over(group: string, stored: Iterable<T>): readonly T[] {
    const entries = this.#groups.get(group);
    if (entries === undefined) return [...stored];
    const objects = new Map<string, T>();
    for (const object of stored) objects.set(objectKey(object.metadata), object);
    for (const [key, entry] of entries) {
      if (this.#isOutdated(entry, objects.get(key))) entries.delete(key);
      else if (entry.type === "gone") objects.delete(key);
      else objects.set(key, entry.object);
    }
    if (entries.size === 0) this.#groups.delete(group);
    return [...objects.values()];
  }

  #set(object: T, entry: Entry<T>): void {
    const group = this.#options.groupOf(object);
    if (group === undefined) return;
    const entries = this.#groups.get(group) ?? new Map<string, Entry<T>>();
    this.#groups.set(group, entries);
    entries.set(objectKey(object.metadata), entry);
  }

  #isOutdated(entry: Entry<T>, stored: T | undefined): boolean {
    if (entry.type === "gone") return stored?.metadata.uid !== entry.uid;
    const reached = this.#options.reachedVersion();
    if (reached === undefined) return false;
    const order = compareResourceVersions(reached, entry.object.metadata.resourceVersion);
    // Where versions have no order, any change of the object has to count as ours.
    return order === undefined
      ? stored?.metadata.resourceVersion !== entry.versionBefore
      : order >= 0;
  }
}
