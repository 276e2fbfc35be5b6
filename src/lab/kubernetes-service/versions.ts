// How the versions of kube-apiserver differ in keeping the `kubernetes` service, as data. Every
// value says in which Kubernetes source it was read.
import type { ProfileName } from "../controllers/profiles.ts";

/** `--endpoint-reconciler-type`. */
export type ReconcilerType = "master-count" | "lease" | "none";

export interface KubernetesServiceRules {
  readonly defaultType: ReconcilerType;
  /** `after-work` waits the interval after each round, so rounds drift; `fixed` keeps the beat. */
  readonly spacing: "after-work" | "fixed";
  /** Whether the first round of a process sets the ports right; later ones never do. */
  readonly firstSetsPorts: boolean;
  /** Whether the Endpoints say that they must not be copied into a slice: the server writes one. */
  readonly skipMirrorLabel: boolean;
  /** How Go prints the object: a struct of the internal API, or the generated text of v1. */
  readonly printed: "internal" | "v1-1.17" | "v1";
  /** Whether the removal of the last address is refused as well. */
  readonly keepsLastAddress: boolean;
  /** What an empty list of leases is answered with. */
  readonly noLeases: string;
  /** Where the lines say they come from. */
  readonly sources: {
    /** The whole object is made anew, printed with %#v. */
    readonly remade: string;
    readonly masterCount: string;
    readonly lease: string;
    readonly failed: string;
    /** Undefined where a stop says nothing, because nothing is done. */
    readonly stopping: string | undefined;
    readonly removalFailed: string;
  };
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
  sources: {
    remade: "mastercount.go:98",
    masterCount: "mastercount.go:134",
    lease: "lease.go:224",
    failed: "controller.go:222",
    stopping: "controller.go:180",
    removalFailed: "controller.go:183",
  },
};

/** pkg/controlplane/reconcilers and pkg/controlplane/controller/kubernetesservice of 1.33.0. */
const rules133: KubernetesServiceRules = {
  ...rules117,
  skipMirrorLabel: true,
  printed: "v1",
  // doReconcile: the last server may leave nothing when it stops.
  keepsLastAddress: false,
  noLeases:
    "no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service",
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
