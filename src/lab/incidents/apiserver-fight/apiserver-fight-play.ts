// One run of `apiserver-fight`: several API servers that keep the service `kubernetes` by one
// reconciler, replicas of both sides that reach them through it, and releases under traffic. What
// makes a watch late is the mechanism; the write-up does not say which it was.

import { durationText } from "../../../environment/duration-text.ts";
import { randomBetween } from "../../../environment/random.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Cluster, ClusterServer } from "../../cluster.ts";
import {
  type KubernetesServiceFlags,
  reconcileEveryMs,
} from "../../kubernetes-service/kubernetes-service-reconciler.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { ProfileName } from "../../versions/profiles.ts";
import type { Series, TimelineEntry } from "../incident.ts";
import { replicaNames, type SideName } from "../ingress-sides.ts";
import { Scene } from "../scene.ts";
import { longestLagMs } from "../shop-observer.ts";
import type { Stage } from "../stage.ts";
import { lagSeries, lostSeries } from "../usual-series.ts";
import { type Listed, listChanges, type Period } from "./listed-servers.ts";
import { ReplicaPaths } from "./replica-paths.ts";

/**
 * `cut-off` is IPVS, which drops the packets of connections whose server was taken off the list.
 * `lagging-cache` is iptables, which leaves them alone, and one server whose watch cache stops.
 */
export type Mechanism = "cut-off" | "lagging-cache";

export interface FightSettings extends KubernetesServiceFlags {
  readonly servers: number;
  readonly profile: ProfileName;
  readonly mechanism: Mechanism;
  /** How long a connection that was cut off stays silent. */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
  readonly releases: number;
  /** From the beginning of the trouble to the first release, and between two at the most. */
  readonly pauseMs: number;
}

export interface FightRun {
  readonly settings: FightSettings;
  readonly mode: Stage["mode"];
  readonly history: readonly Listed[];
  /** From when all was set up to when the last release was through. */
  readonly period: Period;
  /** When each server logged that it reset the Endpoints, on the time of the stage. */
  readonly resets: readonly (readonly number[])[];
  readonly journeys: readonly Journey[];
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly timeline: readonly TimelineEntry[];
  readonly series: readonly Series[];
}

const apiPort = 6443;

const ownerSeriesText = "changes of the server listed for kubernetes, in a minute";

const minuteMs = 60_000;

/** A few unlucky turns in a row, each of which takes as long as a watch. */
const releaseWithinMs = 4 * 3_600_000;

/** Enough to count what is lost in minutes of lag; in real time the lag is one of seconds. */
const requestsPerSecond = { virtual: 1, live: 8 } as const;

export async function playFight(stage: Stage, settings: FightSettings): Promise<FightRun> {
  const timeline: TimelineEntry[] = [];
  const note = (text: string): void => void timeline.push({ atMs: stage.now(), text });
  stage.say(settings.servers === 1 ? "one API server" : `${settings.servers} API servers`);
  const { scene, paths } = await openScene(stage, settings);
  note(`all replicas have begun to watch through the service (${mechanismText(settings)})`);
  // By then every server has had its first turn.
  await stage.sleep(reconcileEveryMs);
  const fromMs = stage.now();
  if (settings.mechanism === "lagging-cache") stopCacheOf(lastServer(scene.cluster), note);
  await stage.sleep(settings.pauseMs);
  const startedAt = scene.now();
  const traffic = scene.startTraffic(requestsPerSecond[stage.mode]);
  for (let release = 1; release <= settings.releases; release += 1) {
    if (release > 1) await stage.sleep(randomBetween(stage.random, 0, settings.pauseMs));
    stage.say(`release ${release} of ${settings.releases}`);
    note(`release ${release}: every pod of the shop is replaced`);
    const journeys = await scene.release(String(release), releaseWithinMs);
    note(`release ${release} was late by ${reachedText(journeys)}`);
  }
  const tallies = await traffic.finish();
  const toMs = stage.now();
  const instant = { observer: scene.now(), stageMs: toMs };
  const journeys = scene.observer.completeSince(startedAt);
  const resets = scene.cluster.servers.map((server) => resetTimes(stage, server));
  if (paths.cutOff > 0) note(`until now ${paths.cutOff} connections fell silent`);
  await scene.stop();
  await paths.stop();
  const { history } = paths;
  return {
    settings,
    mode: stage.mode,
    history,
    period: { fromMs, toMs },
    resets,
    journeys,
    tallies,
    timeline,
    series: [
      ownerSeries(history, { fromMs, toMs }),
      ...lagSeries(journeys, instant),
      ...lostSeries(traffic.results, instant),
    ],
  };
}

