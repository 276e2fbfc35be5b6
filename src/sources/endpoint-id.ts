// The identity of an endpoint, as a text that can be the key of a map.

declare const endpointIdBrand: unique symbol;

/** Names an endpoint of one cluster for as long as the same pod is behind its address. */
export type EndpointId = string & { readonly [endpointIdBrand]: true };

export interface EndpointIdentity {
  readonly address: string;
  readonly port: number;
  /** Without it, the address and port are named, whichever pod is behind them. */
  readonly podUid?: string | undefined;
}

export function endpointId({ address, port, podUid }: EndpointIdentity): EndpointId {
  const place = `${address} ${port}`;
  return (podUid === undefined ? place : `${place} ${podUid}`) as EndpointId;
}

/** The same among the endpoints of all clusters. */
export function clusterEndpointId(
  endpoint: EndpointIdentity & { readonly cluster: string },
): string {
  return `${endpoint.cluster} ${endpointId(endpoint)}`;
}
