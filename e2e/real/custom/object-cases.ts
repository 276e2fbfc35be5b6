// Objects of one custom kind with every keyword in its schema, created and changed. The lab must answer
// as the real server does.
import { definition } from "./definition-cases.ts";

type Json = Record<string, unknown>;

const nested = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 2, maxLength: 8 },
    value: { type: "integer", default: 3 },
  },
};

export const shopDefinition = definition("shops", {
  names: { singular: "shop", kind: "Shop", shortNames: ["sh"], categories: ["all"] },
  version: {
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    selectableFields: [{ jsonPath: ".spec.text" }, { jsonPath: ".spec.count" }],
    additionalPrinterColumns: [
      { name: "Text", type: "string", jsonPath: ".spec.text" },
      { name: "Count", type: "integer", jsonPath: ".spec.count", priority: 1 },
    ],
  },
  schema: {
    required: ["spec"],
    properties: {
      metadata: { type: "object", properties: { name: { type: "string", maxLength: 20 } } },
      spec: {
        type: "object",
        properties: {
          text: { type: "string", minLength: 2, maxLength: 12, pattern: "^[a-z]+$" },
          enum: { type: "string", enum: ["red", "green"] },
          numberEnum: { type: "integer", enum: [1, 2] },
          count: { type: "integer", minimum: 1, maximum: 10 },
          small: { type: "integer", format: "int32" },
          big: { type: "integer", format: "int64" },
          float: { type: "number", format: "float" },
          open: {
            type: "number",
            exclusiveMinimum: true,
            minimum: 0,
            exclusiveMaximum: true,
            maximum: 1.5,
          },
          even: { type: "integer", multipleOf: 2 },
          flag: { type: "boolean", default: true },
          nullable: { type: "string", nullable: true },
          nullableDefault: { type: "string", nullable: true, default: "d" },
          plainDefault: { type: "string", default: "d" },
          either: { "x-kubernetes-int-or-string": true, pattern: "^[0-9]+%$" },
          anything: { "x-kubernetes-preserve-unknown-fields": true },
          half: {
            type: "object",
            "x-kubernetes-preserve-unknown-fields": true,
            properties: { known: nested },
          },
          map: {
            type: "object",
            maxProperties: 2,
            minProperties: 1,
            additionalProperties: { type: "integer" },
          },
          free: { type: "object", additionalProperties: true },
          list: {
            type: "array",
            minItems: 1,
            maxItems: 3,
            items: { type: "string", maxLength: 3 },
          },
          set: { type: "array", "x-kubernetes-list-type": "set", items: { type: "string" } },
          numberSet: { type: "array", "x-kubernetes-list-type": "set", items: { type: "integer" } },
          entries: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            items: nested,
          },
          pairs: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name", "port"],
            items: {
              type: "object",
              required: ["name", "port"],
              properties: { name: { type: "string" }, port: { type: "integer" } },
            },
          },
          template: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
          },
          date: { type: "string", format: "date" },
          time: { type: "string", format: "date-time" },
          duration: { type: "string", format: "duration" },
          ipv4: { type: "string", format: "ipv4" },
          ipv6: { type: "string", format: "ipv6" },
          cidr: { type: "string", format: "cidr" },
          uri: { type: "string", format: "uri" },
          email: { type: "string", format: "email" },
          hostname: { type: "string", format: "hostname" },
          uuid: { type: "string", format: "uuid" },
          bytes: { type: "string", format: "byte" },
          mac: { type: "string", format: "mac" },
          label: { type: "string", format: "k8s-short-name" },
          choice: {
            type: "object",
            properties: { a: { type: "string" }, b: { type: "string" }, c: { type: "integer" } },
            oneOf: [{ required: ["a"] }, { required: ["b"] }],
          },
          some: {
            type: "object",
            properties: { a: { type: "string" }, b: { type: "integer" } },
            anyOf: [
              { required: ["a"], properties: { a: { minLength: 3 } } },
              { required: ["b"], properties: { b: { minimum: 5 } } },
            ],
          },
          all: { type: "string", allOf: [{ minLength: 2 }, { pattern: "^x" }] },
          never: { type: "string", not: { enum: ["no"] } },
          replicas: { type: "integer" },
          ruled: {
            type: "object",
            properties: {
              min: { type: "integer" },
              max: { type: "integer" },
              fixed: {
                type: "string",
                maxLength: 9,
                "x-kubernetes-validations": [
                  { rule: "self == oldSelf", message: "fixed is fixed" },
                ],
              },
              grown: {
                type: "integer",
                "x-kubernetes-validations": [
                  {
                    rule: "!oldSelf.hasValue() || self >= oldSelf.value()",
                    optionalOldSelf: true,
                    messageExpression: "'must not be less than before: %d'.format([self])",
                  },
                ],
              },
            },
            "x-kubernetes-validations": [
              {
                rule: "!has(self.min) || !has(self.max) || self.min <= self.max",
                message: "min over max",
              },
              {
                rule: "!has(self.max) || self.max < 100",
                reason: "FieldValueForbidden",
                fieldPath: ".max",
                messageExpression: "'too much: %d'.format([self.max])",
              },
              { rule: "!has(self.min) || self.min != 13", reason: "FieldValueRequired" },
              {
                rule: "!has(self.min) || self.min != 14",
                reason: "FieldValueDuplicate",
                message: "twice",
              },
            ],
          },
        },
      },
      status: {
        type: "object",
        properties: {
          replicas: { type: "integer" },
          selector: { type: "string" },
          phase: { type: "string", enum: ["Open", "Closed"] },
          note: { type: "string", maxLength: 5, default: "none" },
        },
      },
    },
  },
});

