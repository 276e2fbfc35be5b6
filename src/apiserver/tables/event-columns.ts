// What a Table shows of an event, whichever of its two API groups it is read through: the older
// names of the fields stand in the core group, the newer ones in events.k8s.io.
import { type JsonObject, numberAt, objectAt, textAt } from "../kinds/fields.ts";
import { type KindColumns, nameColumn, nameOf, textColumn, wideColumn } from "./columns.ts";
import { ageAt } from "./human-duration.ts";

export const eventColumns: KindColumns = {
  columns: [
    textColumn("Last Seen", "Time since it was last seen."),
    textColumn("Type", "Normal or Warning."),
    textColumn("Reason", "Why it happened, in one word."),
    textColumn("Object", "What it happened to."),
    wideColumn("Subobject", "Which part of the object it is about."),
    wideColumn("Source", "Who reports it."),
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
