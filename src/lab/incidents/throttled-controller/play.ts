// The incident `throttled-controller`: a controller manager of 1.7 looks at every service each 30 s
// and asks the API server about each, so its client's limit is used up for ever and a release waits
// in the queue behind all other services. Lockstep hears of the same pods from the pods themselves.
import { elapsedMs } from "../../../environment/clock.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { startCluster } from "../../cluster.ts";
import type { ControllerFlags } from "../../controllers/flags.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import { ControllerWatch } from "../../probe/queue-watch.ts";
import { longestLoggedWaitMs } from "../../probe/throttling-waits.ts";
import { createCrowdPod, crowdServices, publishedServices } from "../../shop.ts";
import type { Incident, IncidentFindings, TimelineEntry } from "../incident.ts";
import { Scene, settleMs } from "../scene.ts";
import type { OpenStage, Stage } from "../stage.ts";
import { lagSeries, lostSeries } from "../usual-findings.ts";
import { throttledControllerCluster } from "../write-up-clusters.ts";
import { type Compared, type Measures, throttledFindings } from "./figures.ts";

export interface ThrottledControllerOptions {
  readonly fix?: boolean;
  /** Beside the shop; `fittedServices` unless given, or `liveServices` in real time. */
  readonly services?: number;
  /** `--concurrent-endpoint-syncs`; `fittedWorkers` unless given. */
  readonly workers?: number;
  /** What the fix changes; as the write-up's was unless given. */
  readonly limits?: ClientLimits;
  /** Plays only the release, not the settings that are compared with each other. */
  readonly releaseOnly?: boolean;
}

const { fittedServices, fittedWorkers } = throttledControllerCluster;

/** A release then waits for up to 35 s: enough to see, and to see the end of. */
const liveServices = 700;

const defaultWorkers = 5;

/** cmd/kube-controller-manager/app/options/options.go of 1.7. */
const defaultLimits: ClientLimits = { "kube-api-qps": 20, "kube-api-burst": 30 };

const fixLimits: ClientLimits = { "kube-api-qps": 300, "kube-api-burst": 325 };

/** Each finds the shop's key at another place of the queue. */
const releases = 2;

/** A small program's start, so that a release takes some seconds and not an instant. */
const readyAfter = "2s";

/** Far more than the deduplicated queue can make a change wait. */
const releaseWithinMs = 600_000;

const watchEveryMs = 1_000;

export const throttledController: Incident = {
  name: "throttled-controller",
  summary:
    "for half a minute to two minutes after a release, requests go to deleted pods, " +
    "and new pods get no requests",
  cause:
    "up to Kubernetes 1.7 the endpoints controller reads every service every 30 s; with more than " +
    "about 600 services its limit of 20 requests a second is too low, and changes wait in its queue",
  fix: "--kube-api-qps=300 --kube-api-burst=325 of kube-controller-manager",
  play: (open, { fix }) => playThrottledController(open, { fix }),
};

export async function playThrottledController(
  open: OpenStage,
  options: ThrottledControllerOptions,
): Promise<IncidentFindings> {
  const { fix = false, workers = fittedWorkers } = options;
  const { limits = fix ? fixLimits : defaultLimits } = options;
  const played = await open(async (stage) => {
    const isLive = stage.mode === "live";
    const services = options.services ?? (isLive ? liveServices : fittedServices);
    const release = await playReleases(stage, { services, workers, limits });
    return { ...release, services, isLive };
  });
  const { services, isLive } = played;
  const isCompared = !fix && !isLive && options.releaseOnly !== true;
  const settings = { services, workers, limits };
  const compared = isCompared ? await compareSettings(open, settings) : undefined;
  const { timeline, series } = played;
  return {
    timeline,
    ...throttledFindings(played, { ...settings, isFixed: fix, compared }),
    series,
    fitted: fittedIn(settings, { isFixed: fix, isLive }),
  };
}

interface Settings {
  readonly services: number;
  readonly workers: number;
  readonly limits: ClientLimits;
}

type Played = Measures & Pick<IncidentFindings, "timeline" | "series">;