/** The specs of new objects. */
export const specCases: Readonly<Record<string, unknown>> = {
  "is empty": {},
  "is null": null,
  "is a text": "x",
  "is a list": [],
  "has unknown fields": {
    unknown: 1,
    text: "abc",
    half: { any: { thing: 1 } },
    free: { a: { b: 1 } },
  },
  "is right throughout": {
    text: "abc",
    enum: "red",
    count: 5,
    even: 4,
    open: 1.25,
    either: "5%",
    anything: { a: [1, { b: null }] },
    map: { a: 1 },
    list: ["a"],
    set: ["a", "b"],
    entries: [{ name: "ab" }, { name: "cd", value: 9 }],
  },
  "has texts too short, long and odd": { text: "a", all: "y" },
  "has a text too long": { text: "abcdefghijklmnop" },
  "has a text that does not match": { text: "ABC" },
  "has numbers out of bounds": { count: 11, open: 1.5, even: 3 },
  "has numbers below bounds": { count: 0, open: 0 },
  "has numbers of other types": { count: "1", open: "x", flag: "true", text: 5 },
  "has a fraction for an integer": { count: 1.5 },
  "has an integer too large for its format": { small: 3_000_000_000 },
  "has a boolean for a formatted number": { small: true, float: {} },
  "has unknown enums": { enum: "blue", numberEnum: 3 },
  "has nulls": {
    nullable: null,
    nullableDefault: null,
    plainDefault: null,
    text: null,
    list: [null],
  },
  "has a number for int-or-string": { either: 5 },
  "has a wrong text for int-or-string": { either: "five" },
  "has a boolean for int-or-string": { either: true },
  "has a map too large": { map: { a: 1, b: 2, c: 3 } },
  "has a map too small": { map: {} },
  "has wrong values in a map": { map: { a: "x" } },
  "has a list too long": { list: ["a", "b", "c", "d"] },
  "has a list too short": { list: [] },
  "has wrong items": { list: ["abcd", 5] },
  "has a list for an object": { map: [], list: {} },
  "repeats in a set": { set: ["a", "b", "a", "a"], numberSet: [1, 1] },
  "repeats keys": { entries: [{ name: "ab" }, { name: "ab" }] },
  "repeats pairs": {
    pairs: [
      { name: "a", port: 1 },
      { name: "a", port: 2 },
      { name: "a", port: 1 },
    ],
  },
  "lacks keys": { entries: [{}, { value: 1 }] },
  "has items that are no objects": { entries: ["x"] },
  "has an embedded resource": {
    template: {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "a", unknown: 1 },
      spec: { x: 1 },
    },
  },
  "has an embedded resource without a kind": { template: { spec: {} } },
  "has an embedded resource with wrong metadata": {
    template: {
      apiVersion: "a/b/c",
      kind: "no_good",
      metadata: { name: "a/b", labels: { "": "x" } },
    },
  },
  "has formats in order": {
    date: "2024-02-29",
    time: "2024-02-29T00:00:00Z",
    duration: "1h",
    ipv4: "10.0.0.1",
    ipv6: "::1",
    cidr: "10.0.0.0/8",
    uri: "https://example.com",
    email: "a@b.c",
    hostname: "a.example.com",
    uuid: "123e4567-e89b-12d3-a456-426614174000",
    bytes: "aGk=",
    mac: "01:23:45:67:89:ab",
    label: "abc",
  },
  "has formats out of order": {
    date: "2024-02-30",
    time: "yesterday",
    duration: "long",
    ipv4: "10.0.0",
    ipv6: "10.0.0.1",
    cidr: "10.0.0.0/99",
    uri: "no uri",
    email: "nobody",
    hostname: "-x-",
    uuid: "123",
    bytes: "!",
    mac: "01:23",
    label: "A_b",
  },
  "has none of two": { choice: {} },
  "has both of two": { choice: { a: "x", b: "y" } },
  "has one of two": { choice: { a: "x" } },
  "has some": { some: { b: 5 } },
  "has not enough": { some: { a: "ab" } },
  "has nothing of some": { some: {} },
  "has what it must not": { never: "no" },
  "has a negative scale": { replicas: -1 },
  "has a scale too large": { replicas: 3_000_000_000 },
  "breaks rules": { ruled: { min: 5, max: 1 } },
  "breaks rules with reasons": { ruled: { min: 13, max: 100 } },
  "breaks a rule about duplicates": { ruled: { min: 14 } },
  "breaks rules and the schema": { ruled: { min: "x", max: 1 }, count: 99 },
  "is accepted by its rules": { ruled: { min: 1, max: 5, fixed: "a", grown: 5 } },
};

