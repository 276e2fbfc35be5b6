// The differences between versions of kube-apiserver in the `kubernetes` service, as data. The values
// are in the files of the versions.

/** `--endpoint-reconciler-type`. */
export type ReconcilerType = "master-count" | "lease" | "none";

export interface KubernetesServiceRules {
  readonly defaultType: ReconcilerType;
  /** `after-work` waits the interval after each round, so rounds drift; `fixed` keeps the beat. */
  readonly spacing: "after-work" | "fixed";
  /** Whether the first round of a process corrects the ports; later rounds never do. */
  readonly firstSetsPorts: boolean;
  /** Whether the Endpoints have the label against a mirrored slice: the server writes its own. */
  readonly skipMirrorLabel: boolean;
  /** How Go prints the object: a struct of the internal API, or the generated text of v1. */
  readonly printed: "internal" | "v1-1.17" | "v1";
  /** Whether the removal of the last address is refused as well. */
  readonly keepsLastAddress: boolean;
  /** The error when the list of leases is empty. */
  readonly noLeases: string;
  /**
   * `listener-first`: SIGTERM closes the listener while the server removes its address, so that its
   * own requests are refused. `service-first`: it closes after the removal.
   */
  readonly stopOrder: "listener-first" | "service-first";
  /** The removal of an old address at the start; undefined where the version has none. */
  readonly staleRemoval: StaleRemoval | undefined;
  readonly removalFailedPrefix: string;
  /** Whether Go quotes the URL of a failed request: since Go 1.14. */
  readonly quotesUrls: boolean;
  /** File and line of the log lines. */
  readonly sources: {
    /** The subsets were replaced; printed with %#v. */
    readonly remade: string;
    readonly masterCount: string;
    readonly lease: string;
    readonly failed: string;
    /** Undefined where a stop does nothing. */
    readonly stopping: string | undefined;
    readonly removalFailed: string;
  };
}

interface StaleRemoval {
  readonly source: { readonly found: string; readonly failed: string };
  /** Logged when the removal succeeds. */
  readonly found: string | undefined;
  /** Before the error. */
  readonly failed: string;
  /** Whether a lease that does not exist is no error. */
  readonly ignoresMissing: boolean;
}

/** The text of 1.9 and 1.17. */
export const noLeasesOld =
  "no master IPs were listed in storage, refusing to erase all endpoints for the kubernetes service";
