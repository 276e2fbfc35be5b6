// The observation of one cluster, which stands alone: it asks how the cluster publishes, begins to
// watch as soon as it is answered, and says how it stands at any time. Whatever happens to it, no
// other cluster waits for it.
import type { MonotonicMs } from "../environment/clock.ts";
import { StatusError } from "../kube/client/client.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { type Node, nodeKind } from "../kube/kinds/node.ts";
import { Backoff } from "../kube/reflector/backoff.ts";
import { SyncGate } from "../kube/reflector/reflector-sync.ts";
import { askPublishedForm, type PublishedForm } from "../sources/published-form.ts";
import type { ObservationSink } from "../timeline/observation.ts";
import type { Hop } from "../timeline/witness.ts";
import {
  type Beginning,
  type ClusterStatus,
  clusterStatus,
  type ObservedResource,
} from "./cluster-status.ts";
import { ClusterWitness } from "./cluster-witness.ts";
import type { CopyOrigin } from "./copy-origin.ts";
import { type AnyObservedWatch, ObservedWatch, type WatchPlace } from "./observed-watch.ts";
import { askPermissions, type ClusterPermissions, unasked, type Verdict } from "./permissions.ts";
import { type ClusterPreview, previewCluster, unpreviewed } from "./preview.ts";
import { problemText } from "./problem-text.ts";
import { SyncedWitness } from "./synced-witness.ts";
import { type ClusterPart, type PlannedWatch, plannedWatches } from "./watch-plan.ts";

/** `auto` asks the cluster; the other is for whoever follows what is no longer usual. */
export type ObservedForm = PublishedForm | "auto";

/** Since Kubernetes 1.21. */
const usualForm: PublishedForm = "endpointslices";

/** What an older server does not serve. */
const absentKind: ObservedResource = "endpointslices";

export interface ClusterObservationOptions extends Omit<WatchPlace, "namespace">, ClusterPart {
  readonly form: ObservedForm;
  readonly originOf: CopyOrigin;
  readonly sink: ObservationSink;
}

export class ClusterObservation {
  readonly #options: ClusterObservationOptions;
  /** Opens when it is known what to watch. */
  readonly #begun = new SyncGate();
  readonly #abort = new AbortController();
  #form: PublishedForm | undefined;
  /** An old server has none; they are watched for all the same, in case it is replaced. */
  #hasSlices = true;
  #problem: Beginning["problem"];
  #startedAt: MonotonicMs;
  #witnesses: readonly (ClusterWitness | SyncedWitness)[] = [];
  #nodes: ObservedWatch<Node> | undefined;
  #running: Promise<void> | undefined;

  constructor(options: ClusterObservationOptions) {
    this.#options = options;
    this.#startedAt = options.clock.monotonicMs();
  }

  get cluster(): string {
    return this.#options.cluster;
  }

  /** How the cluster publishes; it is asked unless it is known, and rejects without an answer. */
  async form(signal: AbortSignal): Promise<PublishedForm> {
    const { form } = this.#options;
    this.#form ??= form === "auto" ? await this.#askForm(signal) : form;
    return this.#form;
  }

  /** What may be read; never rejects. */
  async permissions(signal: AbortSignal): Promise<ClusterPermissions> {
    const { plan, problem } = await this.#plan(signal);
    const { cluster, client } = this.#options;
    return problem === undefined
      ? askPermissions({ cluster, client, plan }, signal)
      : unasked(cluster, plan, problem);
  }

  /** What will be listed and watched; never rejects. */
  async preview(signal: AbortSignal): Promise<ClusterPreview> {
    const { plan, problem } = await this.#plan(signal);
    const { cluster, client } = this.#options;
    return problem === undefined
      ? previewCluster({ cluster, client, plan }, signal)
      : unpreviewed(cluster, plan, problem);
  }

