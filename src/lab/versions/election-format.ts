// How the leader election of each version behaves and what it logs: client-go's (in 1.7 still
// pkg/client/leaderelection) leaderelection.go and cmd/kube-controller-manager/app/
// controllermanager.go. All of them write sentences up to 1.33.
import { structured } from "../../components/klog.ts";
import type { TryStep } from "../leader/client-go-election.ts";
import type { ProfileName } from "./profiles.ts";

export interface ElectionForm {
  /** Up to 1.9 two processes on one machine are the same candidate. */
  readonly identity: "host" | "host-and-uuid";
  readonly waitsFor: "own duration" | "recorded duration";
  readonly renewsUnread: boolean;
  readonly attempting: (lock: string) => ElectionLine;
  readonly acquired: (lock: string) => ElectionLine;
  readonly notRenewed: (lock: string) => ElectionLine;
  readonly failed: (at: TryStep, lock: string, error: string) => FailedLine;
  /** What the process writes last. */
  readonly lost: {
    readonly source: string;
    readonly severity: "E" | "F";
    readonly text: string;
  };
  /** Whether a metric says who leads: since 1.16. */
  readonly hasGauge: boolean;
}

export interface ElectionLine {
  readonly line: number;
  readonly text: string;
}

export interface FailedLine extends ElectionLine {
  readonly severity: "I" | "E";
  /** From which on it is logged. */
  readonly verbosity: number;
}

function acquired(line: number): ElectionForm["acquired"] {
  return (lock) => ({ line, text: `successfully acquired lease ${lock}` });
}

function failed(lines: Readonly<Record<TryStep, number>>): ElectionForm["failed"] {
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

const kubernetes17: ElectionForm = {
  identity: "host",
  waitsFor: "own duration",
  renewsUnread: false,
  attempting: () => ({ line: 179, text: "attempting to acquire leader lease..." }),
  acquired: acquired(189),
  notRenewed: (lock) => ({ line: 208, text: `failed to renew lease ${lock}` }),
  failed: failed({ read: 229, create: 233, update: 263, "unread update": 263 }),
  lost: { source: "controllermanager.go:220", severity: "F", text: "leaderelection lost" },
  hasGauge: false,
};

const kubernetes19: ElectionForm = {
  ...kubernetes17,
  attempting: () => ({ line: 174, text: "attempting to acquire leader lease..." }),
  acquired: acquired(184),
  notRenewed: (lock) => ({
    line: 203,
    text: `failed to renew lease ${lock}: timed out waiting for the condition`,
  }),
  failed: failed({ read: 224, create: 228, update: 258, "unread update": 258 }),
  lost: { source: "controllermanager.go:194", severity: "F", text: "leaderelection lost" },
};

const kubernetes117: ElectionForm = {
  identity: "host-and-uuid",
  waitsFor: "own duration",
  renewsUnread: false,
  attempting: (lock) => ({ line: 242, text: `attempting to acquire leader lease  ${lock}...` }),
  acquired: acquired(252),
  notRenewed: (lock) => ({
    line: 288,
    text: `failed to renew lease ${lock}: failed to tryAcquireOrRenew context deadline exceeded`,
  }),
  failed: failed({ read: 331, create: 335, update: 367, "unread update": 367 }),
  lost: { source: "controllermanager.go:279", severity: "F", text: "leaderelection lost" },
  hasGauge: true,
};

const kubernetes133: ElectionForm = {
  identity: "host-and-uuid",
  waitsFor: "recorded duration",
  renewsUnread: true,
  attempting: (lock) => ({ line: 257, text: `attempting to acquire leader lease ${lock}...` }),
  acquired: acquired(271),
  notRenewed: (lock) => ({
    line: 297,
    text: `failed to renew lease ${lock}: context deadline exceeded`,
  }),
  failed: failed({ read: 436, create: 440, update: 472, "unread update": 429 }),
  lost: {
    source: "controllermanager.go:340",
    severity: "E",
    text: structured("leaderelection lost", {}),
  },
  hasGauge: true,
};

const kubernetes136: ElectionForm = {
  ...kubernetes133,
  attempting: (lock) => ({
    line: 258,
    text: structured("Attempting to acquire leader lease...", { lock }),
  }),
  acquired: (lock) => ({ line: 272, text: structured("Successfully acquired lease", { lock }) }),
  notRenewed: (lock) => ({
    line: 304,
    text: structured("Failed to renew lease", { lock, err: "context deadline exceeded" }),
  }),
  failed: failed136,
  lost: {
    source: "controllermanager.go:413",
    severity: "E",
    text: structured("leaderelection lost/stopped", {}),
  },
};

/** klog's Error names the error before the other values. */
function failed136(at: TryStep, lock: string, err: string): FailedLine {
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

const forms: Readonly<Record<ProfileName, ElectionForm>> = {
  "1.7": kubernetes17,
  "1.9": kubernetes19,
  "1.17.3": kubernetes117,
  "1.17.13": kubernetes117,
  "1.33": kubernetes133,
  "1.36": kubernetes136,
};

export function electionForm(name: ProfileName): ElectionForm {
  return forms[name];
}
