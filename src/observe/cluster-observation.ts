// The observation of one cluster, independent of all others: it asks the cluster for its published
// form, watches as soon as it is answered, and reports its status at any time. No other cluster
// waits for it.
import type { MonotonicMs } from "../environment/clock.ts";
import { StatusError } from "../kube/client/client.ts";
import { Backoff } from "../kube/reflector/backoff.ts";
import { SyncGate } from "../kube/reflector/reflector-sync.ts";
import { askPublishedForm, type PublishedForm } from "../sources/published-form.ts";
import type { Hop } from "../timeline/witness.ts";
import {
  type Beginning,
  type ClusterStanding,
  type ClusterStatus,
  clusterState,
  clusterStatus,
  type ObservedResource,
  type ObservedWatchStatus,
} from "./cluster-status.ts";
import { ClusterWitnesses, type WitnessedPart } from "./cluster-witnesses.ts";
import { openWatches, type WatchMeans } from "./observed-watch.ts";
import type { ObserverTap } from "./observer-tap.ts";
import { askPermissions, type ClusterPermissions, unasked, type Verdict } from "./permissions.ts";
import { type ClusterPreview, previewCluster, unpreviewed } from "./preview.ts";
import { problemText } from "./problem-text.ts";
import { type PlannedWatch, plannedWatches } from "./watch-plan.ts";

/** `auto` asks the cluster; the others select a form that is no longer usual. */
export type ObservedForm = PublishedForm | "auto";

/** Since Kubernetes 1.21. */
const usualForm: PublishedForm = "endpointslices";

/** The resource that older servers lack. */
const absentKind: ObservedResource = "endpointslices";

export interface ClusterObservationOptions extends WatchMeans, WitnessedPart {
  readonly form: ObservedForm;
  readonly tap?: ObserverTap;
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
  #witnesses: ClusterWitnesses | undefined;
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

  /** The permissions of the observer; never rejects. */
  async permissions(signal: AbortSignal): Promise<ClusterPermissions> {
    const { plan, problem } = await this.#plan(signal);
    const { cluster, client } = this.#options;
    return problem === undefined
      ? askPermissions({ cluster, client, plan }, signal)
      : unasked(cluster, plan, problem);
  }

  /** The planned lists and watches; never rejects. */
  async preview(signal: AbortSignal): Promise<ClusterPreview> {
    const { plan, problem } = await this.#plan(signal);
    const { cluster, client } = this.#options;
    return problem === undefined
      ? previewCluster({ cluster, client, plan }, signal)
      : unpreviewed(cluster, plan, problem);
  }

  status(): ClusterStatus {
    const standing = this.#standing();
    const { tap } = this.#options;
    if (tap !== undefined) {
      // Records the current state with the answer.
      for (const watch of this.#witnesses?.watches ?? []) watch.look();
      tap.standing(this.cluster, standing);
    }
    return clusterStatus(this.cluster, standing, this.#watchStatuses());
  }

  /**
   * The watermark of the hop: all that was so of the service there then has been reported. Undefined
   * where no watch reports it.
   */
  watermark(hop: Hop, service: string): MonotonicMs | undefined {
    return this.#witnesses?.watermark(hop, service);
  }

  /** Whether it is the address of the service itself, and not of one of its endpoints. */
  isServiceAddress(service: string, address: string): boolean {
    return this.#witnesses?.isServiceAddress(service, address) === true;
  }

  /** Begins; a second call does nothing. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves when all is listed that may be; rejects when the signal aborts or it is stopped. */
  async waitForSync(signal?: AbortSignal): Promise<void> {
    await this.#begun.wait(signal);
    await this.#witnesses?.waitForSync(signal);
  }

  /** Checks for changes that come with time alone; call it about every second. */
  look(): void {
    this.#witnesses?.look();
    this.#options.tap?.standing(this.cluster, this.#standing());
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the observation was stopped"));
    this.#begun.close();
    await this.#running;
    await this.#witnesses?.stop();
  }

  #standing(): ClusterStanding {
    const beginning = { startedAt: this.#startedAt, problem: this.#problem };
    const watches = this.#watchStatuses();
    const state = clusterState(beginning, watches, this.#options.clock.monotonicMs());
    return { state, hasSlices: this.#hasSlices };
  }

  #watchStatuses(): readonly ObservedWatchStatus[] {
    return this.#witnesses?.watches.map(({ status }) => status) ?? [];
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

  /**
   * The planned watches, limited to what the server has; the usual ones for a cluster that does not
   * answer.
   */
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
    const { tap, cluster } = this.#options;
    tap?.began(cluster, form);
    const openWatch = tap?.openWatches(this.#options) ?? openWatches(this.#options);
    this.#witnesses = new ClusterWitnesses({ ...this.#options, form, openWatch });
    this.#witnesses.start();
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
        log.warn("cannot read which endpoint API a cluster uses", { cluster, error });
        await timers.sleep(backoff.next(), signal).catch(() => undefined);
      }
    }
    return undefined;
  }
}
