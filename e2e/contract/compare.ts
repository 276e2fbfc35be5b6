// Where two transcripts of one case differ: a list of places, each with what either server said.
// Nothing is summed up, so that a known difference can be as narrow as one field.
import type { Step, Transcript } from "./contract-case.ts";

export interface Difference {
  /** `validation: a Service without ports`. */
  readonly case: string;
  /** The request of the step, with what differs between servers taken out. */
  readonly request: string;
  /** `status`, `headers.warning`, `body.metadata.labels`: dots between, brackets round indexes. */
  readonly place: string;
  /** Undefined: the place does not exist there. */
  readonly real: unknown;
  readonly embedded: unknown;
}

export function differences(
  name: string,
  real: Transcript,
  embedded: Transcript,
): readonly Difference[] {
  const found: Difference[] = [];
  const count = Math.max(real.length, embedded.length);
  for (let index = 0; index < count; index++) {
    const theirs = real[index];
    const ours = embedded[index];
    const request = (theirs ?? ours)?.request ?? "";
    const add = (place: string, a: unknown, b: unknown): void => {
      found.push({ case: name, request, place, real: a, embedded: b });
    };
    compareSteps(theirs, ours, add);
  }
  return found;
}

type Add = (place: string, real: unknown, embedded: unknown) => void;

function compareSteps(real: Step | undefined, embedded: Step | undefined, add: Add): void {
  if (real === undefined || embedded === undefined) {
    add("step", real, embedded);
    return;
  }
  compareValues("request", real.request, embedded.request, add);
  compareValues("status", real.status, embedded.status, add);
  compareValues("headers", real.headers, embedded.headers, add);
  compareValues("body", real.body, embedded.body, add);
}

function compareValues(place: string, real: unknown, embedded: unknown, add: Add): void {
  if (Array.isArray(real) && Array.isArray(embedded)) {
    const count = Math.max(real.length, embedded.length);
    for (let index = 0; index < count; index++) {
      compareValues(`${place}[${index}]`, real[index], embedded[index], add);
    }
  } else if (isObject(real) && isObject(embedded)) {
    for (const key of new Set([...Object.keys(real), ...Object.keys(embedded)])) {
      compareValues(`${place}.${key}`, real[key], embedded[key], add);
    }
  } else if (real !== embedded) {
    add(place, real, embedded);
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
