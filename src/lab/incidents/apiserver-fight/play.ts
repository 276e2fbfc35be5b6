// One run of `apiserver-fight`: several API servers that keep the service `kubernetes` by one
// reconciler, replicas of both sides that reach them through it, and releases under traffic. What
// makes a watch late is the mechanism; the write-up does not say which it was.
import { durationText } from "../../../environment/duration-text.ts";
import { randomBetween } from "../../../environment/random.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../../../kube/credentials/credentials.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Cluster, ClusterServer } from "../../cluster.ts";
import { replicaNames, type SideName } from "../../comparison/side.ts";
import type { ProfileName } from "../../controllers/profiles.ts";
import type { KubernetesServiceFlags } from "../../kubernetes-service/kept-service.ts";
import { reconcileEveryMs } from "../../kubernetes-service/kubernetes-service.ts";
import {
  keepAlivePatienceMs,
  retransmissionPatienceMs,
} from "../../service-path/kernel-patience.ts";
import { type ProxyMode, ServicePath } from "../../service-path/service-path.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { Incident, IncidentFindings, Series, TimelineEntry } from "../incident.ts";
import { Scene } from "../scene.ts";
import { longestLagMs } from "../shop-observer.ts";
import type { OpenStage, Stage } from "../stage.ts";
import { lagSeries, lostSeries } from "../usual-findings.ts";
import { fightFigures, fightMeasures, fixedFigures, lateness, latenessFigures } from "./figures.ts";
import { type Listed, ListedServers, listChanges, type Period } from "./listed-servers.ts";

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

export interface ReplicaPathsOptions {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly mode: ProxyMode;
  /** How long a connection that was cut off stays silent. */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
}

/** Where a replica's machine has the service. */
const servicePort = 8443;

const lookEveryMs = 10;

export class ReplicaPaths {
  readonly #options: ReplicaPathsOptions;
  readonly #listed: ListedServers;
  readonly #paths = new Map<string, ServicePath>();

  private constructor(options: ReplicaPathsOptions) {
    const { stage, cluster } = options;
    this.#options = options;
    const observer = stage.environmentOf("observer");
    this.#listed = new ListedServers({
      ...observer,
      client: clientOf(stage, cluster, "observer"),
      cluster: cluster.name,
      now: () => stage.now(),
    });
  }

  /** Resolves when every replica has its path. */
  static async start(options: ReplicaPathsOptions): Promise<ReplicaPaths> {
    const paths = new ReplicaPaths(options);
    await paths.#listed.start();
    for (const replica of [...replicaNames("stock"), ...replicaNames("lockstep")]) {
      await paths.#startPath(replica);
    }
    return paths;
  }

  get history(): readonly Listed[] {
    return this.#listed.history;
  }

  /** Connections that fell silent so far. */
  get cutOff(): number {
    return [...this.#paths.values()].reduce((sum, path) => sum + path.cutOff, 0);
  }

  accessOf(replica: string): ClusterAccess {
    const { cluster } = this.#options;
    const path = this.#paths.get(replica);
    if (path === undefined) return cluster.access;
    const { token = "" } = cluster.servers[0] ?? {};
    return fixedAccess({ name: cluster.name, server: path.url, token });
  }

  /** Resolves as the server has just been put on the list. */
  async untilListed(address: string): Promise<void> {
    const isListed = () => this.history.at(-1)?.addresses.includes(address) === true;
    while (isListed()) await this.#options.stage.sleep(lookEveryMs);
    while (!isListed()) await this.#options.stage.sleep(lookEveryMs);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#listed.stop();
    await Promise.all([...this.#paths.values()].map((path) => path.stop()));
  }

  async #startPath(replica: string): Promise<void> {
    const { stage, cluster, mode, silence } = this.#options;
    const path = new ServicePath({
      ...stage.environmentOf(replica),
      client: clientOf(stage, cluster, replica),
      cluster: cluster.name,
      mode,
      silence,
      host: stage.hostOf(replica),
      port: servicePort,
    });
    await path.start();
    this.#paths.set(replica, path);
  }
}

/** kube-proxy has a kubeconfig of its own, which leads to a server and not to the service. */
function clientOf(stage: Stage, cluster: Cluster, machine: string): HttpKubeClient {
  const environment = stage.environmentOf(machine);
  return new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: "kube-proxy" });
}

export interface ApiserverFightOptions {
  readonly fix?: boolean;
  /** What differs from the write-up's cluster. */
  readonly settings?: Partial<FightSettings>;
}

/** As in the write-up, by its log lines a 1.9 or 1.10; neither set the count nor the reconciler. */
const usual: FightSettings = {
  servers: 4,
  profile: "1.9",
  mechanism: "cut-off",
  silence: { minMs: keepAlivePatienceMs, maxMs: retransmissionPatienceMs },
  releases: 2,
  pauseMs: 180_000,
};

