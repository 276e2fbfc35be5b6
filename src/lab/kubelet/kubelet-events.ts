// The Events a kubelet writes about its pods, for `kubectl describe`. They are sent at best effort, one
// at a time and in order: an API server that cannot take them must not delay a pod.
import { type Clock, toTime } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import type { KubeletPod } from "./kubelet-pod.ts";

export interface KubeletEventsOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly client: KubeClient;
  readonly node: string;
  readonly signal: AbortSignal;
}

export interface PodEventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** Beyond this the newest are dropped: the API server is not there to take them. */
const waitingMax = 200;

const requestDeadlineMs = 10_000;

export class KubeletEvents {
  readonly #options: KubeletEventsOptions;
  /** Makes names unique, as client-go does with the time in nanoseconds. */
  #count = 0;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: KubeletEventsOptions) {
    this.#options = options;
  }

  record(pod: KubeletPod, text: PodEventText): void {
    if (this.#waiting >= waitingMax || this.#options.signal.aborted) return;
    this.#waiting += 1;
    const event = this.#eventOf(pod, text);
    this.#last = this.#last.then(async () => {
      await this.#post(pod, event);
      this.#waiting -= 1;
    });
  }

  /** Resolves when nothing is being sent. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #post({ metadata }: KubeletPod, body: object): Promise<void> {
    const { client, signal, log } = this.#options;
    try {
      await client.request({
        verb: "create",
        method: "POST",
        path: `/api/v1/namespaces/${encodeURIComponent(metadata.namespace)}/events`,
        body,
        deadlineMs: requestDeadlineMs,
        signal,
      });
    } catch (error) {
      if (!signal.aborted) log.debug("an event was not taken", { pod: metadata.name, error });
    }
  }

  #eventOf({ metadata }: KubeletPod, { type, reason, message }: PodEventText): object {
    const { clock, node } = this.#options;
    const { namespace, name, uid, resourceVersion } = metadata;
    const wall = clock.wallMs();
    const now = toTime(wall);
    this.#count += 1;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace, name: `${name}.${wall.toString(16)}${this.#count.toString(16)}` },
      involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name, uid, resourceVersion },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component: "kubelet", host: node },
      reportingComponent: "kubelet",
      reportingInstance: node,
    };
  }
}
