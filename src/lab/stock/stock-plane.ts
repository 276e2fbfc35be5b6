// The proxy that a stock controller drives. There are two: `virtual/`, which models nginx and runs
// in virtual time, and `live/`, which is a real nginx. The controller does not know which it has.
import type { MonotonicMs } from "../../environment/clock.ts";
import type { StockBackend, StockServer } from "./stock-configuration.ts";

export interface StockPlane {
  /** Where it serves, `host:port`; known once started. */
  readonly address: string;
  start(): Promise<void>;
  /**
   * A new nginx.conf: checked, put in place, reloaded; resolves when new workers serve by it. Throws
   * `RefusedConfigurationError` when the check fails, and then nothing has changed.
   */
  reload(servers: readonly StockServer[], signal: AbortSignal): Promise<void>;
  /** Hands all backends over; each worker looks for them at its next poll. */
  push(backends: readonly StockBackend[], signal: AbortSignal): Promise<void>;
  /** Serves no more; nothing of it is left. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Called when every worker is found to route by these backends; by the proxy's own word that is so
 * since `at`.
 */
export type OnRouted = (backends: readonly StockBackend[], at: MonotonicMs) => void;

export class RefusedConfigurationError extends Error {
  override readonly name = "RefusedConfigurationError";
  readonly code = "REFUSED_CONFIGURATION";
}
