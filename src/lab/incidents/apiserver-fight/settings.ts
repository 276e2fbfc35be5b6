// The settings of `apiserver-fight`: the cluster of the write-up, and a shorter form for real time.

import type { KubernetesServiceFlags } from "../../kubernetes-service/kubernetes-service-reconciler.ts";
import {
  keepAlivePatienceMs,
  retransmissionPatienceMs,
} from "../../service-path/kernel-patience.ts";
import type { ProfileName } from "../../versions/profiles.ts";

/**
 * `cut-off` is IPVS, which drops the packets of connections whose server was taken off the list.
 * `lagging-cache` is iptables, which leaves connections alone, and one server whose watch cache stops.
 */
export type Mechanism = "cut-off" | "lagging-cache";

export interface FightSettings extends KubernetesServiceFlags {
  readonly servers: number;
  readonly profile: ProfileName;
  readonly mechanism: Mechanism;
  /** How long a connection that was cut off stays silent. */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
  readonly releases: number;
  /** From the start of the trouble to the first release, and the longest time between two releases. */
  readonly pauseMs: number;
}

/** By its log lines the write-up had 1.9 or 1.10; it set neither the count nor the reconciler. */
export const writeUpSettings: FightSettings = {
  servers: 4,
  profile: "1.9",
  mechanism: "cut-off",
  silence: { minMs: keepAlivePatienceMs, maxMs: retransmissionPatienceMs },
  releases: 2,
  pauseMs: 180_000,
};

/** A real kernel takes minutes; here a silent connection ends after seconds. */
export const shortSettings: FightSettings = {
  ...writeUpSettings,
  silence: { minMs: 15_000, maxMs: 45_000 },
  releases: 1,
  pauseMs: 40_000,
};
