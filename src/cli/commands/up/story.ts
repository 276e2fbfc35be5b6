// Parts 3 and 4 of `lockstep up`: a release with a throttled controller manager, its cause, the
// fix, and a second release.

import type { Finding } from "../../../doctor/finding.ts";
import { elapsedMs } from "../../../environment/clock.ts";
import { durationText } from "../../../environment/duration-text.ts";
import { httpMetrics } from "../../../lab/probe/metrics-source.ts";
import { QueueProbe } from "../../../lab/probe/queue-probe.ts";
import { ingressNginx } from "../../../lab/stock/ingress-nginx.ts";
import { findingText } from "../../terminal/finding-text.ts";
import { flagsOf, type Release, type ReleaseOptions, release } from "./release.ts";
import { busyCluster, fillerServiceCount, verbosity } from "./world.ts";

interface StoryOptions extends ReleaseOptions {
  readonly columns: number;
  /** Called with the doctor's finding, surer each time. */
  readonly onFinding?: (finding: Finding) => void;
}

export interface StoryResult {
  readonly throttled: Release;
  /** Undefined without a cause, because then there is no fix. */
  readonly fixed: Release | undefined;
}

const pollMs = 200;

/** Three times a round of the throttled controllers. With a fix that does not work, the queue is never empty. */
const idleLongestMs = 100_000;

export async function playStory(options: StoryOptions): Promise<StoryResult> {
  const { narrator, world } = options;
  narrator.act(3, "A release in cluster alpha; its controller manager is throttled (real time)");
  const { onFinding } = options;
  const throttled = await release(options, {
    name: "first",
    examine: true,
    ...(onFinding !== undefined && { onFinding }),
  });
  const { finding } = throttled;
  narrator.text("");
  if (finding === undefined) {
    narrator.text("No cause was found, so there is no fix to apply.");
    return { throttled, fixed: undefined };
  }
  narrator.text(findingText(finding, { width: Math.min(options.columns, 100) }));
  const { change } = finding.fix;
  narrator.act(4, `The fix: ${change} (real time)`);
  await world.cluster(busyCluster).controlPlane.restart({ ...flagsOf(change), ...verbosity });
  await untilIdle(options);
  const fixed = await release(options, { name: "second", examine: true });
  for (const line of stockStillLate(fixed)) narrator.text(line);
  return { throttled, fixed };
}

/**
 * A restarted controller manager works on every service first. A release in the middle of that waits for this work,
 * which takes long on a busy machine, and shows nothing about the fix.
 */
async function untilIdle({ environment, world, narrator, signal }: ReleaseOptions): Promise<void> {
  const { clock, network, timers } = environment;
  const { controlPlane } = world.cluster(busyCluster);
  const metrics = httpMetrics({ network, url: () => controlPlane.metricsUrl, signal });
  const queue = new QueueProbe({ metrics, queues: ["endpoint"] });
  const startedAt = clock.monotonicMs();
  narrator.step("the restarted controllers sync every service once");
  while (elapsedMs(startedAt, clock.monotonicMs()) < idleLongestMs) {
    const { adds = 0, depth = 0 } = (await queue.depth()) ?? {};
    if (adds >= fillerServiceCount && depth === 0) return;
    await timers.sleep(pollMs, signal);
  }
}

/** The fix changes the control plane; the delay of stock itself stays. */
function stockStillLate({ publishedMs, stockMs }: Release): readonly string[] {
  if (publishedMs === undefined || stockMs === undefined) return [];
  const ownMs = stockMs - publishedMs;
  const syncMs = 1000 / ingressNginx.syncsPerSecond;
  if (ownMs < ingressNginx.backendPollMs / 2) return [];
  return [
    `  Stock itself adds ${durationText(ownMs)} (real); the fix does not change that. Like ingress-nginx, it`,
    `  reads changes at most every ${durationText(syncMs)}, and its nginx workers poll every`,
    `  ${durationText(ingressNginx.backendPollMs)}.`,
  ];
}
