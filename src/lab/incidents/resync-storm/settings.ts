// What can be chosen in the incident `resync-storm`, and the two clusters it is played on: the one of
// the write-up, and a small one for whoever watches it in real time.
import type { ControllerFlags } from "../../controllers/flags.ts";
import { resyncStormCluster } from "../write-up-clusters.ts";

export interface StormLimits {
  readonly workers: number;
  readonly qps: number;
  readonly burst: number;
}

export interface ResyncStormOptions {
  /** Beside the shop's own. */
  readonly services: number;
  /** So many of them are headless. */
  readonly headless: number;
  readonly limits: StormLimits;
  /** `--min-resync-period`. */
  readonly minResyncMs: number;
  /** What the period is stretched by, from 1 to 2; drawn by the process when absent. */
  readonly resyncFactor?: number;
  /** The limits that were tried against it; they are not tried when absent. */
  readonly raised: RaisedLimits | undefined;
}

export interface RaisedLimits extends StormLimits {
  /** Writes a second that the API server can do. */
  readonly writesPerSecond: number;
  /** `--min-resync-period` while they are tried: the next storm need not be waited for. */
  readonly minResyncMs: number;
}

/** The cluster of the write-up, as far as it describes it; see `fitted` for the rest. */
export const writeUpCluster: ResyncStormOptions = {
  // The shop is one more.
  services: resyncStormCluster.services - 1,
  headless: resyncStormCluster.headless,
  limits: { workers: 5, qps: 20, burst: 30 },
  minResyncMs: 12 * 3_600_000,
  resyncFactor: 1.37,
  raised: {
    workers: 30,
    qps: 100,
    burst: 120,
    writesPerSecond: 42.6,
    minResyncMs: 10 * 60_000,
  },
};

/** Small enough to be watched as it happens: the same storm, within three minutes. */
export const liveCluster: ResyncStormOptions = {
  services: 215,
  headless: 210,
  limits: { workers: 5, qps: 5, burst: 10 },
  minResyncMs: 50_000,
  resyncFactor: 1.37,
  raised: undefined,
};

/** Throttling lines are logged from here on in 1.17. */
const verbosity = 4;

/** The controllers run once and the lock's renewals, two requests each 2 s, change nothing. */
const fixedFlags = { v: verbosity, "leader-elect": false } as const;

export function flagsOf(
  { workers, qps, burst }: StormLimits,
  minResyncMs: number,
): Partial<ControllerFlags> {
  return {
    ...fixedFlags,
    "concurrent-endpoint-syncs": workers,
    "kube-api-qps": qps,
    "kube-api-burst": burst,
    "min-resync-period": minResyncMs,
  };
}

export interface CrowdSize {
  /** Beside the shop's own. */
  readonly services: number;
  /** So many of them have no cluster address. */
  readonly headless: number;
}

const crowd = "other";
const port = 80;
const containerPort = 8080;

/** Headless services and others in no order that could matter: queues are filled by chance. */
export function* crowdObjects({ services, headless }: CrowdSize): Generator<object, void, void> {
  yield {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: crowd, labels: { app: crowd } },
    spec: { containers: [{ name: crowd, image: crowd, ports: [{ containerPort }] }] },
  };
  for (let index = 0; index < services; index += 1) {
    yield {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `${crowd}-${index + 1}` },
      spec: {
        ...(index < headless ? { clusterIP: "None" } : {}),
        selector: { app: crowd },
        ports: [{ port, targetPort: containerPort }],
      },
    };
  }
}
