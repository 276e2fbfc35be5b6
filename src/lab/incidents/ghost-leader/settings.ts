// The parameters of the incident `ghost-leader`, and which of them were chosen to fit the write-up.
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
  /** How often stock's lock had changed hands before. */
  readonly formerTransitions: number;
  readonly deposeGhosts: boolean;
  /** Of Lockstep's own election. */
  readonly lockstepTimes: ElectionTimes;
  /** From the API forgetting the ghosts' pods to the next release of the ingresses. */
  readonly untilReleaseMs: number;
  /** How long people look at empty statuses before they restart the pods, and after that. */
  readonly heldMs: number;
}

/** The write-up's record says 11 after the ghost took the lock: ten changes came before. */
const fittedTransitions = 10;

export const usual: GhostSettings = {
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

/** For real time: what happens is the same, some four times as fast. */
export const compressed: Partial<GhostSettings> = {
  ingresses: 5,
  electionTtlMs: 8_000,
  statusUpdateIntervalMs: 15_000,
  untilReleaseMs: 5_000,
  heldMs: 20_000,
};
