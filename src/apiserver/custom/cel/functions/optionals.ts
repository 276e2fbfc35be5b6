// Values that may be absent: `oldSelf` in rules that also apply to new objects, `self.?field`.
import { define, defineMethod, type Overload } from "../overloads.ts";
import {
  CelError,
  ListValue,
  MapValue,
  ObjectValue,
  OptionalValue,
  Uint,
  type Value,
} from "../values.ts";

const none = new OptionalValue(undefined);

export const optionals: readonly Overload[] = [
  define("optional.of(A) optional(A)", (value: Value) => new OptionalValue(value)),
  define("optional.ofNonZeroValue(A) optional(A)", (value: Value) => {
    return isZero(value) ? none : new OptionalValue(value);
  }),
  define("optional.none() optional(A)", () => none),
  defineMethod("hasValue(optional(A)) bool", (optional: OptionalValue) => {
    return optional.value !== undefined;
  }),
  defineMethod("value(optional(A)) A", (optional: OptionalValue) => {
    if (optional.value === undefined) throw new CelError("optional.none() dereference");
    return optional.value;
  }),
  defineMethod("or(optional(A), optional(A)) optional(A)", (a: OptionalValue, b: OptionalValue) => {
    return a.value === undefined ? b : a;
  }),
  defineMethod("orValue(optional(A), A) A", (optional: OptionalValue, otherwise: Value) => {
    return optional.value ?? (optional.value === null ? null : otherwise);
  }),
];

function isZero(value: Value): boolean {
  if (value === null || value === false || value === "" || value === 0 || value === 0n) return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof ListValue) return value.items.length === 0;
  if (value instanceof MapValue) return value.entries.size === 0;
  if (value instanceof ObjectValue) return value.fields.size === 0;
  return value instanceof Uint8Array && value.length === 0;
}
