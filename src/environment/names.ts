// From host names to addresses. Kept apart from the network, which resolves names by itself as it
// connects: this is for those who have to hand addresses on.

export interface ResolvedName {
  /** In the resolver's order; never none. */
  readonly addresses: readonly string[];
  /** How long the answer is good for; undefined where the resolver does not say. */
  readonly ttlMs: number | undefined;
}

export interface Names {
  /**
   * The addresses of a host name. Rejects with a `NetworkError` of code `UNKNOWN_HOST` when there
   * is no such name, `ABORTED` when the signal aborted, and `FAILED` when there was no answer.
   */
  resolve(name: string, signal: AbortSignal): Promise<ResolvedName>;
  /** Of this machine or pod, without loopback. */
  ownAddresses(): readonly string[];
}