  status(): ClusterStatus {
    const watches = this.#watches.map(({ status }) => status);
    const beginning = { startedAt: this.#startedAt, problem: this.#problem };
    return clusterStatus({ ...this.#options, hasSlices: this.#hasSlices }, beginning, watches);
  }

  /**
   * The watermark of the hop: all that was so of the service there then has been reported. Undefined
   * where no watch reports it.
   */
  watermark(hop: Hop, service: string): MonotonicMs | undefined {
    let least: MonotonicMs | undefined;
    for (const { currentAt } of this.#watchesAt(hop, service)) {
      if (least === undefined || currentAt < least) least = currentAt;
    }
    return least;
  }

  /** Begins; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when all is listed that may be; rejects when the signal aborts or it is stopped. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await this.#begun.wait(signal);
    await Promise.all(this.#witnesses.map((witness) => witness.waitForSync(signal)));
    await this.#nodes?.waitUntilSettled(signal);
  }

  /** Time passes without anybody telling: to be called every second or so. */
  look(): void {
    for (const witness of this.#witnesses) witness.look();
    this.#nodes?.look();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the observation was stopped"));
    this.#begun.close();
    await this.#running;
    await Promise.all([...this.#witnesses.map((one) => one.stop()), this.#nodes?.stop()]);
  }

  get #watches(): readonly AnyObservedWatch[] {
    const nodes = this.#nodes === undefined ? [] : [this.#nodes];
    return [...this.#witnesses.flatMap(({ watches }) => watches), ...nodes];
  }

  /** Those by which the service's namespace is watched: what happens to another one's is its own. */
  #watchesAt(hop: Hop, service: string): readonly AnyObservedWatch[] {
    const { namespace } = splitObjectKey(service);
    const isOf = (watched: string | undefined) => watched === undefined || watched === namespace;
    const witnesses = this.#witnesses.filter((witness) => isOf(witness.namespace));
    return witnesses.flatMap((witness) => witness.watchesAt(hop));
  }

  /** Endpoints too where only they may be read, as with the role `view` of some versions. */
  async #askForm(signal: AbortSignal): Promise<PublishedForm> {
    const { cluster, client, isBusiness, namespaces = [undefined] } = this.#options;
    const usual = await askPublishedForm(client, signal);
    this.#hasSlices = usual === "endpointslices";
    if (usual === "endpoints" || !isBusiness) return usual;
    const verdictsOn = async (resource: PublishedForm): Promise<readonly Verdict[]> => {
      const purposes = ["published"] as const;
      const plan = namespaces.map((namespace) => ({ resource, namespace, purposes }));
      const { permissions } = await askPermissions({ cluster, client, plan }, signal);
      return permissions.map(({ verdict }) => verdict);
    };
    const onSlices = await verdictsOn("endpointslices");
    if (!onSlices.every((verdict) => verdict === "denied")) return usual;
    const onEndpoints = await verdictsOn("endpoints");
    return onEndpoints.includes("allowed") ? "endpoints" : usual;
  }

  /** What the server has of what will be watched; of a cluster that does not answer, the usual. */
  async #plan(
    signal: AbortSignal,
  ): Promise<{ readonly plan: readonly PlannedWatch[]; readonly problem: string | undefined }> {
    try {
      const plan = plannedWatches(this.#options, await this.form(signal));
      const served = plan.filter(({ resource }) => this.#hasSlices || resource !== absentKind);
      return { plan: served, problem: undefined };
    } catch (error) {
      const plan = plannedWatches(this.#options, usualForm);
      return { plan, problem: problemText(error, signal) };
    }
  }

  async #run(): Promise<void> {
    this.#startedAt = this.#options.clock.monotonicMs();
    const form = await this.#askUntilAnswered();
    if (form === undefined) return;
    this.#problem = undefined;
    if (this.#options.isBusiness && this.#options.nodes) this.#nodes = this.#watchNodes();
    this.#nodes?.start();
    this.#witnesses = this.#witnessesFor(form);
    for (const witness of this.#witnesses) witness.start();
    this.#begun.open();
  }

  /** Undefined when it was stopped before. */
  async #askUntilAnswered(): Promise<PublishedForm | undefined> {
    const { signal } = this.#abort;
    const { timers, log, cluster } = this.#options;
    const backoff = new Backoff(this.#options);
    while (!signal.aborted) {
      try {
        return await this.form(signal);
      } catch (error) {
        if (signal.aborted) break;
        const refused = error instanceof StatusError && error.code === 401;
        this.#problem = { refused, detail: problemText(error) };
        log.warn("could not ask a cluster how it publishes endpoints", { cluster, error });
        await timers.sleep(backoff.next(), signal).catch(() => undefined);
      }
    }
    return undefined;
  }

  #witnessesFor(form: PublishedForm): readonly (ClusterWitness | SyncedWitness)[] {
    const { isBusiness, isAccess, originOf, namespaces = [undefined] } = this.#options;
    const isShared = isBusiness && isAccess && form === "endpointslices";
    return namespaces.flatMap((namespace) => {
      const place = { ...this.#options, ...(namespace !== undefined && { namespace }) };
      const copies = isShared ? originOf : undefined;
      const business = { ...place, form, nodes: this.#nodes, originOf: copies };
      return [
        ...(isBusiness ? [new ClusterWitness(business)] : []),
        ...(isAccess && !isShared ? [new SyncedWitness(place)] : []),
      ];
    });
  }

  #watchNodes(): ObservedWatch<Node> {
    return new ObservedWatch({
      ...this.#options,
      kind: nodeKind,
      resource: "nodes",
      purposes: ["cause"],
      indexes: {},
      onChange: () => undefined,
    });
  }
}