/** In real time nobody waits for a kernel. */
const liveSettings: Partial<FightSettings> = {
  silence: { minMs: 15_000, maxMs: 45_000 },
  releases: 1,
  pauseMs: 40_000,
};

export const apiserverFight: Incident = {
  name: "apiserver-fight",
  summary:
    "after a release nginx keeps the addresses of deleted pods for up to ten minutes, " +
    "each of three replicas for a different time",
  cause:
    "several API servers without --apiserver-count; every ten seconds each server makes its own " +
    "address the only one of the kubernetes service, and watches through it stop without an error",
  fix: "one API server, or the correct --apiserver-count, or --endpoint-reconciler-type=lease",
  play: (open, { fix }) => playApiserverFight(open, { fix }),
};

export function playApiserverFight(
  open: OpenStage,
  { fix = false, settings = {} }: ApiserverFightOptions,
): Promise<IncidentFindings> {
  const run = (own: Partial<FightSettings>): Promise<FightRun> =>
    open((stage) => {
      const pace = stage.mode === "live" ? liveSettings : {};
      return playFight(stage, { ...usual, ...pace, ...settings, ...own });
    });
  return fix ? playFixed(run, settings.servers ?? usual.servers) : playFights(run);
}

type Run = (own: Partial<FightSettings>) => Promise<FightRun>;

/**
 * A lag ends with the watch that has it, after five to ten minutes or a multiple: one release shows
 * the second way, and in real time it is left out.
 */
async function playFights(run: Run): Promise<IncidentFindings> {
  const cutOff = await run({ mechanism: "cut-off" });
  if (cutOff.mode === "live") return findingsOf(cutOff);
  const lagging = await run({ mechanism: "lagging-cache", releases: 1 });
  const findings = findingsOf(cutOff);
  return {
    ...findings,
    timeline: [...cutOff.timeline, ...again("with a lagging watch cache", lagging.timeline)],
    figures: [...findings.figures, ...latenessFigures(lagging)],
    measures: fightMeasures([cutOff, lagging]),
    fitted: [
      ...findings.fitted,
      "two possible mechanisms, replayed one after the other; the report does not name one",
      "lagging cache: all three replicas watch the server that lags. A watch that ends may " +
        "reconnect to it and lag again, so 10 min is not an upper bound",
    ],
  };
}

function findingsOf(cutOff: FightRun): IncidentFindings {
  const { timeline, series } = cutOff;
  const figures = [...fightFigures(cutOff), ...latenessFigures(cutOff)];
  return {
    timeline,
    figures,
    measures: fightMeasures([cutOff]),
    series,
    fitted: fittedIn(cutOff),
  };
}

async function playFixed(run: Run, servers: number): Promise<IncidentFindings> {
  const one = await run({ servers: 1 });
  const counted = await run({ apiserverCount: servers });
  const leases = await run({ reconcilerType: "lease" });
  return {
    timeline: [
      ...one.timeline,
      theSame("with the right count", counted, 2),
      theSame("with leases", leases, 3),
    ],
    figures: [
      ...fixedFigures("one-server", "one server", one),
      ...fixedFigures("right-count", "the right count", counted),
      ...fixedFigures("leases", "leases", leases),
    ],
    measures: fightMeasures([one, counted, leases]),
    series: one.series,
    fitted: ["the count and the leases do not help against a server whose watch cache lags"],
  };
}

/** Once more on a second stage. */
function again(how: string, timeline: readonly TimelineEntry[]): readonly TimelineEntry[] {
  return timeline.map(({ atMs, text }, index) => ({
    stage: 2,
    atMs,
    text: index === 0 ? `again, ${how}: ${text}` : text,
  }));
}

/** A run that went as the one before did is told in a line. */
function theSame(how: string, { journeys, period }: FightRun, stage: number): TimelineEntry {
  const { longestMs = 0, spreadMs = 0 } = lateness(journeys);
  const text =
    `the same ${how}: the releases were late by at most ${durationText(longestMs)} at stock's ` +
    `replicas, which were ${durationText(spreadMs)} apart`;
  return { stage, atMs: period.toMs, text };
}

function fittedIn({ settings: { silence }, mode }: FightRun): readonly string[] {
  const between = ({ minMs, maxMs }: FightSettings["silence"]) =>
    `${durationText(minMs)} to ${durationText(maxMs)}`;
  const bounds =
    mode === "live"
      ? `real kernels take ${between(usual.silence)}`
      : "drawn at random between the kernel's bounds";
  return [
    `a connection cut off by IPVS stays silent for ${between(silence)}, ${bounds}`,
    "connections to a server stay dead after it is listed again; some kernels revive them",
    "every watch has its own connection; with HTTP/2 all watches of a replica would stop together",
  ];
}
