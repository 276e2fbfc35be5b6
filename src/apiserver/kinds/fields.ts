// Reading and filling JSON whose shape the schema has already checked. Absent, null and (for text)
// empty mean the same here, as they do to the Go types of the real server.

export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * Sets a field whose name a client chose. Assigning to `__proto__`, a key like any other in JSON,
 * would change its prototype instead.
 */
export function setField(object: JsonObject, field: string, value: unknown): void {
  if (field === "__proto__") {
    const plain = { value, writable: true, enumerable: true, configurable: true };
    Object.defineProperty(object, field, plain);
  } else {
    object[field] = value;
  }
}

/** The object's own field, without inherited ones such as `constructor`. */
export function ownField(object: JsonObject, field: string): unknown {
  return Object.hasOwn(object, field) ? object[field] : undefined;
}

/** A deep copy of JSON; several times faster than structuredClone, which knows far more types. */
export function copyJson(object: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const field of Object.keys(object)) {
    setField(copy, field, copyOf(object[field]));
  }
  return copy;
}

/** A deep copy of any JSON. */
export function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value.map(copyOf);
  }
  return isJsonObject(value) ? copyJson(value) : value;
}

/** The value at the path, or undefined when any step is missing. */
export function valueAt(from: unknown, ...path: readonly string[]): unknown {
  let value = from;
  for (const step of path) {
    if (!isJsonObject(value)) {
      return undefined;
    }
    value = value[step];
  }
  return value ?? undefined;
}

export function objectAt(from: unknown, ...path: readonly string[]): JsonObject | undefined {
  const value = valueAt(from, ...path);
  return isJsonObject(value) ? value : undefined;
}

/** "" when absent. */
export function textAt(from: unknown, ...path: readonly string[]): string {
  const value = valueAt(from, ...path);
  return typeof value === "string" ? value : "";
}

export function numberAt(from: unknown, ...path: readonly string[]): number | undefined {
  const value = valueAt(from, ...path);
  return typeof value === "number" ? value : undefined;
}

export function listAt(from: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(from, ...path);
  return Array.isArray(value) ? value : [];
}

/** The objects of a list; anything else in it was refused by the schema before. */
export function objectsAt(from: unknown, ...path: readonly string[]): readonly JsonObject[] {
  return listAt(from, ...path).filter(isJsonObject);
}

export function textsAt(from: unknown, ...path: readonly string[]): readonly string[] {
  return listAt(from, ...path).filter((item) => typeof item === "string");
}

/** The text entries of a map of texts, such as labels. */
export function textMapAt(from: unknown, ...path: readonly string[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [key, value] of Object.entries(objectAt(from, ...path) ?? {})) {
    if (typeof value === "string") {
      setField(texts, key, value);
    }
  }
  return texts;
}

/** The entries of a map of lists of texts. */
export function textMapOfListsAt(
  from: unknown,
  ...path: readonly string[]
): Record<string, readonly string[]> {
  const lists: Record<string, readonly string[]> = {};
  for (const key of Object.keys(objectAt(from, ...path) ?? {})) {
    setField(lists, key, textsAt(from, ...path, key));
  }
  return lists;
}

/** The object in that field, made empty first when absent. */
export function ensureObject(parent: JsonObject, field: string): JsonObject {
  const value = parent[field];
  if (isJsonObject(value)) {
    return value;
  }
  const created: JsonObject = {};
  parent[field] = created;
  return created;
}

/** Fills each field that is absent or empty text. */
export function setDefaults(target: JsonObject, defaults: JsonObject): void {
  for (const [field, value] of Object.entries(defaults)) {
    const current = target[field];
    if (current === undefined || current === null || current === "") {
      target[field] = value;
    }
  }
}
