// The incident `apiserver-fight`: four API servers run without --apiserver-count. Every ten seconds each
// of them makes itself the only server of the service `kubernetes`. Clients that watch through the
// service receive releases minutes late, and each replica by a different time. The write-up does not
// prove which mechanism froze the watches, so both possible ones are played.
import { durationText } from "../../../environment/duration-text.ts";
import { randomBetween } from "../../../environment/random.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { type ClusterAccess, fixedAccess } from "../../../kube/credentials/credentials.ts";
import type { Journey } from "../../../timeline/journey.ts";
import type { Cluster, ClusterServer } from "../../cluster.ts";
import { replicaNames, type SideName } from "../../comparison/side.ts";
import { reconcileEveryMs } from "../../kubernetes-service/kubernetes-service-reconciler.ts";
import { type ProxyMode, ServicePath } from "../../service-path/service-path.ts";
import type { Tally } from "../../traffic/tally.ts";
import type { Incident, IncidentFindings, Series, TimelineEntry } from "../incident.ts";
import { Scene } from "../scene.ts";
import { longestLagMs } from "../shop-observer.ts";
import type { OpenStage, PlaySize, Stage } from "../stage.ts";
import { lagSeries, lostSeries } from "../usual-findings.ts";
import { fightFindings, fixedFindings } from "./figures.ts";
import { type Listed, ListedServers, listChanges, type Period } from "./listed-servers.ts";
import { type FightSettings, shortSettings, writeUpSettings } from "./settings.ts";

export interface ApiserverFightOptions {
  readonly fix?: boolean;
  /** Differences from the write-up. */
  readonly settings?: Partial<FightSettings>;
}

export const apiserverFight: Incident = {
  name: "apiserver-fight",
  rule: "apiserver-fight",
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
      const usual = stage.size === "short" ? shortSettings : writeUpSettings;
      return playFight(stage, { ...usual, ...settings, ...own });
    });
  return fix ? playFixed(run, settings.servers ?? writeUpSettings.servers) : playFights(run);
}

type Run = (own: Partial<FightSettings>) => Promise<FightRun>;

/**
 * A lagging watch ends after five to ten minutes or a multiple of that. One release is enough to show
 * it, and a short play is too short for it.
 */
async function playFights(run: Run): Promise<IncidentFindings> {
  const cutOff = await run({ mechanism: "cut-off" });
  if (cutOff.size === "short") return fightFindings(cutOff);
  return fightFindings(cutOff, await run({ mechanism: "lagging-cache", releases: 1 }));
}

async function playFixed(run: Run, servers: number): Promise<IncidentFindings> {
  return fixedFindings({
    one: await run({ servers: 1 }),
    counted: await run({ apiserverCount: servers }),
    leases: await run({ reconcilerType: "lease" }),
  });
}

export interface FightRun {
  readonly settings: FightSettings;
  readonly size: PlaySize;
  readonly history: readonly Listed[];
  /** From the end of the setup to the end of the last release. */
  readonly period: Period;
  /** When each server logged that it reset the Endpoints, on the time of the stage. */
  readonly resets: readonly (readonly number[])[];
  readonly journeys: readonly Journey[];
  readonly tallies: Readonly<Record<SideName, Tally>>;
  readonly timeline: readonly TimelineEntry[];
  readonly series: readonly Series[];
}

const apiPort = 6443;

const ownerSeriesText = "changes of the addresses of the kubernetes service, per minute";

const minuteMs = 60_000;

/** A watch may reconnect to the lagging server a few times, and each watch lasts minutes. */
const releaseWithinMs = 4 * 3_600_000;

/** In full size a lag lasts minutes, so few requests are enough; else it lasts seconds. */
const requestsPerSecond = { full: 1, short: 8 } as const;

