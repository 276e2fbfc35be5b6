// What was known of a cluster before this process began: the endpoints that got its requests when
// they were last written down. It counts only until the cluster has been heard, for a cluster that
// does not answer at the start would otherwise lose everything that still serves.

export interface RememberedEndpoint {
  readonly cluster: string;
  readonly address: string;
  readonly port: number;
  readonly podUid?: string;
  readonly podName?: string;
}

/** By key of the decision, `namespace/name:port`, the endpoints that got requests. */
export type RememberedEndpoints = ReadonlyMap<string, readonly RememberedEndpoint[]>;
