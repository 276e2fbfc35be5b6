// Serves the logs of the cluster's own components as logs of their pods in kube-system. The logs of
// other pods come from their kubelets.

import type { Klog, KlogLine } from "../../../components/klog.ts";
import { noPodLogs, type PodLogRequest, type PodLogs } from "../../../components/pod-logs.ts";
import { type Clock, toMicroTime } from "../../../environment/clock.ts";
import type { BodyWriter } from "../../../environment/network.ts";

export interface ComponentLogsOptions {
  readonly clock: Clock;
  /** For all pods that are not components; none unless given. */
  readonly otherwise?: PodLogs;
}

/** A follower that reads slower than lines are written is let go rather than buffered for. */
const behindMaxBytes = 1024 * 1024;

export class ComponentLogs implements PodLogs {
  readonly #options: ComponentLogsOptions;
  readonly #logs = new Map<string, Klog>();

  constructor(options: ComponentLogsOptions) {
    this.#options = options;
  }

  /** From now on the pod's log is this one. */
  set(pod: { readonly namespace: string; readonly name: string }, klog: Klog): void {
    this.#logs.set(`${pod.namespace}/${pod.name}`, klog);
  }

  async write(request: PodLogRequest, writer: BodyWriter, closed: AbortSignal): Promise<void> {
    const klog = this.#logs.get(`${request.namespace}/${request.name}`);
    if (klog === undefined) {
      await (this.#options.otherwise ?? noPodLogs).write(request, writer, closed);
      return;
    }
    // Nothing is kept of a process that ran before this one.
    if (request.previous) return;
    for (const line of this.#wanted(klog, request)) writer.write(encode(line, request));
    if (request.follow) await followLines(klog, request, writer, closed);
  }

  #wanted(klog: Klog, { sinceSeconds, tailLines }: PodLogRequest): readonly KlogLine[] {
    const since =
      sinceSeconds === undefined ? 0 : this.#options.clock.wallMs() - sinceSeconds * 1000;
    const lines = klog.lines().filter(({ at }) => at >= since);
    return tailLines === undefined ? lines : lines.slice(Math.max(0, lines.length - tailLines));
  }
}

function followLines(
  klog: Klog,
  request: PodLogRequest,
  writer: BodyWriter,
  closed: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      leave();
      closed.removeEventListener("abort", end);
      resolve();
    };
    const leave = klog.follow((line) => {
      if (writer.pendingBytes > behindMaxBytes) end();
      else writer.write(encode(line, request));
    });
    closed.addEventListener("abort", end, { once: true });
    if (closed.aborted) end();
  });
}

function encode({ at, text }: KlogLine, { timestamps }: PodLogRequest): Buffer {
  return Buffer.from(`${timestamps ? `${toMicroTime(at)} ` : ""}${text}\n`);
}
