// What was known of a cluster before this process began: the endpoints that got its requests, or would
// have had them if nothing better was left, when they were last written down. It counts only until the cluster has been heard, for a cluster that
// does not answer at the start would otherwise lose everything that still serves.

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
