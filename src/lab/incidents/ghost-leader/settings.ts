// The settings of `ghost-leader`: those of the write-up, and shorter times for real time.
import { defaultElectionTimes, type ElectionTimes } from "../../../kube/leader/leader-rules.ts";
import { ingressNginx } from "../../stock/ingress-nginx.ts";
import type { StockReleaseName } from "../../stock/stock-release.ts";
import type { ProfileName } from "../../versions/profiles.ts";

export interface GhostSettings {
  readonly nodes: number;
  /** Of each ingress. */
  readonly replicas: number;
  /** Of each class. */
  readonly ingresses: number;
  readonly profile: ProfileName;
  readonly stockRelease: StockReleaseName;
  /** `--election-ttl` of stock. */
  readonly electionTtlMs: number;
  /** `--status-update-interval` of stock. */
  readonly statusUpdateIntervalMs: number;
  /** How often stock's lock had changed its holder before. */
  readonly formerTransitions: number;
  readonly deposeGhosts: boolean;
  /** Of Lockstep's own election. */
  readonly lockstepTimes: ElectionTimes;
  /** From the deletion of the ghosts' pods to the next release of the ingresses. */
  readonly untilReleaseMs: number;
  /** How long the statuses are empty before the operators restart the pods, and after that. */
  readonly heldMs: number;
}

/** The write-up's record says 11 after the ghost took the lock: ten changes came before. */
const fittedTransitions = 10;

export const writeUpSettings: GhostSettings = {
  nodes: 5,
  replicas: 4,
  ingresses: 20,
  profile: "1.17.3",
  stockRelease: "0.25.1",
  electionTtlMs: ingressNginx.electionTtlMs,
  statusUpdateIntervalMs: ingressNginx.statusUpdateIntervalMs,
  formerTransitions: fittedTransitions,
  deposeGhosts: true,
  lockstepTimes: defaultElectionTimes,
  untilReleaseMs: 120_000,
  heldMs: 180_000,
};

/** The same about four times as fast. */
export const shortSettings: Partial<GhostSettings> = {
  ingresses: 5,
  electionTtlMs: 8_000,
  statusUpdateIntervalMs: 15_000,
  untilReleaseMs: 5_000,
  heldMs: 20_000,
};
