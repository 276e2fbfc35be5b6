// Pods that become ready or stop being so, as their kubelets post it: some are timed until the
// change is published, the others are the cluster's ordinary churn. A pod that is timed changes
// again only after its last change has been published.
import type { Environment } from "../../environment/environment.ts";
import { randomInt } from "../../environment/random.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type PopulationPod, podStatus } from "./population.ts";

/** One timed change. */
export interface Probe {
  readonly kind: "join" | "leave";
  /** When the pod changed, in milliseconds of the run. */
  readonly atMs: number;
  /** Until it was published; undefined while it is not. */
  waitMs: number | undefined;
}

export interface PodChangesOptions extends Pick<Environment, "random"> {
  /** Posts the changes that are timed, and those that are not. */
  readonly client: KubeClient;
  readonly churnClient: KubeClient;
  readonly now: () => number;
  readonly pods: readonly PopulationPod[];
  /** The first so many are timed. */
  readonly probed: number;
}

interface ChangingPod {
  readonly name: string;
  readonly address: string;
  isReady: boolean;
  /** Its change that is not yet published. */
  open: Probe | undefined;
}

/** Longer than any server queue makes a kubelet wait. */
const requestDeadlineMs = 24 * 3_600_000;

/** So many pods are tried for one that may change; with all of them open nothing is learnt. */
const triesMax = 50;

export class PodChanges {
  readonly probes: Probe[] = [];
  readonly #options: PodChangesOptions;
  readonly #probed: readonly ChangingPod[];
  readonly #others: readonly ChangingPod[];
  readonly #byAddress: ReadonlyMap<string, ChangingPod>;
  readonly #posting = new Set<Promise<void>>();

  constructor(options: PodChangesOptions) {
    this.#options = options;
    const pods = options.pods.map(({ name, address, isReady }) => ({
      name,
      address,
      isReady,
      open: undefined,
    }));
    this.#probed = pods.slice(0, options.probed);
    // A cluster so small that all its pods are timed has its churn among them.
    this.#others = pods.length > options.probed ? pods.slice(options.probed) : pods;
    this.#byAddress = new Map(this.#probed.map((pod) => [pod.address, pod]));
  }

  get open(): number {
    return this.#probed.filter(({ open }) => open !== undefined).length;
  }

  /** Changes a pod and times it; does nothing when every pod waits to be published. */
  probe(): void {
    const pod = this.#choose(this.#probed);
    if (pod === undefined) return;
    const kind = pod.isReady ? "leave" : "join";
    pod.open = { kind, atMs: this.#options.now(), waitMs: undefined };
    this.probes.push(pod.open);
    this.#flip(pod, this.#options.client);
  }

  churn(): void {
    const pod = this.#choose(this.#others);
    if (pod !== undefined) this.#flip(pod, this.#options.churnClient);
  }

  published(address: string, isReady: boolean): void {
    const pod = this.#byAddress.get(address);
    if (pod?.open === undefined || pod.isReady !== isReady) return;
    pod.open.waitMs = this.#options.now() - pod.open.atMs;
    pod.open = undefined;
  }

  /** Resolves when no post is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#posting);
  }

  #choose(pods: readonly ChangingPod[]): ChangingPod | undefined {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const pod = pods[randomInt(this.#options.random, pods.length)];
      if (pod?.open === undefined) return pod;
    }
    return undefined;
  }

  #flip(pod: ChangingPod, client: KubeClient): void {
    pod.isReady = !pod.isReady;
    const posting = post(pod, client).finally(() => this.#posting.delete(posting));
    this.#posting.add(posting);
  }
}

async function post(pod: ChangingPod, client: KubeClient): Promise<void> {
  const { name, address, isReady } = pod;
  await client.request({
    verb: "patch",
    method: "PATCH",
    path: `/api/v1/namespaces/default/pods/${name}/status`,
    contentType: "application/merge-patch+json",
    body: { status: podStatus(address, isReady) },
    deadlineMs: requestDeadlineMs,
  });
}
