// The incident `ghost-leader`: the leader of an ingress runs on a machine that was removed from the
// cluster. It keeps renewing its lock, so no other replica becomes leader. Its revision was replaced, so
// it finds no pod like itself and writes empty statuses. One of Lockstep's replicas is such a ghost too.
// Lockstep names both ghosts and deposes its own.

import type { MonotonicMs } from "../../../environment/clock.ts";
import { randomBetween, randomInt } from "../../../environment/random.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import type { Pod } from "../../../kube/kinds/pod.ts";
import type { GhostReport } from "../../../kube/leader/ghost-check.ts";
import type { LockReference } from "../../../kube/leader/lease-record.ts";
import { type Cluster, startCluster } from "../../cluster.ts";
import { Ledger } from "../../kubelet/ledger.ts";
import type { HopLedger } from "../../observed/hop-ledger.ts";
import { type Container, PodContainers } from "../../pod-containers.ts";
import { publishedServices } from "../../shop.ts";
import { ingressNginx } from "../../stock/ingress-nginx.ts";
import { stockReleases } from "../../stock/stock-release.ts";
import type { Incident, IncidentFindings, IncidentOptions, TimelineEntry } from "../incident.ts";
import { shopHops, storedBy } from "../scene.ts";
import { ShopObserver } from "../shop-observer.ts";
import type { OpenStage, Stage } from "../stage.ts";
import {
  type GhostLook,
  type GhostMeasured,
  type GhostRepair,
  type Ghosts,
  ghostFindings,
} from "./figures.ts";
import {
  createApp,
  createBackend,
  createIngresses,
  createNamespace,
  createPastLock,
  deletePod,
  editLock,
  type IngressApp,
  ingressHost,
  type LockstepReplica,
  lockstepApp,
  lockstepLock,
  podsBy,
  publishedBy,
  releaseApp,
  releaseLabel,
  type StockReplica,
  startLockstepReplica,
  startStockReplica,
  stockApp,
} from "./ingresses.ts";
import { LockWatch } from "./lock-watch.ts";
import { type GhostSettings, shortSettings, writeUpSettings } from "./settings.ts";
import { StatusWatch } from "./status-watch.ts";

export type GhostLeaderOptions = IncidentOptions & Partial<GhostSettings>;

export const ghostLeader: Incident = {
  name: "ghost-leader",
  rule: "ghost-leader",
  summary: "every Ingress shows Initializing and has an empty status; traffic works",
  cause:
    "only the leader writes status, and a pod that no longer exists in the API renews the lock; it " +
    "runs on a machine that was removed from the cluster but never switched off",
  fix: "edit the lock to name a pod that exists, then find and stop that machine",
  play: (open, options) => playGhostLeader(open, options),
};

/** In real time the times are shorter unless given. */
export async function playGhostLeader(
  open: OpenStage,
  { fix, ...chosen }: GhostLeaderOptions,
): Promise<IncidentFindings> {
  return open(async (stage) => {
    const settings = {
      ...writeUpSettings,
      ...(stage.size === "short" && shortSettings),
      ...chosen,
    };
    const timeline: TimelineEntry[] = [];
    const note = (text: string): void => {
      timeline.push({ atMs: stage.now(), text });
      stage.say(text);
    };
    const scene = await GhostScene.open(stage, settings);
    try {
      note("both ingresses have a leader, and every status names an address");
      const measured = await play(scene, { ...settings, fix }, note);
      return { timeline, ...ghostFindings(measured, settings) };
    } finally {
      await scene.stop();
    }
  });
}

type Settings = GhostSettings & IncidentOptions;

async function play(
  scene: GhostScene,
  settings: Settings,
  note: (text: string) => void,
): Promise<GhostMeasured> {
  const { stage } = scene;
  // Random, so that nothing happens in step with the syncs of the leader.
  const anyMoment = () => randomBetween(stage.random, 0, settings.statusUpdateIntervalMs);
  await stage.sleep(anyMoment());
  const ghosts = await makeGhosts(scene, note);
  await stage.sleep(settings.untilReleaseMs + anyMoment());
  await scene.release("2");
  const releasedAtMs = stage.now();
  note("a new release of both ingresses: no live pod has the old hash");
  await stage.sleep(settings.heldMs);
  const held = await lookAtGhost(scene, ghosts);
  await scene.restartStock();
  note("the operators have restarted every pod of the stock ingress");
  await stage.sleep(settings.heldMs + anyMoment());
  const afterRestart = await lookAtGhost(scene, ghosts);
  const fixed = settings.fix ? await repair(scene, settings, ghosts, note) : undefined;
  return {
    ghosts,
    releasedAtMs,
    endedAtMs: stage.now(),
    held,
    afterRestart,
    fixed,
    named: [...scene.named],
    statuses: scene.statuses,
    locks: scene.locks,
  };
}

