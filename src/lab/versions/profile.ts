// The differences between versions of Kubernetes, as data: the code reads a profile, never a version
// number. Every value names the Kubernetes source it was read from. The bugs of a version are part of
// its profile.
//
// A new version is one file, which exports a Profile, and one line in profiles.ts. The compiler lists
// the values it needs, and the tests of version-formats.test.ts that need a line. A value that did not
// change comes from an older profile by a spread; the compiler cannot know whether it was read in the
// source of the new version, so copy only what was. nearest-profile.ts chooses the
// profile that simulates a real cluster, and may need the new one.

import type { DeepHash } from "../controllers/deep-hash.ts";
import type { SubsetTypes } from "../controllers/endpoints/subset-order.ts";
import type { ControllerFlags } from "../controllers/flags.ts";
import type { NodeRules } from "../controllers/nodes/node-rules.ts";
import type { KubernetesServiceRules } from "../kubernetes-service/kubernetes-service-rules.ts";
import type { ElectionFormat } from "./election-format.ts";
import type { VersionFormats } from "./version-formats.ts";

export interface Profile {
  readonly name: string;
  readonly gitVersion: string;
  /** Of the tag, in the user agents of its programs. */
  readonly gitCommit: string;
  readonly flags: VersionFlags;
  readonly endpoints: EndpointsRules;
  /** How an API server packs the Endpoints it is sent; undefined where it keeps them as they are. */
  readonly endpointsPacking: EndpointsPacking | undefined;
  /** Of the EndpointSlice controller; undefined where it does not run by default. */
  readonly endpointSlices: SliceRules | undefined;
  /** Of the controller that copies Endpoints of users into slices; undefined where there is none. */
  readonly sliceMirroring: MirroringRules | undefined;
  readonly throttling: ThrottlingLines;
  /** Factors on the flags, for clients that ask for more: app/core.go of the process. */
  readonly clientFactors: Readonly<Record<"namespace" | "garbage", ClientFactor>>;
  readonly events: EventRules;
  readonly nodes: NodeRules;
  /** Sentences, or a message with keys and values, which came with 1.19. */
  readonly logs: "sentences" | "structured";
  readonly formats: VersionFormats;
  readonly election: ElectionFormat;
  /** Of the API servers. */
  readonly kubernetesService: KubernetesServiceRules;
}

export interface VersionFlags {
  /** Flags the lab knows and this version does not. */
  readonly lacks: readonly (keyof ControllerFlags)[];
  /** Where this version's defaults differ from today's. */
  readonly defaults: Partial<ControllerFlags>;
}

export interface EndpointsRules {
  /** Where a sync reads the object it compares with: a live GET costs a token of the client's. */
  readonly currentFrom: "cache" | "live-get";
  /** Where Endpoints that lost their service are looked for at the start. */
  readonly leftoversFrom: "cache" | "live-list";
  /** Every service is enqueued this often, beside the resync of all informers. */
  readonly serviceResyncMs: number | undefined;
  /** Which new versions of a pod enqueue its services: all, or those that change its address. */
  readonly podUpdates: PodUpdates;
  /** Whether a pod's change is added after a delay, if only of 0: the metrics call that a retry. */
  readonly delaysPodChanges: boolean;
  /** `strict` takes an empty list and an absent one for different. */
  readonly comparison: "strict" | "semantic";
  /** The setting that makes unready and terminating pods count as ready. */
  readonly unreadyBy: "annotation" | "annotation-or-field" | "field";
  /** The treatment of pods whose phase is Failed or Succeeded. */
  readonly terminalPods: "listed" | "by-restart-policy" | "left-out";
  /** The published port of a pod of a headless service without ports. */
  readonly portlessHeadless: "nothing" | "port-zero" | "no-port";
  /** The pod's address: its first, or the one of the service's family. */
  readonly podAddress: "first" | "of-family";
  /** Whether the pods' versions are published, and with that compared. */
  readonly publishesPodVersion: boolean;
  readonly publishesAppProtocol: boolean;
  /** Whether a port's name may be that of an init container that keeps running. */
  readonly sidecarPorts: boolean;
  /** Sorts ports and subsets. */
  readonly hash: DeepHash;
  /** Whether what is published is put in order before it counts as different. */
  readonly repacksPublished: boolean;
  readonly skipsExternalName: boolean;
  readonly triggerTime: boolean;
  /**
   * The label of headless services. Written and compared with labels that cannot have it, no such
   * object is ever right, and each sync writes it once more.
   */
  readonly headlessLabel: "absent" | "written-and-compared" | "written";
  readonly managedByLabel: boolean;
  /** Addresses of one object, the rest is cut off; undefined for no limit. */
  readonly capacity: number | undefined;
  /** An object whose replaced version is still in the cache is tried again later. */
  readonly staleGuard: boolean;
  /** A deleted Endpoints object of a living service is made again at once. */
  readonly restoresDeleted: boolean;
  /** Nothing is tried again in a namespace that is on its way out. */
  readonly leavesEndingNamespaces: boolean;
  /** Whether an event is written for each write that failed. */
  readonly recordsFailures: boolean;
  /** Retries of a failing key before it is dropped. */
  readonly maxRetries: number;
  readonly failures: FailureLines;
  /** Where the line comes from that says the controller starts. */
  readonly startSource: string;
}

