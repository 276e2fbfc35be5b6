// The differences between versions of kube-apiserver in the `kubernetes` service, as data. Every value
// names the Kubernetes source it was read from.
import type { ProfileName } from "../versions/profiles.ts";

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

const noLeasesOld =
  "no master IPs were listed in storage, refusing to erase all endpoints for the kubernetes service";

/** pkg/master/controller.go of 1.7, before the reconcilers had files of their own. */
const rules17: KubernetesServiceRules = {
  defaultType: "master-count",
  // RunKubernetesService: wait.Until.
  spacing: "after-work",
  // Start: UpdateKubernetesService(true).
  firstSetsPorts: true,
  skipMirrorLabel: false,
  printed: "internal",
  keepsLastAddress: true,
  noLeases: noLeasesOld,
  // It has no hook before the shutdown.
  stopOrder: "listener-first",
  staleRemoval: undefined,
  removalFailedPrefix: "",
  quotesUrls: false,
  sources: {
    remade: "controller.go:350",
    masterCount: "controller.go:386",
    // 1.9 brought the lease reconciler; before, there is only the count.
    lease: "controller.go:386",
    failed: "controller.go:162",
    stopping: undefined,
    removalFailed: "controller.go:141",
  },
};

/** pkg/master/reconcilers/{mastercount,lease}.go and pkg/master/controller.go of 1.9.11. */
const rules19: KubernetesServiceRules = {
  ...rules17,
  sources: {
    remade: "mastercount.go:99",
    masterCount: "mastercount.go:135",
    lease: "lease.go:223",
    failed: "controller.go:190",
    stopping: "controller.go:156",
    removalFailed: "controller.go:158",
  },
};

/** pkg/master/reconcilers and pkg/master/controller.go of 1.17.3; 1.17.13 has the same lines. */
const rules117: KubernetesServiceRules = {
  // cmd/kube-apiserver/app/options/options.go; the default since 1.11.
  defaultType: "lease",
  // RunKubernetesService: wait.NonSlidingUntil.
  spacing: "fixed",
  firstSetsPorts: false,
  // 1.19+.
  skipMirrorLabel: false,
  printed: "v1-1.17",
  keepsLastAddress: true,
  noLeases: noLeasesOld,
  // preparedGenericAPIServer.Run in pkg/server/genericapiserver.go of k8s.io/apiserver 0.17.3: one
  // channel ends the listener and lets the hooks run, as --shutdown-delay-duration is 0.
  stopOrder: "listener-first",
  staleRemoval: {
    source: { found: "", failed: "controller.go:151" },
    found: undefined,
    failed: "Unable to remove old endpoints from kubernetes service: ",
    ignoresMissing: false,
  },
  removalFailedPrefix: "",
  quotesUrls: false,
  sources: {
    remade: "mastercount.go:98",
    masterCount: "mastercount.go:134",
    lease: "lease.go:224",
    failed: "controller.go:222",
    stopping: "controller.go:180",
    removalFailed: "controller.go:183",
  },
};

/** pkg/controlplane/reconcilers and controller/kubernetesservice of 1.33.0; 1.36.0 has the same. */
const rules133: KubernetesServiceRules = {
  ...rules117,
  skipMirrorLabel: true,
  printed: "v1",
  // doReconcile: the last server may leave nothing when it stops.
  keepsLastAddress: false,
  noLeases:
    "no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service",
  // RunWithContext in pkg/server/genericapiserver.go of k8s.io/apiserver 0.33.0 and 0.36.0: no request
  // is refused before the hooks are done (NotAcceptingNewRequest waits for PreShutdownHooksStopped).
  stopOrder: "service-first",
  staleRemoval: {
    source: { found: "controller.go:95", failed: "controller.go:97" },
    found:
      "Found stale data, removed previous endpoints on kubernetes service, apiserver didn't exit successfully previously",
    failed: "Error removing old endpoints from kubernetes service: ",
    ignoresMissing: true,
  },
  removalFailedPrefix: "Unable to remove endpoints from kubernetes service: ",
  quotesUrls: true,
  sources: {
    remade: "instancecount.go:103",
    masterCount: "instancecount.go:140",
    lease: "lease.go:265",
    failed: "controller.go:163",
    stopping: "controller.go:128",
    removalFailed: "controller.go:131",
  },
};

const rules: Readonly<Record<ProfileName, KubernetesServiceRules>> = {
  "1.7": rules17,
  "1.9": rules19,
  "1.17.3": rules117,
  "1.17.13": rules117,
  "1.33": rules133,
  "1.36": rules133,
};

export function kubernetesServiceRules(profile: ProfileName): KubernetesServiceRules {
  return rules[profile];
}