/** A cluster with its shop, controllers as they were, and releases under traffic. */
async function playReleases(stage: Stage, settings: Settings): Promise<Played> {
  const { services, workers, limits } = settings;
  const timeline: TimelineEntry[] = [];
  const note = (text: string) => void timeline.push({ atMs: stage.now(), text });
  stage.say(`a cluster with ${services.toLocaleString("en-US")} services`);
  const scene = await Scene.open(stage, {
    cluster: { profile: "1.7", flags: setUpLimits, objects: crowdServices(services) },
    shop: { readyAfter },
    furnish: createCrowdPod,
    otherServices: services,
  });
  const { cluster, observer } = scene;
  const watch = new ControllerWatch({
    ...stage.environmentOf("observer"),
    metricsUrl: () => cluster.controlPlane.metricsUrl,
    now: () => stage.now(),
    queue: "endpoint",
    everyMs: watchEveryMs,
  });
  watch.start();
  note(
    `the controllers start with ${(services + 1).toLocaleString("en-US")} services, ${workers} workers and ` +
      `${limits["kube-api-qps"]} requests/s`,
  );
  const flags = { v: verbosity, "concurrent-endpoint-syncs": workers, ...limits };
  await cluster.controlPlane.restart(flags);
  const startedAt = scene.now();
  const traffic = scene.startTraffic();
  await releaseAtSpreadMoments(scene, settings, note);
  const tallies = await traffic.finish();
  const instant = { observer: scene.now(), stageMs: stage.now() };
  const loggedWaitMs = await longestLoggedWaitMs(
    scene.client,
    elapsedMs(startedAt, instant.observer),
  );
  await watch.stop();
  await scene.stop();
  const journeys = observer.completeSince(startedAt);
  return {
    ...tallies,
    journeys,
    loggedWaitMs,
    depths: watch.depths.map(([, depth]) => depth),
    rates: watch.rates.map(([, rate]) => rate),
    timeline,
    series: [
      ...watch.series(),
      ...lostSeries(traffic.results, instant),
      ...lagSeries(journeys, instant),
    ],
  };
}

/**
 * Each release comes at another part of the time in which the queue goes round once, so that the
 * longest wait of them is a good part of that time, whatever moment chance picks.
 */
async function releaseAtSpreadMoments(
  scene: Pick<Scene, "stage" | "release">,
  { services, limits }: Settings,
  note: (text: string) => void,
): Promise<void> {
  const { stage } = scene;
  const roundMs = (services / limits["kube-api-qps"]) * 1_000;
  const startedMs = stage.now();
  const chance = stage.random.next();
  for (let release = 1; release <= releases; release += 1) {
    const phaseMs = ((release - 1 + chance) / releases) * roundMs;
    const sinceMs = stage.now() - startedMs + settleMs;
    const rounds = Math.max(0, Math.ceil((sinceMs - phaseMs) / roundMs));
    stage.say(`release ${release} of ${releases}`);
    await stage.sleep(startedMs + rounds * roundMs + phaseMs - stage.now());
    note(`release ${release}: every pod of the shop is replaced`);
    await scene.release(String(release), releaseWithinMs);
    note(`release ${release} has reached every replica`);
  }
}

/** More workers, and fewer services, with nothing else changed. */
async function compareSettings(open: OpenStage, settings: Settings): Promise<Compared> {
  const withFew = { ...settings, workers: defaultWorkers };
  return {
    few: await playRounds(open, withFew),
    many: await playRounds(open, settings),
    saturatingServices: await saturatingServices(open, { ...withFew, most: settings.services }),
  };
}

function fittedIn(
  { services, workers }: Settings,
  { isFixed, isLive }: { readonly isFixed: boolean; readonly isLive: boolean },
): readonly string[] {
  return [
    isLive
      ? `${services} services, so that it is short (${fittedServices} in simulated time)`
      : `${services.toLocaleString("en-US")} services`,
    `${workers} endpoint workers (from the wait in the log: workers ÷ qps)`,
    `${releases} releases, half a round of the queue apart, so that one of them waits for at least ` +
      "half a round",
    "dead pods refuse connections; in the real incident connections timed out",
    ...(isFixed
      ? [
          "in the real incident no throttling log line was left; here requests still wait about 0.1 s",
        ]
      : []),
  ];
}

