// The line every event a controller records leaves in its log, whether or not the event is told to
// the server: client-go tools/record/event.go StartLogging, and StartStructuredLogging where a
// controller of today uses that. By these lines one sees in a log what `kubectl get events` forgot.

import { type Klog, structured } from "../../../components/klog.ts";
import type { EventLines } from "../../versions/profile.ts";
import type { EventText, InvolvedObject } from "../event-recorder.ts";

export interface EventLogOptions {
  readonly klog: Klog;
  /** The process's verbosity. */
  readonly verbosity: number;
  readonly lines: EventLines;
  /** Absent for controllers that never took to structured lines. */
  readonly logger: string | undefined;
}

/** StartStructuredLogging(3), as every controller of the lab calls it. */
const structuredVerbosity = 3;

export class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  note(object: InvolvedObject, text: EventText): void {
    const { klog, verbosity, lines, logger } = this.#options;
    if (logger === undefined || lines.structured === undefined) {
      klog.write("I", lines.sentence, sentence(object, text));
    } else if (verbosity >= structuredVerbosity) {
      klog.write("I", lines.structured, occurred(logger, object, text));
    }
  }
}

/** The reference in Go's own syntax. */
function sentence(object: InvolvedObject, { type, reason, message }: EventText): string {
  const { kind, namespace, name, uid, apiVersion, resourceVersion } = object;
  const fields = Object.entries({
    Kind: kind,
    Namespace: namespace,
    Name: name,
    UID: uid,
    APIVersion: apiVersion,
    ResourceVersion: resourceVersion,
    FieldPath: "",
  }).map(([field, value]) => `${field}:${JSON.stringify(value ?? "")}`);
  const reference = `v1.ObjectReference{${fields.join(", ")}}`;
  return `Event(${reference}): type: '${type}' reason: '${reason}' ${message}`;
}

function occurred(
  logger: string,
  { kind, namespace, name, apiVersion = "" }: InvolvedObject,
  { type, reason, message }: EventText,
): string {
  const object = namespace === "" ? name : `${namespace}/${name}`;
  const said = { kind, apiVersion, type, reason, message };
  return structured("Event occurred", { logger, object, fieldPath: "", ...said });
}
