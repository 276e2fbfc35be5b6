// The incident `throttled-controller`: a controller manager of 1.7 syncs every service each 30 s and sends
// a request for each one. Its client limit is always used up, and a release waits in the queue behind
// all other services. Lockstep watches the pods and does not wait.
import { elapsedMs } from "../../../environment/clock.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { startCluster } from "../../cluster.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import { QueueWatch } from "../../probe/queue-watch.ts";
import { longestLoggedWaitMs } from "../../probe/throttling-waits.ts";
import { createFillerPod, fillerServices, publishedServices } from "../../shop.ts";
import type { Incident, IncidentFindings, TimelineEntry } from "../incident.ts";
import { Scene, settleMs } from "../scene.ts";
import type { OpenStage, Stage } from "../stage.ts";
import { lagSeries, lostSeries } from "../usual-findings.ts";
import { type Compared, type ThrottledPlay, throttledFindings } from "./figures.ts";
import {
  defaultWorkers,
  enqueuePeriodMs,
  fixLimits,
  releases,
  setupLimits,
  shortServices,
  type ThrottledSettings,
  verbosity,
  writeUpSettings,
} from "./settings.ts";

export interface ThrottledControllerOptions extends Partial<ThrottledSettings> {
  readonly fix?: boolean;
  /** Plays only the release, not the settings that are compared with each other. */
  readonly releaseOnly?: boolean;
}

/** A small program's start: a release takes some seconds. */
const readyAfter = "2s";

/** Much longer than a change can wait: a key is in the queue only once. */
const releaseWithinMs = 600_000;

const watchEveryMs = 1_000;

export const throttledController: Incident = {
  name: "throttled-controller",
  rule: "client-throttling",
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
  const { fix = false, workers = writeUpSettings.workers } = options;
  const { limits = fix ? fixLimits : writeUpSettings.limits } = options;
  const played = await open(async (stage) => {
    const isShort = stage.size === "short";
    const services = options.services ?? (isShort ? shortServices : writeUpSettings.services);
    const release = await playReleases(stage, { services, workers, limits });
    return { ...release, services, isShort };
  });
  const { services, isShort } = played;
  const isCompared = !fix && !isShort && options.releaseOnly !== true;
  const settings = { services, workers, limits };
  const compared = isCompared ? await compareSettings(open, settings) : undefined;
  return throttledFindings(played, { ...settings, isFixed: fix, isShort, compared });
}

/** A cluster with its shop, its throttled controllers, and releases under traffic. */
async function playReleases(stage: Stage, settings: ThrottledSettings): Promise<ThrottledPlay> {
  const { services, workers, limits } = settings;
  const timeline: TimelineEntry[] = [];
  const note = (text: string) => void timeline.push({ atMs: stage.now(), text });
  stage.say(`a cluster with ${services.toLocaleString("en-US")} services`);
  const scene = await Scene.open(stage, {
    cluster: { profile: "1.7", flags: setupLimits, objects: fillerServices(services) },
    shop: { readyAfter },
    beforeReplicas: createFillerPod,
    otherServices: services,
  });
  const { cluster, observer } = scene;
  const watch = new QueueWatch({
    ...stage.environmentOf("observer"),
    metricsUrl: () => cluster.controlPlane.metricsUrl,
    now: () => stage.now(),
    queue: "endpoint",
  });
  watch.start(watchEveryMs);
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
 * A round is the time in which every service has its turn. The releases come half a round apart, at a
 * random phase, so that one of them waits for at least half a round.
 */
async function releaseAtSpreadMoments(
  scene: Pick<Scene, "stage" | "cluster" | "release">,
  { services, limits }: ThrottledSettings,
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
    stage.onTrouble?.(scene.cluster.access);
    await scene.release(String(release), releaseWithinMs);
    note(`release ${release} has reached every replica`);
  }
}

/** More workers, and fewer services, with everything else unchanged. */
async function compareSettings(open: OpenStage, settings: ThrottledSettings): Promise<Compared> {
  const withFew = { ...settings, workers: defaultWorkers };
  return {
    few: await playRounds(open, withFew),
    many: await playRounds(open, settings),
    saturatingServices: await saturatingServices(open, { ...withFew, most: settings.services }),
  };
}

export interface Rounds {
  /** Mean time from the enqueue of a service to the end of its sync. */
  readonly turnMs: number | undefined;
  /** Whether the queue was empty at some moment. */
  readonly didEmpty: boolean;
  /** Undefined when the log has no throttling line. */
  readonly loggedWaitMs: number | undefined;
}

/** Two periods, so that the result does not depend on the phase. */
const lookMs = 2 * enqueuePeriodMs;

/** With one service less than the limit allows, the queue is empty for 50 ms in a period. */
const lookEveryMs = 500;

const publishedPollMs = 1_000;

/** The search for the number of services that saturate the queue starts here, with this precision. */
const fewServices = 100;
const servicesStep = 50;

export function playRounds(open: OpenStage, options: ThrottledSettings): Promise<Rounds> {
  const { services, workers, limits } = options;
  return open(async (stage) => {
    const howMany = services.toLocaleString("en-US");
    stage.say(`${howMany} services, ${workers} workers, ${limits["kube-api-qps"]} requests/s`);
    const { cluster, client } = await startFilledCluster(stage, services);
    const { controlPlane } = cluster;
    await controlPlane.restart({ v: verbosity, "concurrent-endpoint-syncs": workers, ...limits });
    // In the first round all services are enqueued at once; the later rounds are measured.
    await stage.sleep((services / limits["kube-api-qps"]) * 1_000 + enqueuePeriodMs);
    const watch = new QueueWatch({
      ...stage.environmentOf("observer"),
      metricsUrl: () => controlPlane.metricsUrl,
      now: () => stage.now(),
      queue: "endpoint",
    });
    watch.start(lookEveryMs);
    await stage.sleep(lookMs);
    await watch.stop();
    const rounds: Rounds = {
      turnMs: watch.meanTurnMs,
      didEmpty: watch.depths.some(([, depth]) => depth === 0),
      loggedWaitMs: await longestLoggedWaitMs(client, lookMs),
    };
    await cluster.stop();
    return rounds;
  });
}

/** The number of services, to the nearest step, above which the queue is never empty. */
export async function saturatingServices(
  open: OpenStage,
  options: Omit<ThrottledSettings, "services"> & { readonly most: number },
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

/** Resolves when every service is published. */
async function startFilledCluster(stage: Stage, services: number) {
  const user = stage.environmentOf("user");
  const cluster = await startCluster({
    name: "blue",
    environmentOf: (part) => stage.environmentOf(part),
    hostOf: (part) => stage.hostOf(part),
    podNetwork: stage.podNetwork,
    ports: [6443],
    nodes: 1,
    profile: "1.7",
    flags: setupLimits,
    ledger: new Ledger(user),
    objects: fillerServices(services),
  });
  const client = new HttpKubeClient({ ...user, cluster: cluster.access, userAgent: "user" });
  await createFillerPod(client);
  while ((await publishedServices(client)) < services) await stage.sleep(publishedPollMs);
  return { cluster, client };
}