export interface RoundsOptions {
  readonly services: number;
  readonly workers: number;
  readonly limits: ClientLimits;
}

export type ClientLimits = Pick<ControllerFlags, "kube-api-qps" | "kube-api-burst">;

export interface Rounds {
  /** From when a service is enqueued until its sync is over, on average. */
  readonly turnMs: number | undefined;
  /** Whether there was a moment with nothing to do. */
  readonly didEmpty: boolean;
  /** Undefined when the log has no line of throttling. */
  readonly loggedWaitMs: number | undefined;
}

/** No limit to speak of: how a cluster came to be what it is takes no part in the incident. */
export const setUpLimits: ClientLimits = { "kube-api-qps": 10_000, "kube-api-burst": 10_000 };

/** Up to 1.7 the waits for the limit are logged at this verbosity only. */
export const verbosity = 4;

/** FullServiceResyncPeriod of 1.7 and before: every service is enqueued this often. */
export const enqueuePeriodMs = 30_000;

/** Two rounds: in one the phase of the queue could be a special one. */
const lookMs = 2 * enqueuePeriodMs;

/** A round of one service less than the limit allows for leaves the queue empty for 50 ms. */
const lookEveryMs = 500;

const publishedPollMs = 1_000;

/** Between these the number of services is sought above which the queue never empties. */
const fewServices = 100;
const servicesStep = 50;

export function playRounds(open: OpenStage, options: RoundsOptions): Promise<Rounds> {
  const { services, workers, limits } = options;
  return open(async (stage) => {
    stage.say(`${services} services, ${workers} workers, ${limits["kube-api-qps"]} requests/s`);
    const { cluster, client } = await startCrowdedCluster(stage, services);
    const { controlPlane } = cluster;
    await controlPlane.restart({ v: verbosity, "concurrent-endpoint-syncs": workers, ...limits });
    // The first round finds all services at once; what is measured is how it goes on.
    await stage.sleep((services / limits["kube-api-qps"]) * 1_000 + enqueuePeriodMs);
    const watch = new ControllerWatch({
      ...stage.environmentOf("observer"),
      metricsUrl: () => controlPlane.metricsUrl,
      now: () => stage.now(),
      queue: "endpoint",
      everyMs: lookEveryMs,
    });
    watch.start();
    await stage.sleep(lookMs);
    await watch.stop();
    const queue = watch.queue();
    const rounds: Rounds = {
      turnMs: queue && (queue.meanQueueSeconds + queue.meanWorkSeconds) * 1_000,
      didEmpty: watch.depths.some(([, depth]) => depth === 0),
      loggedWaitMs: await longestLoggedWaitMs(client, lookMs),
    };
    await cluster.stop();
    return rounds;
  });
}

/** The number of services, to the nearest step, above which the queue never empties. */
export async function saturatingServices(
  open: OpenStage,
  options: Omit<RoundsOptions, "services"> & { readonly most: number },
): Promise<number> {
  const { most, ...rest } = options;
  let empties = fewServices;
  let saturates = most;
  while (saturates - empties > servicesStep) {
    const services = Math.round((empties + saturates) / 2);
    const { didEmpty } = await playRounds(open, { ...rest, services });
    if (didEmpty) empties = services;
    else saturates = services;
  }
  return Math.round((empties + saturates) / 2);
}

/** Every service is published, and nothing else goes on. */
async function startCrowdedCluster(stage: Stage, services: number) {
  const user = stage.environmentOf("user");
  const cluster = await startCluster({
    name: "blue",
    environmentOf: (part) => stage.environmentOf(part),
    hostOf: (part) => stage.hostOf(part),
    podNetwork: stage.podNetwork,
    ports: [6443],
    nodes: 1,
    profile: "1.7",
    flags: setUpLimits,
    ledger: new Ledger(user),
    objects: crowdServices(services),
  });
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
  await createCrowdPod(client);
  while ((await publishedServices(client)) < services) await stage.sleep(publishedPollMs);
  return { cluster, client };
}
