// The settings of `throttled-controller`: the cluster of the write-up, and a smaller one for real time.
import type { ControllerFlags } from "../../controllers/flags.ts";

export type ClientLimits = Pick<ControllerFlags, "kube-api-qps" | "kube-api-burst">;

export interface ThrottledSettings {
  /** Beside the shop. */
  readonly services: number;
  /** `--concurrent-endpoint-syncs`. */
  readonly workers: number;
  readonly limits: ClientLimits;
}

/** The defaults: cmd/kube-controller-manager/app/options/options.go of 1.7. */
const defaultLimits: ClientLimits = { "kube-api-qps": 20, "kube-api-burst": 30 };
export const defaultWorkers = 5;

export const writeUpSettings: ThrottledSettings = {
  // Fitted: the write-up gives no number. A change waits for up to services ÷ qps = 80 s, within the
  // 30 s to 2 min of the write-up. Its two minutes allow for 2,400 at most.
  services: 1_600,
  // Fitted: a log line shows a wait of workers ÷ qps. The write-up's 2.49 s needs 50 workers at 20
  // requests a second; the default of 5 gives 0.25 s.
  workers: 50,
  limits: defaultLimits,
};

/** The write-up's fix. */
export const fixLimits: ClientLimits = { "kube-api-qps": 300, "kube-api-burst": 325 };

/** In a short play a release waits for up to 35 s: long enough to see it, short enough to wait for it. */
export const shortServices = 700;

/** Nearly unlimited: how the cluster was created is no part of the incident. */
export const setupLimits: ClientLimits = { "kube-api-qps": 10_000, "kube-api-burst": 10_000 };

/** Up to 1.7, waits for the limit are logged only at this verbosity. */
export const verbosity = 4;

/** FullServiceResyncPeriod of 1.7 and before: every service is enqueued this often. */
export const enqueuePeriodMs = 30_000;

/** Each release finds the shop's key at another place of the queue. */
export const releases = 2;
