// Differences between the releases of ingress-nginx that stock can model, in leader election and
// status: the lock, the version of client-go, and the texts in the log. Log lines are
// `file.go:line` and text as that release writes them.

import { type Severity, structured } from "../../components/klog.ts";
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import type { LockReference } from "../../kube/leader/lease-record.ts";
import type { ClientGoElectionOptions, TryStep } from "../leader/client-go-election.ts";

export type StockReleaseName = "0.25.1" | "1.15.1";

/** Severity, `file.go:line` and message. */
export type StockLine = readonly [severity: Severity, source: string, message: string];

export interface StockRelease extends Pick<ClientGoElectionOptions, "waitsFor" | "renewsUnread"> {
  readonly lockKind: LockReference["kind"];
  /** From `--election-id` and `--ingress-class`. */
  readonly lockName: (electionId: string, ingressClass: string) => string;
  /** The pods whose nodes count for the status: all running pods, or only ready ones. */
  readonly counts: "running pods" | "ready pods";
  /** GetNodeIPOrName, later GetNodeIPs, in internal/k8s/main.go. */
  readonly takes: "first address" | "every address";
  readonly lines: {
    /** `lock` is `namespace/name`. */
    readonly attempting: (lock: string) => StockLine;
    readonly acquired: (lock: string) => StockLine;
    readonly lost: (lock: string) => StockLine;
    readonly failed: (lock: string, at: TryStep, text: string) => StockLine;
    readonly elected: (identity: string) => StockLine;
    readonly updating: (ingress: UpdatedIngress) => StockLine;
    readonly updateFailed: (text: string) => StockLine;
    readonly leavingToNext: (addresses: number) => StockLine;
    readonly removing: (addresses: readonly LoadBalancerAddress[]) => StockLine;
  };
}

export interface UpdatedIngress {
  readonly namespace: string;
  readonly name: string;
  readonly from: readonly LoadBalancerAddress[];
  readonly to: readonly LoadBalancerAddress[];
}

/** Built with client-go of Kubernetes 1.15 (vendor/ of that release). */
const release0251: StockRelease = {
  lockKind: "ConfigMap",
  // Start in internal/ingress/controller/nginx.go: one leader for each class.
  lockName: (electionId, ingressClass) => `${electionId}-${ingressClass}`,
  waitsFor: "own duration",
  renewsUnread: false,
  counts: "running pods",
  takes: "first address",
  lines: {
    attempting: (lock) => [
      "I",
      "leaderelection.go:235",
      `attempting to acquire leader lease  ${lock}...`,
    ],
    acquired: (lock) => ["I", "leaderelection.go:245", `successfully acquired lease ${lock}`],
    lost: (lock) => [
      "I",
      "leaderelection.go:281",
      `failed to renew lease ${lock}: failed to tryAcquireOrRenew context deadline exceeded`,
    ],
    failed: (lock, at, text) => failed0251(lock, at, text),
    elected: (identity) => ["I", "status.go:86", `new leader elected: ${identity}`],
    updating: ({ namespace, name, from, to }) => [
      "I",
      "status.go:296",
      `updating Ingress ${namespace}/${name} status from ${goList(from)} to ${goList(to)}`,
    ],
    updateFailed: (text) => ["W", "status.go:300", `error updating ingress rule: ${text}`],
    leavingToNext: (addresses) => [
      "I",
      "status.go:127",
      `leaving status update for next leader (${addresses})`,
    ],
    removing: (addresses) => [
      "I",
      "status.go:136",
      `removing address from ingress status ([${addresses.map(nameOf).join(" ")}])`,
    ],
  },
};

function failed0251(lock: string, at: TryStep, text: string): StockLine {
  switch (at) {
    case "read":
      return ["E", "leaderelection.go:324", `error retrieving resource lock ${lock}: ${text}`];
    case "create":
      return [
        "E",
        "leaderelection.go:328",
        `error initially creating leader election record: ${text}`,
      ];
    case "update":
    case "unread update":
      return ["E", "leaderelection.go:359", `Failed to update lock: ${text}`];
  }
}

/** The last release, built with client-go v0.35.3. */
const release1151: StockRelease = {
  lockKind: "Lease",
  lockName: (electionId) => electionId,
  waitsFor: "recorded duration",
  renewsUnread: true,
  counts: "ready pods",
  takes: "every address",
  lines: {
    attempting: (lock) => [
      "I",
      "leaderelection.go:258",
      structured("Attempting to acquire leader lease...", { lock }),
    ],
    acquired: (lock) => [
      "I",
      "leaderelection.go:272",
      structured("Successfully acquired lease", { lock }),
    ],
    lost: (lock) => [
      "I",
      "leaderelection.go:299",
      structured("Failed to renew lease", { lock, err: "context deadline exceeded" }),
    ],
    failed: (lock, at, text) => failed1151(lock, at, text),
    elected: (identity) => ["I", "status.go:85", structured("New leader elected", { identity })],
    updating: ({ namespace, name, from, to }) => [
      "I",
      "status.go:311",
      `${structured("updating Ingress status", { namespace, ingress: name })} ` +
        `currentValue=${jsonList(from)} newValue=${to.length === 0 ? "[]" : jsonList(to)}`,
    ],
    updateFailed: (text) => ["W", "status.go:315", `error updating ingress rule: ${text}`],
    leavingToNext: () => [
      "I",
      "status.go:131",
      structured("leaving status update for next leader", {}),
    ],
    removing: (addresses) => [
      "I",
      "status.go:140",
      `${structured("removing value from ingress status", {})} address=${jsonList(addresses)}`,
    ],
  },
};

function failed1151(lock: string, at: TryStep, err: string): StockLine {
  const line = (source: number, message: string): StockLine => [
    "E",
    `leaderelection.go:${source}`,
    structured(message, { err, lock }),
  ];
  switch (at) {
    case "read":
      return line(452, "Error retrieving lease lock");
    case "create":
      return line(456, "Error initially creating lease lock");
    case "update":
      return line(488, "Failed to update lease");
    case "unread update":
      return line(445, "Failed to update lease optimistically, falling back to slow path");
  }
}

/** As `%v` prints a list of structs: `[{192.0.2.1 }]`. */
function goList(addresses: readonly LoadBalancerAddress[]): string {
  return `[${addresses.map(({ ip, hostname }) => `{${ip} ${hostname}}`).join(" ")}]`;
}

/** As structured logging prints a list of structs; one that was never set is `null`. */
function jsonList(addresses: readonly LoadBalancerAddress[]): string {
  if (addresses.length === 0) return "null";
  return JSON.stringify(
    addresses.map(({ ip, hostname }) => ({
      ...(ip !== "" && { ip }),
      ...(hostname !== "" && { hostname }),
    })),
  );
}

function nameOf({ ip, hostname }: LoadBalancerAddress): string {
  return ip || hostname;
}

export const stockReleases: Readonly<Record<StockReleaseName, StockRelease>> = {
  "0.25.1": release0251,
  "1.15.1": release1151,
};
