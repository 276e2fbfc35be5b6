// From host names to addresses. Kept apart from the network, which resolves names by itself as it
// connects: this is for those who have to hand addresses on.

export interface Names {
  /**
   * The addresses of a host name, in the resolver's order; never none. Rejects with a `NetworkError`
   * of code `UNKNOWN_HOST` when there is no such name, `ABORTED` when the signal aborted, and
   * `FAILED` when nobody could tell.
   */
  resolve(name: string, signal: AbortSignal): Promise<readonly string[]>;
}
