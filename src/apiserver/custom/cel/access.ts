// Reading a field or an element of a value.
import { CelError, ListValue, MapValue, ObjectValue, OptionalValue, type Value } from "./values.ts";

interface FieldAccess {
  readonly name: string;
  readonly isTest: boolean;
  readonly isOptional: boolean;
}

export function readField(of: Value, { name, isTest, isOptional }: FieldAccess): Value {
  if (of instanceof OptionalValue) {
    const value = of.value === undefined ? undefined : fieldOf(of.value, name);
    return isTest ? value !== undefined : new OptionalValue(value);
  }
  const value = fieldOf(of, name);
  if (isTest) return value !== undefined;
  if (isOptional) return new OptionalValue(value);
  if (value === undefined) throw new CelError(`no such key: ${name}`);
  return value;
}

/** `of[key]` */
export function readElement(of: Value, key: Value): Value {
  const value = elementOf(of, key);
  if (value !== undefined) return value;
  throw new CelError(
    of instanceof ListValue ? `index out of bounds: ${textOf(key)}` : `no such key: ${textOf(key)}`,
  );
}

/** Undefined when there is none. */
export function elementOf(of: Value, key: Value): Value | undefined {
  if (of instanceof ListValue) return of.items[indexOf(key)];
  if (of instanceof MapValue) return of.get(key);
  if (of instanceof ObjectValue && typeof key === "string") return of.fields.get(key);
  throw new CelError("no such overload");
}

function indexOf(key: Value): number {
  if (typeof key === "bigint") return Number(key);
  if (typeof key === "number" && Number.isInteger(key)) return key;
  throw new CelError(`unsupported index value: ${textOf(key)}`);
}

function fieldOf(of: Value, name: string): Value | undefined {
  if (of instanceof ObjectValue) return of.fields.get(name);
  if (of instanceof MapValue) return of.get(name);
  throw new CelError("no such overload");
}

function textOf(key: Value): string {
  return typeof key === "object" ? "" : String(key);
}
