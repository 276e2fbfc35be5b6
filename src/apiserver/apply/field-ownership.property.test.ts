// Invariants of field ownership, for random histories of several clients that write one object.
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { ApiError } from "../api-error.ts";
import { type JsonObject, objectAt, valueAt } from "../kinds/fields.ts";
import { compareValues } from "./compare.ts";
import { FieldOwnership } from "./field-ownership.ts";
import { FieldSet } from "./field-set.ts";
import { decodeManagedFields, type ManagedFields, managerKey } from "./managed-fields.ts";
import { fieldSetOf } from "./typed-value.ts";
import { structuralType } from "./value-type.ts";

const type = structuralType({
  type: "object",
  properties: {
    size: { type: "integer" },
    atoms: { type: "array", items: { type: "string" } },
    tags: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
    map: { type: "object", additionalProperties: { type: "string" } },
    ports: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["port"],
      items: {
        type: "object",
        properties: {
          port: { type: "integer" },
          name: { type: "string" },
          note: { type: "string" },
        },
      },
    },
  },
});
const identity = { apiVersion: "example.com/v1", kind: "Thing", metadata: { name: "a" } };
const noFields = new FieldSet();
const ownership = new FieldOwnership({
  apiVersion: identity.apiVersion,
  typeAt: (version) => (version === identity.apiVersion ? type : undefined),
  resetFields: () => noFields,
  kind: identity.kind,
  subresource: "",
  empty: () => ({ apiVersion: identity.apiVersion, kind: identity.kind }),
  clock: { wallMs: () => 0 as WallMs, monotonicMs: () => 0 as MonotonicMs },
  trackFrom: "creation",
});

const text = fc.constantFrom("x", "y");
const port = fc.record(
  { port: fc.integer({ min: 1, max: 3 }), name: text, note: text },
  { requiredKeys: ["port"] },
);
const content = fc.record(
  {
    size: fc.integer({ min: 0, max: 2 }),
    atoms: fc.array(text, { maxLength: 2 }),
    // An empty list whose items can have owners has no owner itself.
    tags: fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 }),
    map: fc.dictionary(fc.constantFrom("k", "l"), text, { noNullPrototype: true }),
    ports: fc.uniqueArray(port, { selector: (item) => item.port, minLength: 1 }),
  },
  { requiredKeys: [] },
);
const step = fc.record({
  act: fc.constantFrom("apply", "apply", "force", "update"),
  name: fc.constantFrom("one", "two", "three"),
  content,
});

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** The object after a step; the live object if the step is refused. */
function after(
  live: JsonObject | undefined,
  { act, name, content: wanted }: Step,
): JsonObject | undefined {
  const object = { ...identity, ...wanted };
  if (act === "update") {
    return withOwners(object, ownership.afterUpdate({ live, updated: object, manager: name }));
  }
  const isForced = act === "force";
  try {
    const result = ownership.apply({ live, applied: object, manager: name, isForced });
    return withOwners(result.object, result.managedFields);
  } catch (error) {
    if (error instanceof ApiError && error.code === 409) return live;
    throw error;
  }
}

function withOwners(object: JsonObject, managedFields: JsonObject[] | undefined): JsonObject {
  const { managedFields: _, ...rest } = objectAt(object, "metadata") ?? {};
  const metadata = { ...rest, uid: "1" };
  return { ...object, metadata: managedFields ? { ...metadata, managedFields } : metadata };
}

function managersOf(object: JsonObject | undefined): ManagedFields {
  const entries = valueAt(object, "metadata", "managedFields");
  return decodeManagedFields(Array.isArray(entries) ? entries : undefined);
}

/** Without metadata, which no step sets. */
function contentOf(object: JsonObject | undefined): JsonObject {
  const { metadata: _, ...rest } = object ?? {};
  return rest;
}

const identityFields = FieldSet.of(["f:apiVersion"], ["f:kind"]);

/** Violations of the invariant by a step; none if it holds. */
type Invariant = (live: JsonObject | undefined, step: Step, next: JsonObject) => unknown[];

const isApplied: Invariant = (_, { act, name, content: wanted }, next) => {
  if (act === "update") return [];
  const applied = { ...identity, ...wanted };
  const { removed, modified } = compareValues(type, applied, next);
  const key = managerKey({ manager: name, operation: "Apply", apiVersion: "", subresource: "" });
  const owned = managersOf(next).get(key)?.fields ?? noFields;
  const mentioned = fieldSetOf(type, contentOf(applied)).difference(identityFields);
  return [removed, modified, owned.difference(mentioned), mentioned.difference(owned)].flatMap(
    (fields) => fields.paths(),
  );
};

const isKept: Invariant = (live, { act, name }, next) => {
  const { removed, modified, added } = compareValues(type, contentOf(live), contentOf(next));
  const changed = removed.union(modified).union(added);
  const latest = managersOf(next);
  return [...managersOf(live)].flatMap(([key, owner]) => {
    const isActor = owner.manager === name && owner.operation === "Apply" && act !== "update";
    const kept = latest.get(key)?.fields ?? noFields;
    return isActor ? [] : owner.fields.difference(kept).difference(changed).paths();
  });
};

const isIdempotent: Invariant = (_, one, next) => {
  const again = one.act === "update" ? next : after(next, one);
  return isDeepStrictEqual(again, next) ? [] : [again];
};

const isForced: Invariant = (live, one, next) => {
  const forced = one.act === "apply" ? after(live, { ...one, act: "force" }) : next;
  return isDeepStrictEqual(forced, next) ? [] : [forced];
};

/** Only for updates: an applied empty list has an owner although it has no item. */
const isThere: Invariant = (_, __, next) => {
  const present = fieldSetOf(type, next).withNamedFields(type);
  return [...managersOf(next).values()]
    .filter(({ operation }) => operation === "Update")
    .flatMap(({ fields }) => fields.difference(present).paths());
};

const history = fc.array(step, { minLength: 1, maxLength: 8 });

/** Thousands more run against a real server: e2e/real/apply-cases.ts. */
const runs = isThorough(process.env) ? 200 : 20;

test.each([
  ["the applied fields are in the object, and the applier owns them", isApplied],
  ["no manager loses a field that has not changed", isKept],
  ["applying the same configuration again changes nothing", isIdempotent],
  ["an apply without a conflict gives the same object with force", isForced],
  ["managers of updates own only fields that exist", isThere],
])("%s", (_, violations) => {
  const isHeld = (steps: readonly Step[]): void => {
    let live: JsonObject | undefined;
    for (const one of steps) {
      const next = after(live, one);
      const found = next === undefined || next === live ? [] : violations(live, one, next);
      expect(found).toEqual([]);
      live = next;
    }
  };
  fc.assert(fc.property(history, isHeld), { numRuns: runs });
});
