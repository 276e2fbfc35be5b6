// What the rounds of a 1.7 controller do, without a release and without traffic: a cluster whose
// services exist and stay as they are, looked at through metrics and log. For the figures that
// compare settings with each other.
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { startCluster } from "../../cluster.ts";
import type { ControllerFlags } from "../../controllers/flags.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import { ControllerWatch } from "../../probe/queue-watch.ts";
import { longestLoggedWaitMs } from "../../probe/throttling-waits.ts";
import { createCrowdPod, crowdServices, publishedServices } from "../../shop.ts";
import type { OpenStage, Stage } from "../stage.ts";

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
