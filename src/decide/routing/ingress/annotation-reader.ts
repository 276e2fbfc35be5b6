// The annotations of one Ingress that are meant for the ingress, each read at most once and reported
// when it is wrong. `lockstep.dev/…` and `nginx.ingress.kubernetes.io/…` have the same names; where an
// Ingress has both, Lockstep's own counts.
import type { StringMap } from "../../../kube/kinds/intern.ts";
import type { ProblemReason } from "../route.ts";
import { plain } from "../shown-text.ts";
import type { Parse } from "./annotation-values.ts";

/** Lockstep's own first. */
export const annotationPrefixes = ["lockstep.dev/", "nginx.ingress.kubernetes.io/"] as const;

export type ReportProblem = (reason: ProblemReason, message: string) => void;

interface Annotation {
  readonly fullName: string;
  readonly text: string;
}

export class AnnotationReader {
  readonly #annotations: ReadonlyMap<string, Annotation>;
  readonly #report: ReportProblem;

  constructor(annotations: StringMap, report: ReportProblem) {
    this.#annotations = annotationsOf(annotations);
    this.#report = report;
  }

  /** Without their prefix. */
  get names(): Iterable<string> {
    return this.#annotations.keys();
  }

  get isEmpty(): boolean {
    return this.#annotations.size === 0;
  }

  has(name: string): boolean {
    return this.#annotations.has(name);
  }

  /** With its prefix, as the Ingress has it. */
  fullName(name: string): string {
    return this.#annotations.get(name)?.fullName ?? name;
  }

  /** Undefined when it is absent or wrong; then what is used instead is reported as well. */
  read<Value>(name: string, parse: Parse<Value>, instead = "so it is ignored"): Value | undefined {
    const found = this.#annotations.get(name);
    if (found === undefined) return undefined;
    const parsed = parse(found.text);
    if ("value" in parsed) return parsed.value;
    this.report(name, `${parsed.problem}, ${instead}`);
    return undefined;
  }

  /** The text as it is; empty when the annotation is absent. */
  text(name: string): string {
    return this.#annotations.get(name)?.text ?? "";
  }

  report(name: string, message: string, reason: ProblemReason = "AnnotationIgnored"): void {
    this.#report(reason, `annotation ${plain(this.fullName(name))}: ${message}`);
  }
}

/** Longer names are none of ours; the API server takes up to 63 characters after the prefix. */
const maxNameLength = 63;

function annotationsOf(annotations: StringMap): ReadonlyMap<string, Annotation> {
  const found = new Map<string, Annotation>();
  for (const prefix of annotationPrefixes) {
    for (const [fullName, text] of Object.entries(annotations)) {
      if (!fullName.startsWith(prefix)) continue;
      const name = fullName.slice(prefix.length);
      // An empty value means, as it does to ingress-nginx, that the annotation is not there.
      if (name === "" || name.length > maxNameLength || text === "" || found.has(name)) continue;
      found.set(name, { fullName, text });
    }
  }
  return found;
}
