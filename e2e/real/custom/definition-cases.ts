// Definitions, most of them wrong in one way each. The lab must answer as the real server does.

type Json = Record<string, unknown>;

/** A definition that is right; `spec` and `version` replace parts of it. */
export function definition(plural: string, change: Change = {}): Json {
  const kind = kindOf(plural);
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", ...change.schema } },
    ...change.version,
  };
  const names = { plural, kind, ...change.names };
  const spec = { group: "cases.example.com", scope: "Namespaced", names, versions: [version] };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.cases.example.com`, ...change.metadata },
    spec: { ...spec, ...change.spec },
  };
}

/** `Thing` for `things`. */
export function kindOf(plural: string): string {
  return plural.charAt(0).toUpperCase() + plural.slice(1, -1);
}

export interface Change {
  readonly metadata?: Json;
  readonly spec?: Json;
  readonly names?: Json;
  readonly version?: Json;
  /** Beside `type: object` at the root. */
  readonly schema?: Json;
}

function withSpec(spec: Json): Change {
  return { schema: { properties: { spec } } };
}

function withField(field: Json): Change {
  return withSpec({ type: "object", properties: { field } });
}

const v2 = {
  name: "v2",
  served: true,
  storage: false,
  schema: { openAPIV3Schema: { type: "object", properties: { b: { type: "string" } } } },
};
const v1 = {
  name: "v1",
  served: true,
  storage: true,
  schema: { openAPIV3Schema: { type: "object", properties: { a: { type: "string" } } } },
};

export const definitionCases: Readonly<Record<string, Change>> = {
  "is right": {},
  "has another name": { metadata: { name: "others.cases.example.com" } },
  "has a group without a dot": { spec: { group: "example" }, metadata: { name: "things.example" } },
  "has a bad group": { spec: { group: "Bad_Group.x" } },
  "has no group": { spec: { group: "" } },
  "has no scope": { spec: { scope: "" } },
  "has an unknown scope": { spec: { scope: "Galaxy" } },
  "has no kind": { names: { kind: "" } },
  "has a bad kind": { names: { kind: "Bad_Kind" } },
  "has a kind that is its list": { names: { kind: "Same", listKind: "Same" } },
  "has bad short names": { names: { shortNames: ["OK", "no_good"] } },
  "has bad categories": { names: { categories: ["all", "Bad One"] } },
  "has no versions": { spec: { versions: [] } },
  "has no storage version": { version: { storage: false } },
  "has two storage versions": { spec: { versions: [v1, { ...v2, storage: true }] } },
  "has a version twice": { spec: { versions: [v1, { ...v2, name: "v1" }] } },
  "has a bad version name": { version: { name: "V1_x" } },
  "has no schema": { version: { schema: null } },
  "has two versions": { spec: { versions: [v1, v2] } },
  "has a wrong second version": {
    spec: {
      versions: [
        v1,
        { ...v2, schema: { openAPIV3Schema: { type: "object", properties: { b: {} } } } },
      ],
    },
  },
  "keeps unknown fields the old way": { spec: { preserveUnknownFields: true } },
  "is deprecated with a warning": { version: { deprecated: true, deprecationWarning: "go away" } },
  "has a warning without being deprecated": { version: { deprecationWarning: "go away" } },
  "has an empty warning": { version: { deprecated: true, deprecationWarning: "" } },
  "has a webhook without a client": { spec: { conversion: { strategy: "Webhook" } } },
  "has a webhook without versions": {
    spec: {
      conversion: {
        strategy: "Webhook",
        webhook: { clientConfig: { url: "https://example.com/x" }, conversionReviewVersions: [] },
      },
    },
  },
  "has an unknown conversion": { spec: { conversion: { strategy: "Magic" } } },
  "has a webhook that is not used": {
    spec: {
      conversion: {
        strategy: "None",
        webhook: { clientConfig: { url: "https://x.y" }, conversionReviewVersions: ["v1"] },
      },
    },
  },
  "needs approval": {
    spec: { group: "cases.k8s.io" },
    metadata: { name: "things.cases.k8s.io" },
  },
  "has a bad approval": {
    spec: { group: "cases.k8s.io" },
    metadata: {
      name: "things.cases.k8s.io",
      annotations: { "api-approved.kubernetes.io": "yes please" },
    },
  },
  "is not an object": { schema: { type: "array", items: { type: "string" } } },
  "is nullable": { schema: { nullable: true } },
  "has additional properties at the root": { schema: { additionalProperties: { type: "string" } } },
  "has a field without a type": withField({}),
  "has a field of an unknown type": withField({ type: "text" }),
  "has a field of type null": withField({ type: "null" }),
  "has an array without items": withField({ type: "array" }),
  "has items without a type": withField({ type: "array", items: {} }),
  "has items that are a list": withField({ type: "array", items: [{ type: "string" }] }),
  "has properties and additional ones": withField({
    type: "object",
    properties: { a: { type: "string" } },
    additionalProperties: { type: "string" },
  }),
  "has unique items": withField({ type: "array", uniqueItems: true, items: { type: "string" } }),
  "has a reference": withField({ type: "object", $ref: "#/x" }),
  "has pattern properties": withField({
    type: "object",
    patternProperties: { a: { type: "string" } },
  }),
  "has definitions": withField({ type: "object", definitions: { a: { type: "string" } } }),
  "has dependencies": withField({ type: "object", dependencies: { a: ["b"] } }),
  "has additional items": withField({
    type: "array",
    items: { type: "string" },
    additionalItems: true,
  }),
  "has an id": withField({ type: "string", id: "x" }),
  "has a bad pattern": withField({ type: "string", pattern: "[a" }),
  "has a pattern with a lookahead": withField({ type: "string", pattern: "(?=a)b" }),
  "preserves unknown fields, false": withField({
    type: "object",
    "x-kubernetes-preserve-unknown-fields": false,
  }),
  "preserves unknown fields": withField({ "x-kubernetes-preserve-unknown-fields": true }),
  "is int-or-string": withField({ "x-kubernetes-int-or-string": true }),
  "is int-or-string with anyOf": withField({
    "x-kubernetes-int-or-string": true,
    anyOf: [{ type: "integer" }, { type: "string" }],
  }),
  "is int-or-string with allOf": withField({
    "x-kubernetes-int-or-string": true,
    allOf: [{ anyOf: [{ type: "integer" }, { type: "string" }] }, { minimum: 1 }],
  }),
  "is int-or-string and more": withField({
    "x-kubernetes-int-or-string": true,
    "x-kubernetes-preserve-unknown-fields": true,
  }),
  "embeds a resource without a type": withField({ "x-kubernetes-embedded-resource": true }),
  "embeds a resource of another type": withField({
    type: "string",
    "x-kubernetes-embedded-resource": true,
  }),
  "embeds a resource without fields": withField({
    type: "object",
    "x-kubernetes-embedded-resource": true,
  }),
  "embeds a resource with everything": withField({
    type: "object",
    "x-kubernetes-embedded-resource": true,
    "x-kubernetes-preserve-unknown-fields": true,
  }),
  "embeds a resource whose kind is a number": withField({
    type: "object",
    "x-kubernetes-embedded-resource": true,
    properties: { kind: { type: "integer" }, metadata: { type: "string" } },
  }),
  "restricts metadata by its name": {
    schema: {
      properties: {
        metadata: { type: "object", properties: { name: { type: "string", maxLength: 5 } } },
      },
    },
  },
  "restricts more of metadata": {
    schema: {
      properties: { metadata: { type: "object", properties: { labels: { type: "object" } } } },
    },
  },
  "has a default in metadata": {
    schema: {
      properties: {
        metadata: { type: "object", properties: { name: { type: "string", default: "x" } } },
      },
    },
  },
  "has a type in anyOf": withField({ type: "string", anyOf: [{ type: "string" }] }),
  "has descriptions and more in allOf": withField({
    type: "string",
    allOf: [{ description: "x", title: "y", default: "z", nullable: true }],
  }),
  "restricts in anyOf what is not specified": withField({
    type: "object",
    anyOf: [{ properties: { a: { minLength: 1 } } }, { required: ["b"] }],
  }),
  "restricts items in not that are not specified": withField({
    type: "object",
    not: { items: { minLength: 1 } },
  }),
  "speaks of metadata in oneOf": withSpec({
    type: "object",
    properties: { metadata: { type: "object" } },
    oneOf: [{ properties: { metadata: { minProperties: 1 } } }],
  }),
  "has a wrong default": withField({ type: "integer", default: "x" }),
  "has a default out of bounds": withField({ type: "integer", minimum: 5, default: 1 }),
  "has a default with unknown fields": withField({
    type: "object",
    properties: { a: { type: "string" } },
    default: { a: "x", b: "y" },
  }),
  "has a default that breaks a rule": withField({
    type: "string",
    maxLength: 9,
    default: "x",
    "x-kubernetes-validations": [{ rule: "self != 'x'" }],
  }),
  "has a default in a list map key": withField({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", properties: { name: { type: "string", default: "x" } } },
  }),
  "has a map list without keys": withField({
    type: "array",
    "x-kubernetes-list-type": "map",
    items: { type: "object", properties: { name: { type: "string" } } },
  }),
  "has a map list with wrong keys": withField({
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name", "name", "other", "deep"],
    items: {
      type: "object",
      nullable: true,
      properties: { name: { type: "string", nullable: true }, deep: { type: "object" } },
    },
  }),
  "has keys of no map list": withField({
    type: "array",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object" },
  }),
  "has a set of objects": withField({
    type: "array",
    "x-kubernetes-list-type": "set",
    items: { type: "object", properties: { a: { type: "string" } } },
  }),
  "has a set of nullable things": withField({
    type: "array",
    "x-kubernetes-list-type": "set",
    items: { type: "string", nullable: true },
  }),
  "has a list type on a text": withField({ type: "string", "x-kubernetes-list-type": "set" }),
  "has an unknown list type": withField({
    type: "array",
    "x-kubernetes-list-type": "bag",
    items: { type: "string" },
  }),
  "has a map type on a text": withField({ type: "string", "x-kubernetes-map-type": "atomic" }),
  "has an unknown map type": withField({ type: "object", "x-kubernetes-map-type": "loose" }),
  "has unknown formats": withField({ type: "string", format: "postcode" }),
  "has formats on other types": withField({ type: "boolean", format: "int32" }),
  "has status and more at the root": {
    version: { subresources: { status: {} } },
    schema: { maxProperties: 5 },
  },
  "has columns of unknown types": {
    version: {
      additionalPrinterColumns: [
        { name: "", type: "text", jsonPath: "spec.a" },
        { name: "B", type: "", jsonPath: "" },
        { name: "C", type: "string", format: "loud", jsonPath: ".spec.c" },
      ],
    },
  },
  "has a scale elsewhere": {
    version: {
      subresources: {
        scale: {
          specReplicasPath: ".status.x",
          statusReplicasPath: "status.y",
          labelSelectorPath: ".metadata.z",
        },
      },
    },
  },
  "has a scale without paths": {
    version: { subresources: { scale: { specReplicasPath: "", statusReplicasPath: "" } } },
  },
  "has wrong selectable fields": {
    version: {
      selectableFields: [
        { jsonPath: ".spec.a" },
        { jsonPath: ".spec.none" },
        { jsonPath: ".spec.deep" },
        { jsonPath: ".spec.a" },
        { jsonPath: "spec.a" },
        { jsonPath: ".spec.list[0]" },
        { jsonPath: "" },
      ],
    },
    schema: {
      properties: {
        spec: {
          type: "object",
          properties: {
            a: { type: "string" },
            deep: { type: "object" },
            list: { type: "array", items: { type: "string" } },
          },
        },
      },
    },
  },
  "has rules that are not well written": withField({
    type: "string",
    maxLength: 9,
    "x-kubernetes-validations": [
      { rule: " " },
      { rule: "true", message: " " },
      { rule: "true", message: "a\nb" },
      { rule: "true &&\ntrue" },
      { rule: "true", messageExpression: " " },
      { rule: "true", reason: "Because" },
      { rule: "true", fieldPath: ".nothing" },
      { rule: "true", optionalOldSelf: true },
    ],
  }),
  "has a message expression that is no text": withField({
    type: "string",
    maxLength: 9,
    "x-kubernetes-validations": [{ rule: "true", messageExpression: "1" }],
  }),
  "has a message expression that does not compile": withField({
    type: "string",
    maxLength: 9,
    "x-kubernetes-validations": [{ rule: "true", messageExpression: "self.x" }],
  }),
  "compares items that cannot be told apart": withField({
    type: "array",
    maxItems: 5,
    items: {
      type: "string",
      maxLength: 9,
      "x-kubernetes-validations": [{ rule: "self == oldSelf" }],
    },
  }),
  "compares items of a map list": withField({
    type: "array",
    maxItems: 5,
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string", maxLength: 9 } },
      "x-kubernetes-validations": [{ rule: "self.name == oldSelf.name" }],
    },
  }),
  "has rules in anyOf": withField({
    type: "string",
    anyOf: [{ "x-kubernetes-validations": [{ rule: "true" }] }],
  }),
  "sees the metadata in a rule at the root": {
    schema: { "x-kubernetes-validations": [{ rule: "self.metadata.name.startsWith('a')" }] },
  },
  "sees labels in a rule at the root": {
    schema: { "x-kubernetes-validations": [{ rule: "has(self.metadata.labels)" }] },
  },
};

const words = { type: "array", items: { type: "string" } };
const pairs = {
  type: "array",
  items: { type: "object", properties: { a: { type: "string" }, b: { type: "integer" } } },
};

/** Fields without bounds, each with a rule that may cost too much. */
const costlyFields: readonly (readonly [Json, string])[] = [
  [{ type: "string" }, "self.contains('abc')"],
  [{ type: "string" }, "self.contains(self)"],
  [{ type: "string" }, "self.matches('^[a-z]+$')"],
  [{ type: "string" }, "self.matches(self)"],
  [{ type: "string", maxLength: 100 }, "self.matches(self)"],
  [{ type: "string" }, "self == 'a' || self == 'b'"],
  [{ type: "string" }, "(self + self + self).size() > 3"],
  [{ type: "string" }, "self.split(',').all(w, w.size() < 5)"],
  [{ type: "string" }, "self.replace('a', 'bcd').contains('x')"],
  [{ type: "string" }, "self.replace('', 'bcd').contains('xyz')"],
  [{ type: "string" }, "self.lowerAscii().upperAscii().trim() == self"],
  [{ type: "string" }, "quantity(self).isGreaterThan(quantity('1'))"],
  [{ type: "string" }, "!format.dns1123Label().validate(self).hasValue()"],
  [{ type: "string", format: "date-time" }, "self > timestamp('2024-01-01T00:00:00Z')"],
  [{ type: "integer" }, "string(self) == '5'"],
  [{ "x-kubernetes-int-or-string": true }, "self == 'a'"],
  [words, "self.all(w, w.size() > 1)"],
  [words, "self.all(w, w == 'a')"],
  [words, "self.all(a, self.all(b, a == b))"],
  [words, "self.exists(w, w.startsWith('abc'))"],
  [words, "self.exists_one(w, w == 'a')"],
  [words, "self.map(w, w + 'x').size() > 1"],
  [words, "self.filter(w, w != 'a').size() > 1"],
  [words, "self.join(',').contains('abc')"],
  [words, "self.isSorted()"],
  [words, "'a' in self"],
  [words, "self.sort() == self"],
  [words, "self.distinct().size() == self.size()"],
  [words, "self == ['a']"],
  [words, "sets.contains(self, ['a'])"],
  [words, "sets.equivalent(self, ['a'])"],
  [words, "self.reverse().slice(0, 2).flatten() == ['a']"],
  [words, "lists.range(self.size()).all(i, i > 0)"],
  [words, "self.sortBy(w, w.size()) == self"],
  [words, "self.transformList(i, w, w + 'x').join() == ''"],
  [words, "self[0].contains('abc')"],
  [{ ...words, maxItems: 100 }, "self.all(a, self.all(b, a == b))"],
  [{ ...words, maxItems: 100 }, "self.all(w, w.matches('^abc$'))"],
  [
    { type: "array", maxItems: 100, items: { type: "string", maxLength: 10 } },
    "self.all(a, self.all(b, a == b))",
  ],
  [{ type: "array", items: { type: "integer" } }, "self.sum() > 1"],
  [{ type: "array", items: { type: "integer" } }, "self.all(a, self.exists(b, a == b))"],
  [
    { type: "array", maxItems: 1000, items: { type: "integer" } },
    "self.all(a, self.exists(b, a == b))",
  ],
  [pairs, "self.all(p, p.a == 'x' || p.b > 1)"],
  [pairs, "self.all(p, self.exists_one(q, p.a == q.a && p.b == q.b))"],
  [{ ...pairs, maxItems: 16 }, "self.all(p, self.exists_one(q, p.a == q.a && p.b == q.b))"],
  [{ type: "object", additionalProperties: { type: "string" } }, "self.all(k, self[k] == 'a')"],
  [{ type: "object", additionalProperties: { type: "string" } }, "self.all(k, k.startsWith('a'))"],
  [
    { type: "object", additionalProperties: { type: "string" } },
    "self.all(k, v, v.contains('abc'))",
  ],
  [
    { type: "object", additionalProperties: { type: "string" } },
    "self.transformMap(k, v, v + 'x').size() > 1",
  ],
  [
    { type: "object", properties: { a: { type: "string" } } },
    "has(self.a) ? self.a.contains('abc') : true",
  ],
  [
    { type: "object", properties: { a: { type: "string" } } },
    "self.?a.orValue('').contains('abc')",
  ],
  [{ type: "object", properties: { a: { type: "string" } } }, "self == self"],
];

/** Alone, and on each of any number of items. */
export const costCases: Readonly<Record<string, Change>> = Object.fromEntries(
  costlyFields.flatMap(([field, rule], at) => {
    const ruled = { ...field, "x-kubernetes-validations": [{ rule }] };
    const list = { type: "array", items: ruled };
    return [
      [`has the rule ${rule} (${at})`, withField(ruled)],
      [`has the rule ${rule} on items (${at})`, withField(list)],
      [`has the rule ${rule} on some items (${at})`, withField({ ...list, maxItems: 50 })],
    ];
  }),
);
