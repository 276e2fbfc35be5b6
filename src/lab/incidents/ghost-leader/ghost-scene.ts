// The scenery of the incident `ghost-leader`: one cluster, two ingresses in it whose replicas are
// pods, a watcher of each lock and of each list of Ingresses, and somebody who operates it all.
import type { MonotonicMs } from "../../../environment/clock.ts";
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
import { shopHops, storedBy } from "../scene.ts";
import { ShopObserver } from "../shop-observer.ts";
import type { Stage } from "../stage.ts";
import {
  type LockstepReplica,
  lockstepLock,
  publishedBy,
  type StockReplica,
  startLockstepReplica,
  startStockReplica,
} from "./ghost-replicas.ts";
import {
  createApp,
  createBackend,
  createIngresses,
  createNamespace,
  createPastLock,
  deletePod,
  type IngressApp,
  lockstepApp,
  releaseApp,
  releaseLabel,
  stockApp,
} from "./ingresses.ts";
import { LockHistory } from "./lock-watch.ts";
import type { GhostSettings } from "./settings.ts";
import { StatusBoard } from "./status-watch.ts";

export interface NamedGhost {
  readonly atMs: number;
  readonly report: GhostReport;
}

const lookAgainMs = 1_000;

/** Far more than pods, releases and elections need in the lab. */
const patienceMs = 600_000;

export class GhostScene {
  readonly stage: Stage;
  readonly client: KubeClient;
  readonly stockLock: LockReference;
  readonly stock: PodContainers<StockReplica>;
  readonly lockstep: PodContainers<LockstepReplica>;
  readonly boards: { readonly stock: StatusBoard; readonly lockstep: StatusBoard };
  readonly locks: { readonly stock: LockHistory; readonly lockstep: LockHistory };
  /** What Lockstep's replicas reported, in order. */
  readonly named: NamedGhost[] = [];
  /** When the API forgot each pod, by name. */
  readonly goneAtMs = new Map<string, number>();
  readonly #options: GhostSettings;
  readonly #cluster: Cluster;
  readonly #hops: HopLedger;
  readonly #observer: ShopObserver;
  /** From when on nothing is under way that was not begun by the play. */
  #quietAt: MonotonicMs | undefined;
  #release = "1";

  private constructor(stage: Stage, options: GhostSettings, cluster: Cluster, hops: HopLedger) {
    this.stage = stage;
    this.#options = options;
    this.#cluster = cluster;
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
    this.boards = {
      stock: new StatusBoard({
        ...seen,
        className: stockApp.className,
        isRight: (addresses) => addresses.length > 0,
      }),
      lockstep: new StatusBoard({
        ...seen,
        className: lockstepApp.className,
        isRight: (addresses) =>
          addresses.length === 1 && addresses[0]?.ip === publishedBy(this.#release),
      }),
    };
    this.locks = {
      stock: new LockHistory({ ...seen, lock: this.stockLock }),
      lockstep: new LockHistory({ ...seen, lock: lockstepLock }),
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
    await scene.#furnish();
    stage.invite?.({ access: cluster.access, proxies: [], accessLogs: [] });
    await scene.until("every status to be right", () => {
      const { stock, lockstep } = scene.boards;
      return [stock, lockstep].every((board) => board.total > 0 && board.right === board.total);
    });
    scene.#quietAt = stage.environmentOf("observer").clock.monotonicMs();
    return scene;
  }

  /** Waits for something that is to happen by itself. */
  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    const startedMs = this.stage.now();
    while (!(await isSo())) {
      if (this.stage.now() - startedMs > patienceMs) throw new Error(`waited in vain for ${what}`);
      await this.stage.sleep(lookAgainMs);
    }
  }

  /**
   * Takes machines out of the cluster whose containers are not told; resolves when the API has
   * forgotten their pods, which is the garbage collector's affair.
   */
  async removeMachines(nodes: ReadonlySet<string>): Promise<void> {
    for (const node of nodes) {
      this.stock.strand(node);
      this.lockstep.strand(node);
      await this.#cluster.expel(node);
    }
    await this.until("the pods of machines that are gone to go too", () => {
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
    this.boards.lockstep.look();
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
    // What is kept of the play is how it stood, not how it was cleared away.
    await this.stage.recorder?.finish(this.#cluster);
    await Promise.all([this.stock.stop(), this.lockstep.stop()]);
    const { boards, locks } = this;
    const watchers = [boards.stock, boards.lockstep, locks.stock, locks.lockstep];
    await Promise.all(watchers.map((watcher) => watcher.stop()));
    await this.#observer.stop();
    await this.#cluster.stop();
  }

  /** As it stands now, if it ever was quiet: what ends the play is no part of it. */
  #judgeObserver(): void {
    const since = this.#quietAt;
    this.#quietAt = undefined;
    if (since === undefined) return;
    const { journeys } = this.#observer;
    this.stage.accuracy.add({ journeys, ledger: this.#hops.changes, since });
  }

  async #furnish(): Promise<void> {
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
    const { boards, locks, stock, lockstep } = this;
    const parts = [boards.stock, boards.lockstep, locks.stock, locks.lockstep, stock, lockstep];
    for (const part of parts) part.start();
  }
}