/** Removes the machines of both leaders from the cluster; their containers keep running. */
async function makeGhosts(scene: GhostScene, note: (text: string) => void): Promise<Ghosts> {
  const stock = scene.stock
    .running()
    .find(({ pod }) => pod.metadata.name === scene.locks.stock.record?.holder);
  const lockstep = scene.lockstep
    .running()
    .find(({ container }) => container.identity === scene.locks.lockstep.record?.holder);
  if (stock === undefined || lockstep === undefined) throw new Error("a lock has no living holder");
  const nodes = new Set([stock.pod.nodeName, lockstep.pod.nodeName]);
  note(`removed from the cluster, still running: ${[...nodes].join(", ")}`);
  await scene.removeMachines(nodes);
  note("the pods of these machines are deleted from the API");
  scene.stage.onTrouble?.(scene.cluster.access);
  const goneAtMs = ({ metadata }: Pod) => scene.goneAtMs.get(metadata.name) ?? scene.stage.now();
  return {
    stock: { identity: stock.pod.metadata.name, goneAtMs: goneAtMs(stock.pod) },
    lockstep: { identity: lockstep.container.identity, goneAtMs: goneAtMs(lockstep.pod) },
    nodes,
  };
}

/** The state that operators could see during the incident. */
async function lookAtGhost(scene: GhostScene, ghosts: Ghosts): Promise<GhostLook> {
  const { stage, client, statuses } = scene;
  const { network } = stage.environmentOf("user");
  const live = scene.liveStock();
  const believes = (text: string): boolean =>
    text.includes("leader elected") && text.includes(ghosts.stock.identity);
  let answered = 0;
  for (const { container } of live) {
    const headers = { host: ingressHost(stockApp.className, 1) };
    const url = `http://${container.address}/`;
    const response = await network.request({ method: "GET", url, headers });
    if (response.status === 200) answered += 1;
    for await (const _ of response.body);
  }
  return {
    atMs: stage.now(),
    empty: statuses.stock.empty,
    total: statuses.stock.total,
    podsOfHolder: (await podsBy(client, `metadata.name=${ghosts.stock.identity}`)).length,
    replicas: live.length,
    believers: live.filter(({ container }) =>
      container.klog.lines().some(({ text }) => believes(text)),
    ).length,
    requests: live.length,
    answered,
  };
}

/** The lock is edited to name a live pod; later the removed machines are found and stopped. */
async function repair(
  scene: GhostScene,
  { statusUpdateIntervalMs, electionTtlMs }: Settings,
  ghosts: Ghosts,
  note: (text: string) => void,
): Promise<GhostRepair> {
  const { stage, client } = scene;
  const live = scene.liveStock();
  const chosen = live[randomInt(stage.random, live.length)]?.pod.metadata.name ?? "";
  const ghost = scene.stock
    .running()
    .find(({ pod }) => pod.metadata.name === ghosts.stock.identity);
  const leader = ghost?.container.leader;
  const triesBefore = leader?.counts.held ?? 0;
  const editedAtMs = stage.now();
  await editLock(client, scene.stockLock, chosen);
  note(`the lock is edited by hand to name ${chosen}`);
  while (leader?.isLeading && stage.now() - editedAtMs < electionTtlMs) await stage.sleep(100);
  const displacedMs = leader?.isLeading === false ? stage.now() - editedAtMs : undefined;
  await stage.sleep(3 * statusUpdateIntervalMs);
  const triesAfterEdit = (leader?.counts.held ?? 0) - triesBefore;
  const stoppedAtMs = stage.now();
  for (const node of ghosts.nodes) {
    await scene.stock.stopOn(node);
    await scene.lockstep.stopOn(node);
  }
  note("the removed machines are found and stopped");
  await stage.sleep(2 * statusUpdateIntervalMs);
  return { editedAtMs, stoppedAtMs, displacedMs, triesAfterEdit };
}

export interface NamedGhost {
  readonly atMs: number;
  readonly report: GhostReport;
}

const lookAgainMs = 1_000;

