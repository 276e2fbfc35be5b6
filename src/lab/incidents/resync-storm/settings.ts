// The settings of `resync-storm`: the cluster of the write-up, and a small one for real time.
import type { ControllerFlags } from "../../controllers/flags.ts";

export interface StormLimits {
  readonly workers: number;
  readonly qps: number;
  readonly burst: number;
}

export interface ResyncStormSettings {
  /** Beside the shop. */
  readonly services: number;
  /** Of these. */
  readonly headless: number;
  readonly limits: StormLimits;
  /** `--min-resync-period`. */
  readonly minResyncMs: number;
  /** The resync period divided by the shortest, from 1 to 2; drawn by the process unless given. */
  readonly resyncFactor?: number;
  /** The limits that the write-up tried; undefined leaves them out. */
  readonly raised: RaisedLimits | undefined;
}

export interface RaisedLimits extends StormLimits {
  /** Write capacity of the slow API server. */
  readonly writesPerSecond: number;
  /** `--min-resync-period` with these limits: short, so that the next storm comes soon. */
  readonly minResyncMs: number;
}

/** Counts and limits are the write-up's; the factor and the write capacity are fitted to its times. */
export const writeUpSettings: ResyncStormSettings = {
  // The shop is one more. The write-up's 12,989 lines include a header.
  services: 12_988 - 1,
  headless: 12_954,
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

/** The same storm within three minutes. */
export const shortSettings: ResyncStormSettings = {
  services: 215,
  headless: 210,
  limits: { workers: 5, qps: 5, burst: 10 },
  minResyncMs: 50_000,
  resyncFactor: 1.37,
  raised: undefined,
};

/** 1.17 logs every wait for the rate limit at this verbosity. */
const verbosity = 4;

/** There is one controller manager, and the renewals of its lock do not matter here. */
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

export interface FillerSize {
  /** Beside the shop. */
  readonly services: number;
  /** Of these, without a cluster address. */
  readonly headless: number;
}

const filler = "other";
const port = 80;
const containerPort = 8080;

/** All services share one pod that never changes. Their order does not matter: informers shuffle. */
export function* fillerObjects({ services, headless }: FillerSize): Generator<object, void, void> {
  yield {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: filler, labels: { app: filler } },
    spec: { containers: [{ name: filler, image: filler, ports: [{ containerPort }] }] },
  };
  for (let index = 0; index < services; index += 1) {
    yield {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: `${filler}-${index + 1}` },
      spec: {
        ...(index < headless ? { clusterIP: "None" } : {}),
        selector: { app: filler },
        ports: [{ port, targetPort: containerPort }],
      },
    };
  }
}
