// A set of paths into an object, as a tree. A member is a field that belongs to the set itself; a
// child leads to members below it. A field may be either or both: owning a list item and owning
// its fields are different things. The operations give new sets and change neither operand.
import { assertCostly } from "../../environment/assert.ts";
import { comparePathElements, type PathElement } from "./path-element.ts";
import { childType, type ValueType } from "./value-type.ts";

export class FieldSet {
  readonly #members: Set<PathElement>;
  /** Invariant: no child is empty, unless `insert` is about to fill it. */
  readonly #children: Map<PathElement, FieldSet>;

  constructor(members?: Iterable<PathElement>, children?: Iterable<[PathElement, FieldSet]>) {
    this.#members = new Set(members);
    this.#children = new Map(children);
    const isFilled = () => [...this.#children.values()].every(({ isEmpty }) => !isEmpty);
    assertCostly(isFilled, "what leads to fields leads to some", this.#children.size);
  }

  static of(...paths: readonly (readonly PathElement[])[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  get members(): ReadonlySet<PathElement> {
    return this.#members;
  }

  get children(): ReadonlyMap<PathElement, FieldSet> {
    return this.#children;
  }

  get isEmpty(): boolean {
    return this.#members.size === 0 && this.#children.size === 0;
  }

  /** Only while the set is being made. The empty path, the whole object, belongs to nobody. */
  insert(path: readonly PathElement[], depth = 0): void {
    const element = path[depth];
    if (element === undefined) return;
    if (depth === path.length - 1) {
      this.#members.add(element);
    } else {
      this.#descend(element).insert(path, depth + 1);
    }
  }

  has(path: readonly PathElement[]): boolean {
    const [element, ...rest] = path;
    if (element === undefined) return false;
    if (rest.length === 0) return this.#members.has(element);
    return this.#children.get(element)?.has(rest) ?? false;
  }

  union(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    if (this.isEmpty) return other;
    const children = new Map(this.#children);
    for (const [element, set] of other.#children) {
      children.set(element, children.get(element)?.union(set) ?? set);
    }
    return new FieldSet([...this.#members, ...other.#members], children);
  }

  intersection(other: FieldSet): FieldSet {
    return this.#combine(other, (element) => other.#members.has(element), {
      both: (mine, theirs) => mine.intersection(theirs),
      mineOnly: () => undefined,
    });
  }

  /** Takes away the other's members only: what lies below one of them stays. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    return this.#combine(other, (element) => !other.#members.has(element), {
      both: (mine, theirs) => mine.difference(theirs),
      mineOnly: (mine) => mine,
    });
  }

  /** Takes away the other's members and all below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    return this.#combine(other, (element) => !other.#members.has(element), {
      both: (mine, theirs, element) =>
        other.#members.has(element) ? undefined : mine.recursiveDifference(theirs),
      mineOnly: (mine, element) => (other.#members.has(element) ? undefined : mine),
    });
  }

  /** Also owns the named fields on the way to what it owns; the keys of maps it does not. */
  withNamedFields(type: ValueType | undefined): FieldSet {
    const { map, list } = type ?? {};
    const members = new Set(this.#members);
    const children: [PathElement, FieldSet][] = [];
    for (const [element, set] of this.#children) {
      let below: ValueType | undefined;
      if (element.startsWith("f:") && map !== undefined) {
        const name = element.slice(2);
        if (map.field(name) !== undefined) members.add(element);
        below = childType(map, name);
      } else if (element.startsWith("k:")) {
        below = list?.element;
      }
      children.push([element, set.withNamedFields(below)]);
    }
    return new FieldSet(members, children);
  }

  equals(other: FieldSet): boolean {
    if (this.#members.size !== other.#members.size) return false;
    if (this.#children.size !== other.#children.size) return false;
    for (const element of this.#members) {
      if (!other.#members.has(element)) return false;
    }
    for (const [element, set] of this.#children) {
      const theirs = other.#children.get(element);
      if (theirs === undefined || !set.equals(theirs)) return false;
    }
    return true;
  }

  /** Every path, in order: the members of a set before what is below it. */
  paths(): PathElement[][] {
    const paths = [...this.#members].sort(comparePathElements).map((element) => [element]);
    for (const element of [...this.#children.keys()].sort(comparePathElements)) {
      for (const path of this.#children.get(element)?.paths() ?? []) {
        paths.push([element, ...path]);
      }
    }
    return paths;
  }

  #descend(element: PathElement): FieldSet {
    let child = this.#children.get(element);
    if (child === undefined) {
      child = new FieldSet();
      this.#children.set(element, child);
    }
    return child;
  }

  #combine(
    other: FieldSet,
    keepsMember: (element: PathElement) => boolean,
    below: {
      both(mine: FieldSet, theirs: FieldSet, element: PathElement): FieldSet | undefined;
      mineOnly(mine: FieldSet, element: PathElement): FieldSet | undefined;
    },
  ): FieldSet {
    const result = new FieldSet();
    for (const element of this.#members) {
      if (keepsMember(element)) result.#members.add(element);
    }
    for (const [element, mine] of this.#children) {
      const theirs = other.#children.get(element);
      const kept =
        theirs === undefined ? below.mineOnly(mine, element) : below.both(mine, theirs, element);
      if (kept !== undefined && !kept.isEmpty) result.#children.set(element, kept);
    }
    return result;
  }
}