/** The replicas are started while the last server is listed, if that is the one to lag. */
async function openScene(
  stage: Stage,
  settings: FightSettings,
): Promise<{ readonly scene: Scene; readonly paths: ReplicaPaths }> {
  const { mechanism, silence } = settings;
  let paths: ReplicaPaths | undefined;
  const scene = await Scene.open(stage, {
    cluster: {
      profile: settings.profile,
      ports: Array.from({ length: settings.servers }, () => apiPort),
      kubernetesService: settings,
      ...(stage.mode === "virtual" ? { serverAddressOf: virtualAddressOf } : {}),
    },
    furnish: async (_client, cluster) => {
      const mode = mechanism === "cut-off" ? "ipvs" : "iptables";
      paths = await ReplicaPaths.start({ stage, cluster, mode, silence });
      if (mechanism === "cut-off" || settings.servers === 1) return;
      await paths.untilListed(new URL(lastServer(cluster).url).hostname);
    },
    accessOf: (replica, cluster) => paths?.accessOf(replica) ?? cluster.access,
  });
  if (paths === undefined) throw new Error("the scene was opened without its paths");
  return { scene, paths };
}

/** In a simulation a machine has a name only, and Endpoints list addresses. */
function virtualAddressOf(server: string): string {
  const [, number = "1"] = /-server-(\d+)$/.exec(server) ?? [];
  return `10.0.0.${number}`;
}

function lastServer(cluster: Cluster): ClusterServer {
  const server = cluster.servers.at(-1);
  if (server === undefined) throw new Error("a cluster has at least one API server");
  return server;
}

function stopCacheOf(server: ClusterServer, note: (text: string) => void): void {
  server.apiServer.faults.cache.cacheLagMs = Number.POSITIVE_INFINITY;
  note(`the watch cache of ${new URL(server.url).hostname} stops following the storage`);
}

function resetTimes(stage: Stage, { klog, name }: ClusterServer): readonly number[] {
  const nowMs = stage.environmentOf(name).clock.wallMs();
  return klog
    .lines()
    .filter(({ text }) => text.includes("] Resetting endpoints for master service "))
    .map(({ at }) => stage.now() - (nowMs - at));
}

/** Over whole minutes, each shown from its beginning on. */
function ownerSeries(history: readonly Listed[], { fromMs, toMs }: Period): Series {
  const minutes = Math.floor((toMs - fromMs) / minuteMs);
  const points = Array.from({ length: minutes }, (_, minute) => {
    const beginMs = fromMs + minute * minuteMs;
    const changes = listChanges(history, { fromMs: beginMs, toMs: beginMs + minuteMs });
    return [beginMs, changes] as const;
  });
  return { id: "owner-changes", text: ownerSeriesText, unit: "count", points };
}

/** How late each replica of stock had the whole release, and the last one of Lockstep. */
function reachedText(journeys: readonly Journey[]): string {
  const lag = (witnesses: string) => {
    const query = { hop: "routed", witnesses } as const;
    const lags = (["leave", "join"] as const).map(
      (direction) => longestLagMs(journeys, { ...query, direction }) ?? 0,
    );
    return durationText(Math.max(...lags));
  };
  const stock = replicaNames("stock").map((replica) => `${lag(replica)} at ${replica}`);
  return `${stock.join(", ")}, and by ${lag("lockstep-")} at Lockstep's replicas`;
}

function mechanismText({ mechanism, servers }: FightSettings): string {
  if (servers === 1) return "one API server";
  return mechanism === "cut-off"
    ? "connections to a server that is taken off the list are cut off"
    : "connections stay where they are";
}
