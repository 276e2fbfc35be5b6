// The structured log lines about a failed key: one at each retry, and two when the key is dropped, of
// the controller and of runtime.HandleError.

import { structured } from "../../../components/klog.ts";
import type { FailureLines } from "../../versions/profile.ts";

export interface StructuredFailures {
  /** `endpoints-controller`. */
  readonly logger: string;
  /** The name of the key in the line. */
  readonly key: string;
  /** `endpoints_controller.go`. */
  readonly file: string;
  readonly retrying: {
    readonly line: number;
    readonly message: string;
    readonly verbosity: number;
  };
  readonly dropped: { readonly line: number; readonly message: string };
  /** Where the error is handed to runtime.HandleError. */
  readonly handledLine: number;
}

export function structuredFailures(failures: StructuredFailures): FailureLines {
  const { logger, key: name, file, retrying, dropped, handledLine } = failures;
  const saying = (message: string) => (key: string, err: string) =>
    structured(message, { logger, [name]: key, err });
  return {
    retrying: {
      severity: "I",
      source: `${file}:${retrying.line}`,
      verbosity: retrying.verbosity,
      text: saying(retrying.message),
    },
    dropped: [
      {
        severity: "I",
        source: `${file}:${dropped.line}`,
        verbosity: 0,
        text: saying(dropped.message),
      },
      {
        severity: "E",
        source: `${file}:${handledLine}`,
        verbosity: 0,
        // staging/src/k8s.io/apimachinery/pkg/util/runtime/runtime.go logError.
        text: (_, err) => structured("Unhandled Error", { err, logger: "UnhandledError" }),
      },
    ],
  };
}