/** Metadata and the rest of new objects, over `spec: {}`. */
export const objectCases: Readonly<Record<string, Json>> = {
  "has a name too long for its schema": { metadata: { name: "a-name-longer-than-twenty-letters" } },
  "has a bad name": { metadata: { name: "Bad_Name" } },
  "has no name": { metadata: {} },
  "has unknown metadata": { metadata: { name: "unknown-meta", colour: "red" } },
  "has labels that are numbers": { metadata: { name: "number-labels", labels: { a: 1 } } },
  "has bad labels": { metadata: { name: "bad-labels", labels: { "a b": "c d" } } },
  "has unknown fields beside spec": { metadata: { name: "beside" }, extra: { a: 1 } },
  "has a status": { metadata: { name: "with-status" }, status: { phase: "Nowhere" } },
  "is of another kind": { metadata: { name: "other-kind" }, kind: "Other" },
  "is of another version": {
    metadata: { name: "other-version" },
    apiVersion: "cases.example.com/v9",
    // Without a spec: the real server would also report that this version has none.
    spec: undefined,
  },
  "has no kind": { metadata: { name: "no-kind" }, kind: "" },
  "has no version": { metadata: { name: "no-version" }, apiVersion: "" },
  "is in another namespace": { metadata: { name: "elsewhere", namespace: "kube-system" } },
};

/** Patches of accepted objects. */
export interface ChangeCase {
  readonly from: unknown;
  readonly patch: Json;
  readonly subresource?: "status" | "scale";
}

const old = { fixed: "a", grown: 5, min: 1, max: 5 };

export const changeCases: Readonly<Record<string, ChangeCase>> = {
  "changes nothing": { from: { count: 5 }, patch: { spec: { count: 5 } } },
  "changes the spec": { from: { count: 5 }, patch: { spec: { count: 6 } } },
  "changes a label": { from: { count: 5 }, patch: { metadata: { labels: { a: "b" } } } },
  "changes the status by the way": { from: {}, patch: { status: { phase: "Open" } } },
  "changes to what is wrong": { from: { count: 5 }, patch: { spec: { count: 99 } } },
  "changes what is fixed": { from: { ruled: old }, patch: { spec: { ruled: { fixed: "b" } } } },
  "keeps what is fixed": { from: { ruled: old }, patch: { spec: { ruled: { max: 7 } } } },
  "removes what is fixed": { from: { ruled: old }, patch: { spec: { ruled: { fixed: null } } } },
  "shrinks what must grow": { from: { ruled: old }, patch: { spec: { ruled: { grown: 4 } } } },
  "lets grow": { from: { ruled: old }, patch: { spec: { ruled: { grown: 6 } } } },
  "sets a status": { from: {}, patch: { status: { phase: "Open" } }, subresource: "status" },
  "sets a wrong status": {
    from: {},
    patch: { status: { phase: "Ajar", note: "far too long", replicas: -1 } },
    subresource: "status",
  },
  "sets a spec through the status": {
    from: { count: 5 },
    patch: { spec: { count: 7 }, metadata: { labels: { a: "b" } }, status: { phase: "Open" } },
    subresource: "status",
  },
  "sets a scale": { from: { replicas: 1 }, patch: { spec: { replicas: 4 } }, subresource: "scale" },
  "sets a scale where there was none": {
    from: {},
    patch: { spec: { replicas: 4 } },
    subresource: "scale",
  },
  "sets a negative scale": {
    from: { replicas: 1 },
    patch: { spec: { replicas: -4 } },
    subresource: "scale",
  },
};
