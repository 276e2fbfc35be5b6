// Events. Two groups serve the same objects: the core group in its old form, in which they are
// stored, and events.k8s.io, with other field names and stricter rules.
import { sameJson } from "../../kube/kinds/same-json.ts";
import { conform } from "../decode/conform.ts";
import type { KubeObject } from "../kube-object.ts";
import { type KindColumns, nameColumn, nameOf, textColumn, wideColumn } from "../tables/columns.ts";
import { ageAt } from "../tables/human-duration.ts";
import type { FieldErrors } from "./field-errors.ts";
import { isJsonObject, type JsonObject, numberAt, objectAt, textAt } from "./fields.ts";
import { pathSegmentName, qualifiedName } from "./names.ts";
import { validateImmutable } from "./object-meta.ts";
import { defineKind } from "./resource-kind.ts";

const eventColumns: KindColumns = {
  columns: [
    textColumn("Last Seen", "Time since it was last seen."),
    textColumn("Type", "Normal or Warning."),
    textColumn("Reason", "Why it happened, in one word."),
    textColumn("Object", "What it happened to."),
    wideColumn("Subobject", "Which part of the object it is about."),
    wideColumn("Source", "The component that reports it."),
    textColumn("Message", "What happened."),
    wideColumn("First Seen", "Time since it was first seen."),
    wideColumn("Count", "How often it was seen."),
    { ...nameColumn, priority: 1 },
  ],
  cells(event, now) {
    const { about, source, message, first, last, count } = fieldsOf(event);
    const began = ageAt(first || textAt(event, "eventTime"), now);
    const series = objectAt(event, "series");
    const name = textAt(about, "name");
    return [
      series === undefined
        ? last === ""
          ? began
          : ageAt(last, now)
        : ageAt(textAt(series, "lastObservedTime"), now),
      textAt(event, "type"),
      textAt(event, "reason"),
      textAt(about, "kind").toLowerCase() + (name === "" ? "" : `/${name}`),
      textAt(about, "fieldPath"),
      sourceText(event, source),
      message.trim(),
      began,
      series === undefined ? count || 1 : (numberAt(series, "count") ?? 0),
      nameOf(event),
    ];
  },
};

const referenceFields = [
  "kind",
  "namespace",
  "name",
  "uid",
  "apiVersion",
  "resourceVersion",
  "fieldPath",
];

export const coreEventKind = defineKind({
  kind: "Event",
  resource: "events",
  shortNames: ["ev"],
  namespaced: true,
  schema: "core.v1.Event",
  columns: eventColumns,
  nameRule: pathSegmentName,
  createOnUpdate: true,
  selectableFields: {
    ...referenceSelectors("involvedObject"),
    reason: (event) => textAt(event, "reason"),
    reportingComponent: (event) => textAt(event, "reportingComponent"),
    source: (event) => textAt(event, "source", "component"),
    type: (event) => textAt(event, "type"),
  },
  validate(event, errors) {
    validateEvent(event, "reportingComponent", errors);
  },
});

export const eventKind = defineKind({
  group: "events.k8s.io",
  kind: "Event",
  resource: "events",
  shortNames: ["ev"],
  namespaced: true,
  schema: "events.v1.Event",
  columns: eventColumns,
  prefix: coreEventKind.prefix,
  createOnUpdate: true,
  selectableFields: {
    ...referenceSelectors("regarding"),
    reason: (event) => textAt(event, "reason"),
    reportingController: (event) => textAt(event, "reportingController"),
    type: (event) => textAt(event, "type"),
  },
  storedForm: { fromStorage: fromCore, toStorage: toCore },
  validate(event, errors) {
    validateEvent(toCore(event), "reportingController", errors);
  },
  validateNew(event, errors) {
    validateNewEvent(toCore(event), errors);
  },
  validateUpdate(event, current, errors) {
    validateChangedEvent(toCore(event), toCore(current), errors);
  },
});

function referenceSelectors(field: string): Record<string, (event: KubeObject) => string> {
  return Object.fromEntries(
    referenceFields.map((name) => [`${field}.${name}`, (event) => textAt(event, field, name)]),
  );
}

/** Names in events.k8s.io → names in the core group, where they differ. */
const renamed = {
  deprecatedCount: "count",
  deprecatedFirstTimestamp: "firstTimestamp",
  deprecatedLastTimestamp: "lastTimestamp",
  deprecatedSource: "source",
  note: "message",
  regarding: "involvedObject",
  reportingController: "reportingComponent",
};

function toCore(event: KubeObject): KubeObject {
  return withNames(event, Object.entries(renamed), coreEventKind.schema, "v1");
}

function fromCore(event: KubeObject): KubeObject {
  const back = Object.entries(renamed).map(([ours, core]): [string, string] => [core, ours]);
  return withNames(event, back, "events.v1.Event", "events.k8s.io/v1");
}

/** In the one order of fields of the other type. */
function withNames(
  event: KubeObject,
  names: readonly (readonly [from: string, to: string])[],
  schema: string,
  apiVersion: string,
): KubeObject {
  const result: JsonObject = { ...event };
  for (const [from, to] of names) {
    delete result[from];
    if (event[from] !== undefined) {
      result[to] = event[from];
    }
  }
  const { metadata } = event;
  return { ...conform(schema, result).value, kind: "Event", apiVersion, metadata };
}