/** Much longer than pods, releases and elections need in the lab. */
const patienceMs = 600_000;

export class GhostScene {
  readonly stage: Stage;
  readonly client: KubeClient;
  readonly stockLock: LockReference;
  readonly stock: PodContainers<StockReplica>;
  readonly lockstep: PodContainers<LockstepReplica>;
  readonly statuses: { readonly stock: StatusWatch; readonly lockstep: StatusWatch };
  readonly locks: { readonly stock: LockWatch; readonly lockstep: LockWatch };
  /** Reports of Lockstep's replicas, in order. */
  readonly named: NamedGhost[] = [];
  /** When each pod was deleted from the API, by name. */
  readonly goneAtMs = new Map<string, number>();
  readonly #options: GhostSettings;
  readonly cluster: Cluster;
  readonly #hops: HopLedger;
  readonly #observer: ShopObserver;
  /** From now on every change was made by the play. */
  #quietAt: MonotonicMs | undefined;
  #release = "1";

  private constructor(stage: Stage, options: GhostSettings, cluster: Cluster, hops: HopLedger) {
    this.stage = stage;
    this.#options = options;
    this.cluster = cluster;
    this.#hops = hops;
    const { access } = cluster;
    const watcher = { ...stage.environmentOf("watcher"), cluster: cluster.name };
    this.client = new HttpKubeClient({
      ...stage.environmentOf("user"),
      cluster: access,
      userAgent: "kubectl",
    });
    const observing = { ...stage.environmentOf("observer"), client: this.client };
    this.#observer = new ShopObserver({
      ...observing,
      cluster: cluster.name,
      onRouted: stage.truth?.routed,
    });
    const release = stockReleases[options.stockRelease];
    const name = release.lockName(ingressNginx.electionId, stockApp.className);
    this.stockLock = { kind: release.lockKind, namespace: stockApp.namespace, name };
    const seen = { ...watcher, client: this.client, now: () => stage.now() };
    const containers = <C extends Container>(app: IngressApp, start: (pod: Pod) => Promise<C>) =>
      new PodContainers({
        ...seen,
        namespace: app.namespace,
        labelSelector: `app=${app.name}`,
        start,
        onGone: ({ metadata }) => void this.goneAtMs.set(metadata.name, stage.now()),
      });
    const witnessOf = (replica: string) => this.#observer.replica(replica);
    const world = { stage, access, logs: cluster.logs, hops, witnessOf };
    this.stock = containers(stockApp, (pod) =>
      startStockReplica(world, pod, { ...options, release: options.stockRelease }),
    );
    this.lockstep = containers(lockstepApp, async (pod) =>
      startLockstepReplica(world, pod, {
        watchedLock: this.stockLock,
        deposeGhosts: options.deposeGhosts,
        times: options.lockstepTimes,
        onGhost: (report) => void this.named.push({ atMs: stage.now(), report }),
      }),
    );
    this.statuses = {
      stock: new StatusWatch({
        ...seen,
        className: stockApp.className,
        isRight: (addresses) => addresses.length > 0,
      }),
      lockstep: new StatusWatch({
        ...seen,
        className: lockstepApp.className,
        isRight: (addresses) =>
          addresses.length === 1 && addresses[0]?.ip === publishedBy(this.#release),
      }),
    };
    this.locks = {
      stock: new LockWatch({ ...seen, lock: this.stockLock }),
      lockstep: new LockWatch({ ...seen, lock: lockstepLock }),
    };
  }

  /** Resolves when both ingresses have a leader and every status is right. */
  static async open(stage: Stage, options: GhostSettings): Promise<GhostScene> {
    stage.say("starting a cluster with two ingresses");
    const user = stage.environmentOf("user");
    const hops = shopHops(stage);
    const cluster = await startCluster({
      name: "blue",
      environmentOf: (part) => stage.environmentOf(part),
      hostOf: (part) => stage.hostOf(part),
      ports: [stage.mode === "virtual" ? 6443 : 0],
      nodes: options.nodes,
      profile: options.profile,
      // One controller manager needs no lock, and time passes faster without its renewals.
      flags: { "leader-elect": false },
      podNetwork: stage.podNetwork,
      ledger: new Ledger(user),
      onStored: storedBy(stage, hops),
      ...(stage.recorder !== undefined && { recorder: stage.recorder }),
    });
    const scene = new GhostScene(stage, options, cluster, hops);
    await scene.#createObjects();
    stage.onObservable?.({ access: cluster.access, proxies: [], accessLogs: [] });
    await scene.until("every status to be right", () => {
      const { stock, lockstep } = scene.statuses;
      return [stock, lockstep].every((status) => status.total > 0 && status.right === status.total);
    });
    scene.#quietAt = stage.environmentOf("observer").clock.monotonicMs();
    return scene;
  }

  /** Waits for something that happens by itself. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const startedMs = this.stage.now();
    while (!(await isSo())) {
      if (this.stage.now() - startedMs > patienceMs)
        throw new Error(`timed out waiting for ${what}`);
      await this.stage.sleep(lookAgainMs);
    }
  }

  /**
   * Removes machines from the cluster while their containers keep running. Resolves when the garbage
   * collector has deleted their pods.
   */
  async removeMachines(nodes: ReadonlySet<string>): Promise<void> {
    for (const node of nodes) {
      this.stock.strand(node);
      this.lockstep.strand(node);
      await this.cluster.removeFromCluster(node);
    }
    await this.until("the deletion of the pods of removed machines", () => {
      const stray = [...this.stock.running(), ...this.lockstep.running()];
      return stray.every(({ pod, isStray }) => !isStray || this.goneAtMs.has(pod.metadata.name));
    });
  }

  /** Both ingresses; resolves when all pods are of the new release. */
  async release(release: string): Promise<void> {
    await releaseApp(this.client, stockApp, release);
    await releaseApp(this.client, lockstepApp, release);
    const { replicas } = this.#options;
    const isReleased = (containers: readonly { pod: Pod; isStray: boolean }[]): boolean => {
      const own = containers.filter(({ isStray }) => !isStray);
      const isNew = ({ pod }: { pod: Pod }) => pod.metadata.labels[releaseLabel] === release;
      return own.length === replicas && own.every(isNew);
    };
    await this.until(
      "the release",
      () => isReleased(this.stock.running()) && isReleased(this.lockstep.running()),
    );
    this.#release = release;
    this.statuses.lockstep.look();
  }

  /** `kubectl delete pod` for each of stock's; resolves when others run in their place. */
  async restartStock(): Promise<void> {
    const before = new Set(this.liveStock().map(({ pod }) => pod.metadata.uid));
    for (const { pod } of this.liveStock()) {
      await deletePod(this.client, pod.metadata);
    }
    await this.until("the restart of stock", () => {
      const live = this.liveStock();
      const isNew = live.every(({ pod }) => !before.has(pod.metadata.uid));
      return live.length === this.#options.replicas && isNew;
    });
  }

  /** Replicas whose pods are in the cluster. */
  liveStock() {
    return this.stock.running().filter(({ isStray }) => !isStray);
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#judgeObserver();
    // Before anything is stopped, because stopping is no part of the play.
    await this.stage.recorder?.finish(this.cluster);
    await Promise.all([this.stock.stop(), this.lockstep.stop()]);
    const { statuses, locks } = this;
    const watchers = [statuses.stock, statuses.lockstep, locks.stock, locks.lockstep];
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    await this.#observer.stop();
    await this.cluster.stop();
  }

  /** Before anything is stopped; not at all when the start failed. */
  #judgeObserver(): void {
    const since = this.#quietAt;
    this.#quietAt = undefined;
    if (since === undefined) return;
    const { journeys } = this.#observer;
    this.stage.accuracy.add({ journeys, ledger: this.#hops.changes, since });
  }

  async #createObjects(): Promise<void> {
    const { client, stage } = this;
    const { replicas, ingresses, formerTransitions, electionTtlMs } = this.#options;
    await createBackend(client);
    await this.until("the backend", async () => (await publishedServices(client)) > 0);
    await this.#observer.start();
    for (const { namespace } of [stockApp, lockstepApp]) await createNamespace(client, namespace);
    const at = stage.environmentOf("user").clock.wallMs();
    const past = { transitions: formerTransitions, leaseDurationMs: electionTtlMs, at };
    await createPastLock(client, this.stockLock, past);
    for (const app of [stockApp, lockstepApp]) {
      await createIngresses(client, app.className, ingresses);
      await createApp(client, app, { replicas, release: this.#release });
    }
    const { statuses, locks, stock, lockstep } = this;
    const parts = [statuses.stock, statuses.lockstep, locks.stock, locks.lockstep, stock, lockstep];
    for (const part of parts) part.start();
  }
}