export interface SliceRules {
  /** Sorts the ports of a slice. */
  readonly hash: DeepHash;
  /** Values of `spec.trafficDistribution` that are obeyed. */
  readonly trafficDistributions: readonly string[];
  readonly failures: FailureLines;
  /** The source of the line about a pod whose node is not known. */
  readonly skippedSource: string;
}

export interface MirroringRules {
  /** Sorts the ports of a slice. */
  readonly hash: DeepHash;
  readonly failures: FailureLines;
}

export interface EndpointsPacking {
  readonly types: SubsetTypes;
  /** Whether a subset without ports survives. */
  readonly keepsPortless: boolean;
}

/** `address-or-node` counts the pod's node as part of its address. */
export type PodUpdates = "any" | "address-or-node" | "address";

/** The log lines of a failed key. */
export interface FailureLines {
  readonly retrying: FailureLine;
  /** After the last retry; empty where there is no last one. */
  readonly dropped: readonly FailureLine[];
}

export interface FailureLine {
  readonly severity: "I" | "W" | "E";
  /** `endpoints_controller.go:340`. */
  readonly source: string;
  /** From which on it is logged. */
  readonly verbosity: number;
  readonly text: (key: string, error: string) => string;
}

export interface ClientFactor {
  readonly qps: number;
  readonly burst: number;
}

/** How the controllers record events: client-go tools/record of the version. */
export interface EventRules {
  readonly lines: EventLines;
  /** Whether the Events of one source about one object are limited. */
  readonly limits: boolean;
  /** Events name who reports them beside their source. */
  readonly namesReporter: boolean;
  /** The API version in references to nodes and pods, which controllers write by hand. */
  readonly handWritten: { readonly apiVersion?: string };
  /** The API version in references to ReplicaSets and Deployments. */
  readonly workloadVersion: string;
  /** Whether a Deployment's events say from which size a set was scaled. */
  readonly namesOldSize: boolean;
  /** The source component of events of evicted pods. */
  readonly taintComponent: string;
  readonly nodeComponent: string;
}

/** Where in event.go the line of an event comes from. */
export interface EventLines {
  readonly sentence: string;
  /** Undefined where all lines are sentences. */
  readonly structured: string | undefined;
}

export interface ThrottlingLines {
  readonly format: "took" | "structured";
  /** Verbosity at which every wait over 50 ms is logged. */
  readonly verbosity: number;
  /** Where in client-go the line says it comes from. */
  readonly source: string;
  /** Where it comes from when a wait over a second is logged at any verbosity, now and then. */
  readonly sampledSource: string | undefined;
}