/** Bounds of the texts of an event, as in Kubernetes. */
const reasonMaxLength = 128;
const noteMaxLength = 1024;

/** Rules for both groups, about an event in the core form. */
function validateEvent(event: KubeObject, controllerField: string, errors: FieldErrors): void {
  const own = event.metadata.namespace ?? "";
  const namespace = textAt(event, "involvedObject", "namespace");
  const isNew = textAt(event, "eventTime") !== "";
  const freeNamespaces = isNew ? ["default", "kube-system"] : ["default", ""];
  const isFitting = namespace === "" ? freeNamespaces.includes(own) : isNew || namespace === own;
  if (!isFitting) {
    errors.invalid("involvedObject.namespace", namespace, "does not match event.namespace");
  }
  if (isNew) {
    const controller = textAt(event, "reportingComponent");
    if (controller === "") {
      errors.required(controllerField);
    }
    errors.invalidForEach(controllerField, controller, qualifiedName(controller));
    requireShort(event, "reportingInstance", errors);
    requireShort(event, "action", errors);
    requireShort(event, "reason", errors);
    if (textAt(event, "message").length > noteMaxLength) {
      errors.invalid("message", "", `can have at most ${noteMaxLength} characters`);
    }
  }
}

function requireShort(event: KubeObject, field: string, errors: FieldErrors): void {
  const text = textAt(event, field);
  if (text === "") {
    errors.required(field);
  }
  if (text.length > reasonMaxLength) {
    errors.invalid(field, "", `can have at most ${reasonMaxLength} characters`);
  }
}

/** Required fields of a new Event in events.k8s.io, and fields that only the core form has. */
function validateNewEvent(event: KubeObject, errors: FieldErrors): void {
  validateSeries(event, errors);
  if (textAt(event, "eventTime") === "") {
    errors.required("eventTime");
  }
  const type = textAt(event, "type");
  if (type !== "Normal" && type !== "Warning") {
    errors.invalid("type", "", `has invalid value: ${type}`);
  }
  const source = event["source"];
  const isSet = {
    firstTimestamp: textAt(event, "firstTimestamp") !== "",
    lastTimestamp: textAt(event, "lastTimestamp") !== "",
    count: (numberAt(event, "count") ?? 0) !== 0,
    source: isJsonObject(source) && Object.keys(source).length > 0,
  };
  for (const [field, isWrong] of Object.entries(isSet)) {
    if (isWrong) {
      errors.invalid(field, "", "needs to be unset");
    }
  }
}

const immutableFields = [
  "involvedObject",
  "reason",
  "message",
  "source",
  "firstTimestamp",
  "lastTimestamp",
  "count",
  "reason",
  "type",
  "eventTime",
  "action",
  "related",
];

/** Only the series of an event goes on. */
function validateChangedEvent(event: KubeObject, current: KubeObject, errors: FieldErrors): void {
  if (!sameJson(event["series"], current["series"])) {
    validateSeries(event, errors);
  }
  for (const field of immutableFields) {
    validateImmutable(field, event[field], current[field], errors);
  }
  const { reportingComponent: controller, reportingInstance: instance } = current;
  validateImmutable("reportingController", event["reportingComponent"], controller, errors);
  validateImmutable("reportingInstance", event["reportingInstance"], instance, errors);
}

function validateSeries(event: KubeObject, errors: FieldErrors): void {
  const { series } = event;
  if (!isJsonObject(series)) {
    return;
  }
  if ((numberAt(series, "count") ?? 0) < 2) {
    errors.invalid("series.count", "", "should be at least 2");
  }
  if (textAt(series, "lastObservedTime") === "") {
    errors.required("series.lastObservedTime");
  }
}

interface EventFields {
  readonly about: JsonObject | undefined;
  readonly source: JsonObject | undefined;
  readonly message: string;
  readonly first: string;
  readonly last: string;
  readonly count: number;
}

function fieldsOf(event: JsonObject): EventFields {
  if (textAt(event, "apiVersion") !== "events.k8s.io/v1") {
    return {
      about: objectAt(event, "involvedObject"),
      source: objectAt(event, "source"),
      message: textAt(event, "message"),
      first: textAt(event, "firstTimestamp"),
      last: textAt(event, "lastTimestamp"),
      count: numberAt(event, "count") ?? 0,
    };
  }
  return {
    about: objectAt(event, "regarding"),
    source: objectAt(event, "deprecatedSource"),
    message: textAt(event, "note"),
    first: textAt(event, "deprecatedFirstTimestamp"),
    last: textAt(event, "deprecatedLastTimestamp"),
    count: numberAt(event, "deprecatedCount") ?? 0,
  };
}

function sourceText(event: JsonObject, source: JsonObject | undefined): string {
  const reporter = textAt(event, "reportingComponent") || textAt(event, "reportingController");
  const component = textAt(source, "component") || reporter;
  const instance = textAt(source, "host") || textAt(event, "reportingInstance");
  return instance === "" ? component : `${component}, ${instance}`;
}
