// One node of the lab: keeps its Node object and Lease alive and runs the pods that are bound to it.
// An ordinary client of the API server, in real time and in virtual time. Invariant: once `run` has
// resolved nothing of the node listens, reports or waits.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import type { Change } from "../../kube/store/store-change.ts";
import type { HeartbeatGaps } from "./heartbeat-gaps.ts";
import { KubeletEvents } from "./kubelet-events.ts";
import { type KubeletPod, kubeletPodKind } from "./kubelet-pod.ts";
import { type KubeletRules, todaysKubelet } from "./kubelet-rules.ts";
import type { Ledger } from "./ledger.ts";
import { NodeHeartbeat } from "./node-heartbeat.ts";
import type { PodAddresses } from "./pod-addresses.ts";
import type { PodLogBook } from "./pod-log-book.ts";
import { PodRunner } from "./pod-runner.ts";
import { PodStatusPoster } from "./pod-status-poster.ts";

export interface KubeletOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly client: KubeClient;
  /** The cluster name in the answers of the pods. */
  readonly cluster: string;
  readonly node: string;
  /** Of the whole cluster: the node takes its own address from it too. */
  readonly addresses: PodAddresses;
  readonly ledger: Ledger;
  readonly logs: PodLogBook;
  /** Today's unless given. */
  readonly rules?: KubeletRules;
  /** How late it reports; timely unless given. */
  readonly gaps?: HeartbeatGaps;
}

/** On the API's picture of a pod that something else runs: a component of the control plane. */
const mirrorAnnotation = "kubernetes.io/config.mirror";

export class Kubelet {
  readonly #options: KubeletOptions;
  readonly #hostIP: string;
  readonly #heartbeat: NodeHeartbeat;
  readonly #events: KubeletEvents;
  readonly #poster: PodStatusPoster;
  readonly #rules: KubeletRules;
  #pods: Reflector<KubeletPod>;
  /** By uid: every pod that is, or is about to be, or has just been on this node. */
  readonly #runners = new Map<string, PodRunner>();
  readonly #poweringOff = new AbortController();
  #running: Promise<void> | undefined;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.#hostIP = options.addresses.take();
    this.#rules = options.rules ?? todaysKubelet;
    const { signal } = this.#poweringOff;
    this.#heartbeat = new NodeHeartbeat({
      ...options,
      node: { name: options.node, address: this.#hostIP, rules: this.#rules },
    });
    this.#events = new KubeletEvents({ ...options, signal });
    this.#poster = new PodStatusPoster({ ...options, runners: this.#runners });
    this.#pods = this.#podWatch();
  }

  get node(): string {
    return this.#options.node;
  }

  /** The node's own address. */
  get hostIP(): string {
    return this.#hostIP;
  }

  /** Runs until the signal aborts or the machine vanishes. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = (): void => this.#poweringOff.abort(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    this.#running ??= this.#run(this.#poweringOff.signal);
    await this.#running;
    signal.removeEventListener("abort", stop);
  }

  /** The program in a pod falls over; false when the node has no such pod. */
  crash(podUid: string): boolean {
    const runner = this.#runners.get(podUid);
    runner?.crash();
    return runner !== undefined;
  }

  /** The machine is gone: no heartbeat, no listener, and no write. Idempotent. */
  async powerOff(): Promise<void> {
    this.#poweringOff.abort(new Error(`the node ${this.#options.node} is gone`));
    await this.#cutPods();
    await this.#running;
  }

  /** The kubelet stops reporting the node; the pods run on, and their status is still posted. */
  pauseHeartbeat(): void {
    this.#heartbeat.pause();
  }

  resumeHeartbeat(): void {
    this.#heartbeat.resume();
  }

  /** How late the node reports from now on. */
  setHeartbeatGaps(gaps: HeartbeatGaps): void {
    this.#heartbeat.setGaps(gaps);
  }

  /**
   * The API server refuses its credentials: the kubelet receives no events, its requests fail, and its
   * pods continue to run without regard to their objects.
   */
  async loseCredentials(): Promise<void> {
    const signal = this.#poweringOff.signal;
    await this.#pods.stop();
    if (signal.aborted) return;
    this.#pods = this.#podWatch();
    this.#pods.start();
  }

  async #run(signal: AbortSignal): Promise<void> {
    try {
      await this.#heartbeat.register(signal);
      this.#pods.start();
      await Promise.all([this.#heartbeat.run(signal), this.#poster.run(signal)]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      await this.#pods.stop();
      await this.#cutPods();
      await this.#events.settled();
    }
  }

  #podWatch(): Reflector<KubeletPod> {
    return new Reflector({
      ...this.#options,
      checks: noChecks,
      kind: kubeletPodKind,
      fieldSelector: `spec.nodeName=${this.#options.node}`,
      indexes: {},
      handlers: [(change) => this.#onPodChange(change)],
    });
  }

  async #cutPods(): Promise<void> {
    await Promise.all([...this.#runners.values()].map((runner) => runner.kill()));
  }

  #onPodChange(change: Change<KubeletPod>): void {
    const pod = change.object;
    const isOurs = pod.annotations[mirrorAnnotation] === undefined;
    if (this.#poweringOff.signal.aborted || !isOurs) return;
    const { uid } = pod.metadata;
    const known = this.#runners.get(uid);
    if (change.type === "deleted") {
      known?.removed(pod);
    } else if (known === undefined) {
      this.#accept(pod);
    } else {
      known.update(pod);
    }
  }

  #accept(pod: KubeletPod): void {
    const { uid } = pod.metadata;
    const runner = new PodRunner({
      ...this.#options,
      hostIP: this.#hostIP,
      rules: this.#rules,
      events: this.#events,
      pod,
      onChange: () => this.#poster.changed(uid),
      onGone: () => {
        this.#runners.delete(uid);
        this.#poster.forget(uid);
      },
    });
    this.#runners.set(uid, runner);
    runner.begin();
  }
}
