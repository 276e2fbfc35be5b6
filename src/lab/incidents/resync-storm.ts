// The incident `resync-storm`: a controller manager of 1.17.3 believes after every resync that each
// headless service has to be written again. Its client's limit lets 20 through in a second, so for
// ten minutes every real change waits behind thousands of PUTs that change nothing. Lockstep hears
// of the pods from the pods themselves.
import type { Incident, IncidentFindings, TimelineEntry } from "./incident.ts";
import { findingsOf } from "./resync-storm-figures.ts";
import { playStorms } from "./resync-storm-play.ts";
import type { OpenStage, Stage } from "./stage.ts";

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
  /** What the period is stretched by, from 1 to 2. */
  readonly resyncFactor: number;
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
  services: 12_987,
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

/** Small enough to be watched as it happens: the same storm, within three minutes. */
export const liveCluster: ResyncStormOptions = {
  services: 215,
  headless: 210,
  limits: { workers: 5, qps: 5, burst: 10 },
  minResyncMs: 50_000,
  resyncFactor: 1.37,
  raised: undefined,
};

export const resyncStorm: Incident = {
  name: "resync-storm",
  summary: "now and then a release sends requests to pods that are gone, for minutes",
  fix: "Kubernetes 1.17.13, which compares the labels of headless services rightly (PR 94112)",
  play: (open, { fix }) => playResyncStorm(open, { fix, cluster: clusterFor }),
};

export interface PlayOptions {
  readonly fix: boolean;
  /** The cluster to play on this stage. */
  readonly cluster: (stage: Stage) => ResyncStormOptions;
}

export async function playResyncStorm(
  open: OpenStage,
  { fix, cluster }: PlayOptions,
): Promise<IncidentFindings> {
  const timeline: TimelineEntry[] = [];
  return open(async (stage) => {
    const options = cluster(stage);
    const note = (text: string): void => {
      stage.say(text);
      timeline.push({ atMs: stage.now(), text });
    };
    const storms = await playStorms(stage, { ...options, fix, note });
    return {
      timeline,
      ...findingsOf(storms, { ...options, fix, isWriteUp: options === writeUpCluster }),
    };
  });
}

function clusterFor({ mode }: Stage): ResyncStormOptions {
  return mode === "live" ? liveCluster : writeUpCluster;
}