export async function playFight(stage: Stage, settings: FightSettings): Promise<FightRun> {
  const timeline: TimelineEntry[] = [];
  const note = (text: string): void => void timeline.push({ atMs: stage.now(), text });
  stage.say(settings.servers === 1 ? "one API server" : `${settings.servers} API servers`);
  const { scene, paths } = await openScene(stage, settings);
  note(`all replicas watch through the service kubernetes; ${mechanismText(settings)}`);
  // Now every server has reconciled once.
  await stage.sleep(reconcileEveryMs);
  const fromMs = stage.now();
  stage.onTrouble?.(scene.cluster.access);
  if (settings.mechanism === "lagging-cache") stopCacheOf(lastServer(scene.cluster), note);
  await stage.sleep(settings.pauseMs);
  const startedAt = scene.now();
  const traffic = scene.startTraffic(requestsPerSecond[stage.size]);
  for (let release = 1; release <= settings.releases; release += 1) {
    if (release > 1) await stage.sleep(randomBetween(stage.random, 0, settings.pauseMs));
    stage.say(`release ${release} of ${settings.releases}`);
    note(`release ${release}: every pod of the shop is replaced`);
    const journeys = await scene.release(String(release), releaseWithinMs);
    note(`release ${release} reached ${reachedText(journeys)}`);
  }
  const tallies = await traffic.finish();
  const toMs = stage.now();
  const instant = { observer: scene.now(), stageMs: toMs };
  const journeys = scene.observer.completeSince(startedAt);
  const resets = scene.cluster.servers.map((server) => resetTimes(stage, server));
  if (paths.cutOff > 0) note(`connections that went silent so far: ${paths.cutOff}`);
  await scene.stop();
  await paths.stop();
  const { history } = paths;
  return {
    settings,
    size: stage.size,
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

/** A server that is going to lag is listed when the replicas start, so that they all watch it. */
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
    beforeReplicas: async (_client, cluster) => {
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

/** Endpoints list addresses, and a simulated machine has only a name. */
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

/** One point a minute, at its start. */
function ownerSeries(history: readonly Listed[], { fromMs, toMs }: Period): Series {
  const minutes = Math.floor((toMs - fromMs) / minuteMs);
  const points = Array.from({ length: minutes }, (_, minute) => {
    const beginMs = fromMs + minute * minuteMs;
    const changes = listChanges(history, { fromMs: beginMs, toMs: beginMs + minuteMs });
    return [beginMs, changes] as const;
  });
  return { id: "owner-changes", text: ownerSeriesText, unit: "count", points };
}

/** How long the release took to reach each stock replica, and the last Lockstep replica. */
function reachedText(journeys: readonly Journey[]): string {
  const lag = (witnesses: string) => {
    const query = { hop: "routed", witnesses } as const;
    const lags = (["leave", "join"] as const).map(
      (direction) => longestLagMs(journeys, { ...query, direction }) ?? 0,
    );
    return durationText(Math.max(...lags));
  };
  const stock = replicaNames("stock").map((replica) => `${replica} after ${lag(replica)}`);
  return `${stock.join(", ")}, all Lockstep replicas after ${lag("lockstep-")}`;
}

function mechanismText({ mechanism, servers }: FightSettings): string {
  if (servers === 1) return "one API server";
  return mechanism === "cut-off"
    ? "a server that leaves the list loses its connections without an error"
    : "connections survive when their server leaves the list";
}

interface ReplicaPathsOptions {
  readonly stage: Stage;
  readonly cluster: Cluster;
  readonly mode: ProxyMode;
  /** How long a connection that was cut off stays silent. */
  readonly silence: { readonly minMs: number; readonly maxMs: number };
}

/** The port of the service on a replica's machine. */
const servicePort = 8443;

const lookEveryMs = 10;

/**
 * The replicas of both sides reach the API servers through the service `kubernetes`, each through the
 * kube-proxy of its own machine. The servers that the service lists are recorded.
 */
class ReplicaPaths {
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

  /** Resolves when every replica can reach the servers. */
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

  /** Connections that went silent so far. */
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

  /** Resolves when the server has just been listed. */
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

/** kube-proxy has its own kubeconfig, which names a server and not the service. */
function clientOf(stage: Stage, cluster: Cluster, machine: string): HttpKubeClient {
  const environment = stage.environmentOf(machine);
  return new HttpKubeClient({ ...environment, cluster: cluster.access, userAgent: "kube-proxy" });
}
