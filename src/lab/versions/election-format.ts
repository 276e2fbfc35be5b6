// The leader election of a version and its log lines: leaderelection.go of client-go (in 1.7
// pkg/client/leaderelection) and cmd/kube-controller-manager/app/controllermanager.go. The values are in
// the files of the versions; here are the lines that versions share.
import { structured } from "../../components/klog.ts";
import type { TryStep } from "../leader/client-go-election.ts";

export interface ElectionFormat {
  /** Up to 1.9 two processes on one machine are the same candidate. */
  readonly identity: "host" | "host-and-uuid";
  readonly waitsFor: "own duration" | "recorded duration";
  readonly renewsUnread: boolean;
  readonly attempting: (lock: string) => ElectionLine;
  readonly acquired: (lock: string) => ElectionLine;
  readonly notRenewed: (lock: string) => ElectionLine;
  readonly failed: (at: TryStep, lock: string, error: string) => FailedLine;
  /** The last line of the process. */
  readonly lost: {
    readonly source: string;
    readonly severity: "E" | "F";
    readonly text: string;
  };
  /** Whether a metric shows the leader: since 1.16. */
  readonly hasGauge: boolean;
}

export interface ElectionLine {
  readonly line: number;
  readonly text: string;
}

export interface FailedLine extends ElectionLine {
  readonly severity: "I" | "E";
  /** Logged at this verbosity and above. */
  readonly verbosity: number;
}

export function acquired(line: number): ElectionFormat["acquired"] {
  return (lock) => ({ line, text: `successfully acquired lease ${lock}` });
}

export function failed(lines: Readonly<Record<TryStep, number>>): ElectionFormat["failed"] {
  return (at, lock, error) => ({
    line: lines[at],
    text: failedText(at, lock, error),
    severity: "E",
    verbosity: 0,
  });
}

function failedText(at: TryStep, lock: string, error: string): string {
  switch (at) {
    case "read":
      return `error retrieving resource lock ${lock}: ${error}`;
    case "create":
      return `error initially creating leader election record: ${error}`;
    case "update":
      return `Failed to update lock: ${error}`;
    case "unread update":
      return `Failed to update lock optimistically: ${error}, falling back to slow path`;
  }
}

/** klog's Error names the error before the other values. */
export function failed136(at: TryStep, lock: string, err: string): FailedLine {
  const asError = (line: number, message: string): FailedLine => ({
    line,
    text: structured(message, { err, lock }),
    severity: "E",
    verbosity: 0,
  });
  switch (at) {
    case "read":
      return asError(461, "Error retrieving lease lock");
    case "create":
      return asError(465, "Error initially creating lease lock");
    case "update":
      return asError(497, "Failed to update lease");
    case "unread update": {
      const message = "Failed to update lease optimistically, falling back to slow path";
      return { line: 454, text: structured(message, { lock, err }), severity: "I", verbosity: 2 };
    }
  }
}
