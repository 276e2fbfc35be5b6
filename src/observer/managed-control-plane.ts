// What can and cannot be observed where somebody else runs the control plane. Every hop shows
// outside of it; only why a controller is late does not.
import { type Hop, hops } from "../journeys/witness.ts";

export interface ManagedControlPlane {
  /** Needs nothing but the API, the proxies and their logs. */
  readonly visible: readonly Hop[];
  /** What only whoever runs the control plane can see. */
  readonly hidden: readonly string[];
}

export const managedControlPlane: ManagedControlPlane = {
  visible: hops,
  hidden: [
    "the queues and the rate limit of the endpoint controllers",
    "the flags of the control plane's components",
    "their logs",
  ],
};
