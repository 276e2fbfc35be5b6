// The incident `resync-storm`: a controller manager of 1.17.3 believes after every resync that each
// headless service has to be written again. Its client's limit lets 20 through in a second, so for
// ten minutes every real change waits behind thousands of PUTs that change nothing. Lockstep hears
// of the pods from the pods themselves.

import type { Incident, IncidentFindings, TimelineEntry } from "../incident.ts";
import type { OpenStage, Stage } from "../stage.ts";
import { findingsOf } from "./figures.ts";
import { playStorms } from "./play.ts";
import { liveCluster, type ResyncStormOptions, writeUpCluster } from "./settings.ts";

export const resyncStorm: Incident = {
  name: "resync-storm",
  summary: "some releases are followed by requests to deleted pods for minutes",
  cause:
    "at each resync, every 12 to 24 hours, Kubernetes 1.17.3 writes the Endpoints of every headless " +
    "service without need, at 20 a second, and real changes wait behind these writes",
  fix: "Kubernetes 1.17.13, which compares the labels of headless services correctly (PR 94112)",
  play: (open, { fix }) => playResyncStorm(open, { fix, cluster: clusterFor }),
};

interface PlayOptions {
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
      ...findingsOf(storms, { ...options, fix, isWriteUp: isWriteUp(options) }),
    };
  });
}

/** What the compared figures depend on; the period between two storms is an input and no result. */
function isWriteUp({ services, headless, limits }: ResyncStormOptions): boolean {
  const { services: all, headless: some, limits: usual } = writeUpCluster;
  return services === all && headless === some && limits === usual;
}

function clusterFor({ mode }: Stage): ResyncStormOptions {
  return mode === "live" ? liveCluster : writeUpCluster;
}
