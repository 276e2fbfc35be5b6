// Keeps the status of a node's pods in the API server equal to that of their runners: posts each status that changed,
// puts right what others wrote over it, and removes pods that have ended. One pod at a time, as the
// kubelet's status manager does; a pod whose post fails waits for its next try alone.
import type { Environment } from "../../environment/environment.ts";
import { randomBetween } from "../../environment/random.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import type { RawRecord } from "../../kube/kinds/fields.ts";
import { objectPath } from "../../kube/kinds/kind.ts";
import { ExponentialRateLimiter } from "../../kube/workqueue/rate-limiter.ts";
import { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";
import { type KubeletPod, kubeletPodKind } from "./kubelet-pod.ts";
import type { PodRunner } from "./pod-runner.ts";
import { holdsStatus, statusPatch } from "./pod-status.ts";

export interface PodStatusPosterOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly runners: ReadonlyMap<string, PodRunner>;
}

/**
 * How often the statuses of all pods are compared with the API server's (syncPeriod in
 * pkg/kubelet/status, 1.33): so long may a foreign Ready=False stand.
 */
const compareEveryMs = 10_000;

const requestDeadlineMs = 10_000;

/** A failing post is tried again soon at first, and at last with each comparison. */
const retry = { baseMs: 200, maxMs: compareEveryMs };

export class PodStatusPoster {
  readonly #options: PodStatusPosterOptions;
  readonly #queue: Workqueue;
  /** By uid: what the API server took last. */
  readonly #posted = new Map<string, RawRecord>();

  constructor(options: PodStatusPosterOptions) {
    this.#options = options;
    const { clock, timers } = options;
    const rateLimiter = new ExponentialRateLimiter(retry);
    this.#queue = new Workqueue({ clock, timers, name: "pod-status", rateLimiter });
  }

  /** The status of the pod's runner may have changed. */
  changed(podUid: string): void {
    this.#queue.add(podUid);
  }

  forget(podUid: string): void {
    this.#posted.delete(podUid);
    this.#queue.forget(podUid);
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const working = runWorkers({
      queue: this.#queue,
      workers: 1,
      sync: (podUid) => this.#sync(podUid, signal),
      maxRetries: Number.POSITIVE_INFINITY,
      log: this.#options.log,
      signal,
    });
    await Promise.all([working, this.#compareAll(signal)]);
    this.#queue.shutDown();
  }

  async #compareAll(signal: AbortSignal): Promise<void> {
    const { timers, random, runners } = this.#options;
    try {
      // Machines were not switched on at the same moment, and neither are their periods.
      await timers.sleep(randomBetween(random, 0, compareEveryMs), signal);
      for (;;) {
        for (const [podUid, { pod, status }] of runners) {
          if (status === undefined || holdsStatus(pod.status, status)) continue;
          this.#posted.delete(podUid);
          this.#queue.add(podUid);
        }
        await timers.sleep(compareEveryMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #sync(podUid: string, signal: AbortSignal): Promise<void> {
    const runner = this.#options.runners.get(podUid);
    if (runner === undefined) return;
    const { pod, status } = runner;
    try {
      if (status !== undefined && status !== this.#posted.get(podUid)) {
        await this.#post(pod, status, signal);
        this.#posted.set(podUid, status);
      }
      if (runner.isDeletable && status === runner.status) await this.#remove(pod, signal);
    } catch (error) {
      // The pod is gone, or another of the same name is there: the watch will report it.
      const isGone = error instanceof StatusError && (error.code === 404 || error.code === 409);
      if (!isGone && !signal.aborted) throw error;
    }
  }

  /** Reads the pod from the server first (status_manager.go syncPod); a namesake is left alone. */
  async #post(pod: KubeletPod, status: RawRecord, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const path = objectPath(kubeletPodKind, pod.metadata);
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const answer = await client.request({ verb: "get", method: "GET", path, ...limits });
    const held = kubeletPodKind.project(parseJson(answer));
    if (held.metadata.uid !== pod.metadata.uid) return;
    await client.request({
      verb: "patch",
      method: "PATCH",
      path: `${path}/status`,
      contentType: "application/strategic-merge-patch+json",
      body: statusPatch(pod, status),
      ...limits,
    });
  }

  async #remove(pod: KubeletPod, signal: AbortSignal): Promise<void> {
    await this.#options.client.request({
      verb: "delete",
      method: "DELETE",
      path: objectPath(kubeletPodKind, pod.metadata),
      body: { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } },
      deadlineMs: requestDeadlineMs,
      signal,
    });
  }
}
