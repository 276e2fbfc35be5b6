// The annotation in which `kubectl apply` remembers, in its client-side form, what it applied: it
// says which fields are kubectl's own when the same manager begins to apply on the server, and is
// kept up to date from then on, for those who go back.
import { isJsonObject, type JsonObject, objectAt, textAt } from "../kinds/fields.ts";
import { annotationsMaxBytes } from "../kinds/object-meta.ts";
import { compareValues } from "./compare.ts";
import type { FieldSet } from "./field-set.ts";
import { type FieldRules, ownType } from "./ownership-change.ts";
import { goJson } from "./path-element.ts";
import { fieldSetOf } from "./typed-value.ts";
import { validate } from "./validate.ts";

const annotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Fields that are as the annotation has them; undefined when there is none to be trusted. */
export function lastAppliedFields(rules: FieldRules, live: JsonObject): FieldSet | undefined {
  const lastApplied = parse(textAt(live, "metadata", "annotations", annotation));
  if (!isJsonObject(lastApplied) || textAt(lastApplied, "apiVersion") !== rules.apiVersion) {
    return undefined;
  }
  const type = ownType(rules);
  if (validate(type, lastApplied) ?? validate(type, live)) return undefined;
  const { modified, added, removed } = compareValues(type, lastApplied, live);
  return fieldSetOf(type, lastApplied).difference(modified).difference(added).difference(removed);
}

/** The object with its annotation, if it has one, renewed to what is being applied. */
export function withLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  if (textAt(object, "metadata", "annotations", annotation) === "") return object;
  const metadata = objectAt(object, "metadata") ?? {};
  const annotations: JsonObject = {
    ...objectAt(metadata, "annotations"),
    [annotation]: lastAppliedText(applied),
  };
  if (bytesOf(annotations) > annotationsMaxBytes) delete annotations[annotation];
  return { ...object, metadata: { ...metadata, annotations } };
}

function lastAppliedText(applied: JsonObject): string {
  const metadata = { ...objectAt(applied, "metadata") };
  const annotations = objectAt(metadata, "annotations");
  if (annotations === undefined) {
    delete metadata["annotations"];
  } else {
    const { [annotation]: _, ...others } = annotations;
    metadata["annotations"] = others;
  }
  return `${goJson(sorted({ ...applied, metadata }))}\n`;
}

/** Go writes the keys of maps in order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key])]),
  );
}

function bytesOf(annotations: JsonObject): number {
  return Object.entries(annotations).reduce(
    (bytes, [key, value]) => bytes + Buffer.byteLength(key) + Buffer.byteLength(String(value)),
    0,
  );
}

function parse(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    // An annotation that is no JSON says nothing.
    return undefined;
  }
}
