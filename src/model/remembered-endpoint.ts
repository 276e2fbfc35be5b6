// The endpoints of a cluster from before this process started, as last saved: those that got
// requests, or would have without better ones. They count only until the cluster has been listed.
// Without them, a cluster that does not answer at the start would lose endpoints that still serve.

export interface RememberedEndpoint {
  readonly cluster: string;
  readonly address: string;
  readonly port: number;
  readonly podUid?: string;
  readonly podName?: string;
  /** As it was then; it got its share of the requests when absent. */
  readonly state?: "draining" | "suspect";
}

/** By key of the decision, `namespace/name:port`, the endpoints that could get requests. */
export type RememberedEndpoints = ReadonlyMap<string, readonly RememberedEndpoint[]>;
