// The clusters that the write-ups describe, for the incidents that play them and for the presets of
// what-if questions. Numbers that a write-up does not give are fitted, and both name them as such.

export const resyncStormCluster = { services: 12_988, headless: 12_954 } as const;

export const throttledControllerCluster = {
  /** The write-up does not say how many; its two minutes allow for twice as many at the most. */
  fittedServices: 1_600,
  /** The write-up's log line shows a wait of workers ÷ qps, and fits these and not the default. */
  fittedWorkers: 50,
} as const;

/** Between two heartbeats of a node, against the defaults of its version. */
export const heartbeatFlapGap = { minMs: 20_000, maxMs: 50_000 } as const;
