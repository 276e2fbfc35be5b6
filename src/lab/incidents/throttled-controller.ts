// The incident `throttled-controller`: a controller manager of 1.7 looks at every service each 30 s
// and asks the API server about each, so its client's limit is used up for ever and a release waits
// in the queue behind all other services. Lockstep hears of the same pods from the pods themselves.
import { elapsedMs } from "../../environment/clock.ts";
import { randomBetween } from "../../environment/random.ts";
import { createCrowd } from "../shop.ts";
import type { Incident, IncidentFindings, TimelineEntry } from "./incident.ts";
import { longestLoggedWaitMs } from "./logged-wait.ts";
import { Scene, settleMs } from "./scene.ts";
import type { OpenStage, Stage } from "./stage.ts";
import { type Measures, throttledFindings } from "./throttled-rows.ts";

export interface ThrottledControllerOptions {
  readonly fix?: boolean;
  /** Beside the shop; `fittedServices` unless given. */
  readonly services?: number;
  /** `--concurrent-endpoint-syncs`; `fittedWorkers` unless given. */
  readonly workers?: number;
}

/** The write-up does not say how many; above 600 the queue never empties. */
export const fittedServices = 1_200;

/** The write-up's log line shows a wait of workers ÷ qps, and fits these and not the default 5. */
export const fittedWorkers = 50;

/** No limit to speak of: how the cluster came to be what it is takes no part in the incident. */
const setUpFlags = { "kube-api-qps": 10_000, "kube-api-burst": 10_000 } as const;

const fixFlags = { "kube-api-qps": 300, "kube-api-burst": 325 } as const;

/** Up to 1.7 the waits for the limit are logged at this verbosity only. */
const verbosity = 4;

/** Each finds the shop's key at another place of the queue. */
const releases = 2;

/** Every service is enqueued this often, so that a release comes at any moment between. */
const enqueuePeriodMs = 30_000;

/** A small program's start, so that a release takes some seconds and not an instant. */
const readyAfter = "2s";

/** Far more than the deduplicated queue can make a change wait. */
const releaseWithinMs = 600_000;

export const throttledController: Incident = {
  name: "throttled-controller",
  summary: "after a release, requests go to pods that are gone, for up to two minutes",
  fix: "--kube-api-qps=300 --kube-api-burst=325",
  play: (open, { fix }) => playThrottledController(open, { fix }),
};

export async function playThrottledController(
  open: OpenStage,
  options: ThrottledControllerOptions,
): Promise<IncidentFindings> {
  const { fix = false, services = fittedServices, workers = fittedWorkers } = options;
  const timeline: TimelineEntry[] = [];
  const measures = await open(async (stage) => {
    const scene = await openScene(stage, services);
    const flags = { v: verbosity, "concurrent-endpoint-syncs": workers, ...(fix ? fixFlags : {}) };
    stage.say("starting the controllers as they were");
    timeline.push({ atMs: stage.now(), text: `${services} services; controllers start` });
    await scene.cluster.controlPlane.restart(flags);
    const measured = await measure(scene, timeline);
    await scene.stop();
    return measured;
  });
  return {
    timeline,
    ...throttledFindings(measures, { isFixed: fix }),
    series: [],
    fitted: fittedIn(services, workers),
  };
}

function openScene(stage: Stage, services: number): Promise<Scene> {
  stage.say(`creating ${services} services`);
  return Scene.open(stage, {
    cluster: { profile: "1.7", flags: setUpFlags },
    shop: { readyAfter },
    furnish: (client) => createCrowd(client, services, "shared"),
    otherServices: services,
  });
}

/** Releases under traffic, each at another moment of the controllers' rounds. */
async function measure(scene: Scene, timeline: TimelineEntry[]): Promise<Measures> {
  const { stage, observer, client } = scene;
  const startedAt = scene.now();
  const traffic = scene.startTraffic();
  for (let release = 1; release <= releases; release += 1) {
    await stage.sleep(randomBetween(stage.random, 0, enqueuePeriodMs) + settleMs);
    stage.say(`release ${release} of ${releases}`);
    timeline.push({ atMs: stage.now(), text: `release ${release}` });
    await scene.release(String(release), releaseWithinMs);
    timeline.push({ atMs: stage.now(), text: `release ${release} has reached every replica` });
  }
  return {
    ...(await traffic.finish()),
    journeys: observer.completeSince(startedAt),
    loggedWaitMs: await longestLoggedWaitMs(client, elapsedMs(startedAt, scene.now())),
  };
}

function fittedIn(services: number, workers: number): readonly string[] {
  return [
    `${services} services: the write-up gives no number`,
    `${workers} endpoint workers: the wait in the log is workers ÷ qps`,
    "dead pods refuse at once, where the write-up's connections timed out",
  ];
}
