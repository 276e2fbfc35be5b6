// A set of paths into an object, as a tree. A member is a field that is in the set itself; a child
// leads to members below it. A field may be both: owning a list item is not owning its fields.
// Operations return new sets and change neither operand.
import { assertCostly } from "../../environment/assert.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import {
  comparePathElements,
  type PathElement,
  PathElementError,
  readPathElement,
} from "./path-element.ts";
import { childType, resolveShape, type ValueType } from "./value-type.ts";

export class FieldSet {
  readonly #members: Set<PathElement>;
  /** Invariant: no child is empty, except while `insert` fills it. */
  readonly #children: Map<PathElement, FieldSet>;

  constructor(members?: Iterable<PathElement>, children?: Iterable<[PathElement, FieldSet]>) {
    this.#members = new Set(members);
    this.#children = new Map(children);
    const isFilled = () => [...this.#children.values()].every(({ isEmpty }) => !isEmpty);
    assertCostly(isFilled, "every child has members", this.#children.size);
  }

  static of(...paths: readonly (readonly PathElement[])[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  /** Throws a `PathElementError` for JSON that is not a field set. */
  static fromFieldsV1(fields: unknown): FieldSet {
    return decode(fields).below ?? new FieldSet();
  }

  /** Keys are in the order of path elements, so equal sets have equal bytes. */
  toFieldsV1(): JsonObject {
    return this.#encode({});
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

  /** Only while the set is built. The empty path, the whole object, is in no set. */
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

  /** Removes the other's members only; fields below them stay. */
  difference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    return this.#combine(other, (element) => !other.#members.has(element), {
      both: (mine, theirs) => mine.difference(theirs),
      mineOnly: (mine) => mine,
    });
  }

  /** Removes the other's members and all fields below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    if (other.isEmpty) return this;
    return this.#combine(other, (element) => !other.#members.has(element), {
      both: (mine, theirs, element) =>
        other.#members.has(element) ? undefined : mine.recursiveDifference(theirs),
      mineOnly: (mine, element) => (other.#members.has(element) ? undefined : mine),
    });
  }

  /** Adds the named fields on the way to each member; keys of maps are not added. */
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

  /**
   * The set in terms of today's schema, if it was written under an older one. A value that has
   * become atomic replaces the fields below it.
   */
  reconciledWith(type: ValueType): FieldSet {
    const atomic = new FieldSet();
    this.#collectAtomic(type, [], atomic);
    return atomic.isEmpty ? this : this.recursiveDifference(atomic).union(atomic);
  }

  /** Every path, in order: the members of a set before the paths below it. */
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

  /** Atomic values that the set has fields below. */
  #collectAtomic(type: ValueType, path: PathElement[], atomic: FieldSet): void {
    const shape = resolveShape(type, "open");
    const { map, list } = type;
    if (shape === "scalar" || (shape === "map" && map?.isDeduced === true)) return;
    if (type[shape]?.isAtomic === true) {
      atomic.insert(path);
      return;
    }
    for (const [element, below] of this.#children) {
      const isField = element.startsWith("f:");
      const named = isField ? map?.field(element.slice(2))?.type : undefined;
      const child = shape === "map" ? (named ?? map?.element) : list?.element;
      if (child !== undefined) {
        path.push(element);
        below.#collectAtomic(child, path, atomic);
        path.pop();
      }
    }
  }

  #encode(result: JsonObject): JsonObject {
    const elements = new Set([...this.#members, ...this.#children.keys()]);
    for (const element of [...elements].sort(comparePathElements)) {
      const child = this.#children.get(element);
      const self = this.#members.has(element) ? { ".": {} } : {};
      result[element] = child === undefined ? {} : child.#encode(self);
    }
    return result;
  }
}

/** One JSON object of `fieldsV1`: the field itself is owned ("."), fields below it, or both. */
interface DecodedField {
  readonly isMember: boolean;
  readonly below: FieldSet | undefined;
}

function decode(fields: unknown): DecodedField {
  if (fields === null) return { isMember: true, below: undefined };
  if (!isJsonObject(fields)) throw new PathElementError("fields must be objects");
  const members: PathElement[] = [];
  const children: [PathElement, FieldSet][] = [];
  let isMember = false;
  for (const key of Object.keys(fields)) {
    if (key === ".") {
      isMember = true;
      continue;
    }
    const element = readPathElement(key);
    if (element === undefined) continue;
    const child = decode(fields[key]);
    if (child.isMember) members.push(element);
    if (child.below !== undefined) children.push([element, child.below]);
  }
  if (members.length === 0 && children.length === 0) return { isMember: true, below: undefined };
  return { isMember, below: new FieldSet(members, children) };
}
