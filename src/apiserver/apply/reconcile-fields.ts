// A field set that was written under an older schema, in terms of today's: what has since become
// one value as a whole is owned as a whole by whoever owned a part of it.
import { FieldSet } from "./field-set.ts";
import type { PathElement } from "./path-element.ts";
import { resolveShape, type ValueType } from "./value-type.ts";

/** The same set, unless the schema has changed. */
export function reconcileFields(type: ValueType, fields: FieldSet): FieldSet {
  const atomic = new FieldSet();
  collect(type, fields, [], atomic);
  return atomic.isEmpty ? fields : fields.recursiveDifference(atomic).union(atomic);
}

/** Finds what has become atomic while the set has fields below it. */
function collect(type: ValueType, fields: FieldSet, path: PathElement[], atomic: FieldSet): void {
  const shape = resolveShape(type, "open");
  const { map, list } = type;
  if (shape === "scalar" || (shape === "map" && map?.isDeduced === true)) return;
  if (type[shape]?.isAtomic === true) {
    atomic.insert(path);
    return;
  }
  for (const [element, below] of fields.children) {
    const isField = element.startsWith("f:");
    const named = isField ? map?.field(element.slice(2))?.type : undefined;
    const child = shape === "map" ? (named ?? map?.element) : list?.element;
    if (child !== undefined) {
      path.push(element);
      collect(child, below, path, atomic);
      path.pop();
    }
  }
}
