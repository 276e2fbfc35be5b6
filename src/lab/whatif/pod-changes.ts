// Pods that become ready or unready, as their kubelets post it: the cluster's churn, and a sample of it
// that is timed until the change is published. Churn changes every pod alike. A
// pod that becomes ready has a new address, as a replaced pod has: two changes never cancel out, and
// every state of a pod is published at most once. A timed change is published with its own state or
// with a later one of the same pod.
import type { Environment } from "../../environment/environment.ts";
import { randomInt } from "../../environment/random.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { newAddress, type PopulationPod, podStatus } from "./population.ts";

/** One timed change. */
export interface Probe {
  readonly kind: "join" | "leave";
  /**
   * When the API server had stored the change, in milliseconds of the run; lags of `lockstep watch`
   * start there too. Before the answer: when the kubelet sent it.
   */
  atMs: number;
  /** Until it was published; undefined while it is not. */
  waitMs: number | undefined;
}

export interface PodChangesOptions extends Pick<Environment, "random"> {
  /** Posts the changes that are timed, and those that are not. */
  readonly client: KubeClient;
  readonly churnClient: KubeClient;
  readonly now: () => number;
  readonly pods: readonly PopulationPod[];
}

interface ChangingPod {
  readonly name: string;
  address: string;
  isReady: boolean;
  readonly isTimed: boolean;
  /** How often it has changed. */
  changes: number;
  /** Its timed change that is not published yet, and the number of that change. */
  open: { readonly probe: Probe; readonly change: number } | undefined;
}

/** Longer than a kubelet waits in any queue of the server. */
const requestDeadlineMs = 24 * 3_600_000;

/** Tries to find a pod without an open change. */
const triesMax = 50;

export class PodChanges {
  readonly probes: Probe[] = [];
  readonly #options: PodChangesOptions;
  readonly #pods: readonly ChangingPod[];
  readonly #timed: readonly ChangingPod[];
  /** Every published state of a timed pod since the start of the run. */
  readonly #states = new Map<string, { readonly pod: ChangingPod; readonly change: number }>();
  #addresses = 0;
  /** A timed change replaces the next change of the churn. */
  #isNextDone = false;
  readonly #posting = new Set<Promise<void>>();

  constructor(options: PodChangesOptions) {
    this.#options = options;
    this.#pods = options.pods.map(({ name, address, isReady, isTimed }) => ({
      name,
      address,
      isReady,
      isTimed,
      changes: 0,
      open: undefined,
    }));
    this.#timed = this.#pods.filter(({ isTimed }) => isTimed);
  }

  get open(): number {
    return this.#timed.filter(({ open }) => open !== undefined).length;
  }

  /** Changes a pod and times it; does nothing when every pod has an open change. */
  probe(): void {
    const pod = this.#chooseTimed();
    if (pod === undefined) return;
    const { now, client } = this.#options;
    const probe: Probe = {
      kind: pod.isReady ? "leave" : "join",
      atMs: now(),
      waitMs: undefined,
    };
    pod.open = { probe, change: pod.changes + 1 };
    this.probes.push(probe);
    this.#isNextDone = true;
    this.#flip(pod, client, () => {
      probe.atMs = now();
    });
  }

  /** One change of the churn, unless a timed change replaced it. */
  churn(): void {
    const isDone = this.#isNextDone;
    this.#isNextDone = false;
    if (isDone) return;
    const pod = this.#pods[randomInt(this.#options.random, this.#pods.length)];
    if (pod !== undefined) this.#flip(pod, this.#options.churnClient);
  }

  published(address: string, isReady: boolean): void {
    const state = this.#states.get(stateKey(address, isReady));
    const open = state?.pod.open;
    if (state === undefined || open === undefined || state.change < open.change) return;
    // The watcher may receive it just before the kubelet receives its answer.
    open.probe.waitMs = Math.max(0, this.#options.now() - open.probe.atMs);
    state.pod.open = undefined;
  }

  /** Resolves when no post is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.#posting);
  }

  #chooseTimed(): ChangingPod | undefined {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const pod = this.#timed[randomInt(this.#options.random, this.#timed.length)];
      if (pod?.open === undefined) return pod;
    }
    return undefined;
  }

  #flip(pod: ChangingPod, client: KubeClient, onStored?: () => void): void {
    pod.isReady = !pod.isReady;
    pod.changes += 1;
    if (pod.isReady) {
      pod.address = newAddress(this.#addresses);
      this.#addresses += 1;
    }
    if (pod.isTimed) {
      this.#states.set(stateKey(pod.address, pod.isReady), { pod, change: pod.changes });
    }
    const posting = post(pod, client)
      .then(onStored)
      .finally(() => this.#posting.delete(posting));
    this.#posting.add(posting);
  }
}

function stateKey(address: string, isReady: boolean): string {
  return `${address} ${isReady}`;
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
