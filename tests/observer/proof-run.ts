// Only for tests: one run of an observer of the proof's clusters, from its start to its end, with all
// that was delivered to it: by the clusters, by the replicas and by the access log.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { HttpKubeClient } from "../../src/kube/client/http-client.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { Observer } from "../../src/observe/observer.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import { type ReportedChange, ReportedEndpoints } from "./reported-endpoints.ts";
import { TappedClient } from "./tapped-client.ts";

export const observerHost = "lockstep";

/** A request that was really sent to an address, and reported by the access log. */
export interface SentRequest {
  /** Some logs name none. */
  readonly service: string | undefined;
  readonly address: string;
  readonly port: number;
  readonly at: MonotonicMs;
  readonly reportedAt: MonotonicMs;
  readonly failed: boolean;
}

export interface ProofRun {
  readonly observer: Observer;
  /** By cluster. */
  readonly reported: ReadonlyMap<string, ReportedEndpoints>;
  readonly startedAt: number;
  readonly over: Journey[];
  /** By name, those that were ever observed. */
  readonly replicas: Map<string, { readonly beganAt: number; readonly knowsPods: boolean }>;
  /** When some replica did not answer. */
  readonly silences: { readonly from: number; to: number }[];
  /** The routes that the replicas reported to begin and end. */
  readonly routed: ReportedChange[];
  /** The real beginnings and ends. */
  readonly rerouted: ReportedChange[];
  /** The requests in the access log; undefined without a log. */
  readonly requests: SentRequest[] | undefined;
  /** From then on requests are waited for. */
  logBeganAt: number;
  endedAt: number;
}

export interface ObservedClusters {
  readonly clusters: readonly ProofCluster[];
  readonly access: ProofCluster;
  readonly hasLog: boolean;
}

/** Begins to observe; resolves as soon as everything has been listed. */
export function startRun(
  simulation: Simulation,
  { clusters, access, hasLog }: ObservedClusters,
): ProofRun {
  const environment = simulation.host(observerHost);
  const reported = new Map<string, ReportedEndpoints>();
  const over: Journey[] = [];
  const observed = ({ name, form }: ProofCluster) => {
    const delivered = new ReportedEndpoints(name, { form });
    reported.set(name, delivered);
    const cluster = fixedAccess({ name, server: `https://${name}:6443`, token: "admin" });
    const client = new HttpKubeClient({ ...environment, cluster, userAgent: "proof" });
    return {
      cluster: name,
      client: new TappedClient(client, environment.clock, delivered),
      form,
    } as const;
  };
  const observer = new Observer({
    ...environment,
    clusters: clusters.map(observed),
    accessClusters: [observed(access)],
    nodes: false,
    onEvent: (event) => {
      if (event.type === "over") over.push(event.journey);
    },
  });
  observer.start();
  return {
    observer,
    reported,
    startedAt: environment.clock.monotonicMs(),
    over,
    replicas: new Map(),
    silences: [],
    routed: [],
    rerouted: [],
    requests: hasLog ? [] : undefined,
    logBeganAt: Number.POSITIVE_INFINITY,
    endedAt: Number.POSITIVE_INFINITY,
  };
}
