// How the leader election of each version behaves and what it logs: client-go's (in 1.7 still
// pkg/client/leaderelection) leaderelection.go and cmd/kube-controller-manager/app/
// controllermanager.go. All of them write sentences, 1.33 too.
import type { ProfileName } from "../controllers/profiles.ts";
import type { TryStep } from "../leader/client-go-election.ts";

export interface ElectionForm {
  /** Up to 1.9 two processes on one machine are the same candidate. */
  readonly identity: "host" | "host-and-uuid";
  readonly waitsFor: "own duration" | "recorded duration";
  readonly renewsUnread: boolean;
  readonly attempting: (lock: string) => ElectionLine;
  /** Its line in the source. */
  readonly acquired: number;
  readonly notRenewed: (lock: string) => ElectionLine;
  readonly failed: Readonly<Record<TryStep, number>>;
  /** What the process writes last. */
  readonly lost: { readonly source: string; readonly severity: "E" | "F" };
  /** Whether a metric says who leads: since 1.16. */
  readonly hasGauge: boolean;
}

export interface ElectionLine {
  readonly line: number;
  readonly text: string;
}

export function failedText(at: TryStep, lock: string, error: string): string {
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
  acquired: 189,
  notRenewed: (lock) => ({ line: 208, text: `failed to renew lease ${lock}` }),
  failed: { read: 229, create: 233, update: 263, "unread update": 263 },
  lost: { source: "controllermanager.go:220", severity: "F" },
  hasGauge: false,
};

const kubernetes19: ElectionForm = {
  ...kubernetes17,
  attempting: () => ({ line: 174, text: "attempting to acquire leader lease..." }),
  acquired: 184,
  notRenewed: (lock) => ({
    line: 203,
    text: `failed to renew lease ${lock}: timed out waiting for the condition`,
  }),
  failed: { read: 224, create: 228, update: 258, "unread update": 258 },
  lost: { source: "controllermanager.go:194", severity: "F" },
};

const kubernetes117: ElectionForm = {
  identity: "host-and-uuid",
  waitsFor: "own duration",
  renewsUnread: false,
  attempting: (lock) => ({ line: 242, text: `attempting to acquire leader lease  ${lock}...` }),
  acquired: 252,
  notRenewed: (lock) => ({
    line: 288,
    text: `failed to renew lease ${lock}: failed to tryAcquireOrRenew context deadline exceeded`,
  }),
  failed: { read: 331, create: 335, update: 367, "unread update": 367 },
  lost: { source: "controllermanager.go:279", severity: "F" },
  hasGauge: true,
};

const kubernetes133: ElectionForm = {
  identity: "host-and-uuid",
  waitsFor: "recorded duration",
  renewsUnread: true,
  attempting: (lock) => ({ line: 257, text: `attempting to acquire leader lease ${lock}...` }),
  acquired: 271,
  notRenewed: (lock) => ({
    line: 297,
    text: `failed to renew lease ${lock}: context deadline exceeded`,
  }),
  failed: { read: 436, create: 440, update: 472, "unread update": 429 },
  lost: { source: "controllermanager.go:340", severity: "E" },
  hasGauge: true,
};

const forms: Readonly<Record<ProfileName, ElectionForm>> = {
  "1.7": kubernetes17,
  "1.9": kubernetes19,
  "1.17.3": kubernetes117,
  "1.17.13": kubernetes117,
  "1.33": kubernetes133,
};

export function electionForm(name: ProfileName): ElectionForm {
  return forms[name];
}
