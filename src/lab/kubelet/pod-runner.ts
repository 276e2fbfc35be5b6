// Runs one pod on a node: feeds `step` with what happens, lets `pod-work.ts` do the work of each new
// state, and keeps the status that follows from it. It sends nothing to the API server: it reports
// that something changed, and `pod-status-poster.ts` posts it.
import { isDeepStrictEqual } from "node:util";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { KubeletPod } from "./kubelet-pod.ts";
import type { KubeletRules } from "./kubelet-rules.ts";
import { readBehaviour } from "./pod-behaviour.ts";
import { firstState, type PodState, step } from "./pod-lifecycle.ts";
import { podStatus } from "./pod-status.ts";
import { PodWork, type PodWorkOptions, preStopMs, type UntimedPodEvent } from "./pod-work.ts";

export interface PodRunnerOptions extends Omit<PodWorkOptions, "behaviour" | "dispatch"> {
  readonly hostIP: string;
  readonly rules: Pick<KubeletRules, "containersReady" | "postsEnd">;
  /** Its status or its state has changed. */
  readonly onChange: () => void;
  /** It is over: nothing of it is left on the node. */
  readonly onGone: () => void;
}

/** Even a forced deletion sends SIGTERM first, with this grace (pkg/kubelet/pod_workers.go, 1.33). */
const shortestGraceMs = 1_000;

export class PodRunner {
  readonly #options: PodRunnerOptions;
  readonly #work: PodWork;
  #pod: KubeletPod;
  #state: PodState;
  #status: RawRecord | undefined;
  /** When the termination of the pod began. */
  #stoppingSince: MonotonicMs | undefined;
  /** The API server has no such pod any more. */
  #isForgotten = false;
  /** The node is gone or stops: nothing happens here any more. */
  #isCut = false;

  constructor(options: PodRunnerOptions) {
    this.#options = options;
    const { pod, events } = options;
    this.#pod = pod;
    this.#state = firstState(pod);
    const { behaviour, problems } = readBehaviour(pod.annotations);
    for (const message of problems) {
      events.record(pod, { type: "Warning", reason: "InvalidAnnotation", message });
    }
    const dispatch = (event: UntimedPodEvent): void => this.#dispatch(event);
    this.#work = new PodWork({ ...options, behaviour, dispatch });
  }

  /** The newest version that was received. */
  get pod(): KubeletPod {
    return this.#pod;
  }

  /** The status that the API server should have; undefined when another kubelet reports it. */
  get status(): RawRecord | undefined {
    return this.#status;
  }

  /** Nothing runs any more and the pod is to be deleted: the object may go too. */
  get isDeletable(): boolean {
    const isFinished = this.#state.name === "finished";
    return isFinished && this.#pod.metadata.deletionTimestamp !== undefined;
  }

  begin(): void {
    if (this.#state.name === "finished") {
      this.#options.onChange();
      return;
    }
    this.#options.logs.beginRun(this.#pod.metadata.uid);
    this.#publish();
    this.update(this.#pod);
    if (this.#state.name === "pending") this.#work.findAddress();
  }

  update(pod: KubeletPod): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp === undefined) return;
    this.#stop();
    this.#options.onChange();
  }

  /** The API server has deleted the object: force-deleted, if something still runs. */
  removed(pod: KubeletPod): void {
    this.#pod = pod;
    this.#isForgotten = true;
    this.#stop();
    this.#dispatch({ type: "forgotten" });
  }

  /** The program falls over, as if by itself. */
  crash(): void {
    this.#work.crash();
  }

  /** The machine is gone, or stops: the program dies without a write. Idempotent. */
  async kill(): Promise<void> {
    this.#isCut = true;
    await this.#work.kill();
  }

  #stop(): void {
    const { deletionGracePeriodSeconds } = this.#pod.metadata;
    const seconds = deletionGracePeriodSeconds ?? this.#pod.terminationGracePeriodSeconds;
    this.#stoppingSince ??= this.#options.clock.monotonicMs();
    this.#dispatch({ type: "stop", graceMs: Math.max(seconds * 1_000, shortestGraceMs) });
  }

  #dispatch(event: UntimedPodEvent): void {
    if (this.#isCut) return;
    const previous = this.#state;
    const { restartPolicy } = this.#pod;
    const rules = { restartPolicy, hasPreStop: preStopMs(this.#pod) > 0 };
    this.#state = step(previous, { ...event, at: this.#options.clock.wallMs() }, rules);
    if (this.#state === previous) return;
    this.#publish();
    this.#enter(previous);
  }

  /** Does the work of the state that has just been entered. */
  #enter(previous: PodState): void {
    const state = this.#state;
    switch (state.name) {
      case "pending":
        this.#work.findAddress();
        return;
      case "starting":
        this.#work.start(state.address, () => this.#state === state);
        return;
      case "running":
        if (previous.name === "starting") this.#work.watchReadiness(state.address);
        return;
      case "backoff":
        this.#work.endRun();
        this.#work.waitToRestart(state.waitMs);
        return;
      case "terminating":
        if (this.#stoppingSince !== undefined) {
          this.#work.terminate(state, previous, this.#stoppingSince);
        }
        return;
      case "finished":
        this.#work.endRun();
        // The node takes the address back before the API server forgets the pod that had it.
        if (state.address !== undefined) this.#options.addresses.release(state.address);
        if (this.#isForgotten) this.#dispatch({ type: "forgotten" });
        return;
      case "gone":
        this.#options.logs.forget(this.#pod.metadata.uid);
        this.#options.onGone();
        return;
    }
  }

  #publish(): void {
    const state = this.#state;
    if (state.name === "gone") return;
    const { hostIP, rules, clock, onChange } = this.#options;
    const previous = this.#status ?? this.#pod.status;
    const now = clock.wallMs();
    const status = podStatus({ ...rules, pod: this.#pod, state, previous, hostIP, now });
    if (isDeepStrictEqual(status, this.#status)) return;
    this.#status = status;
    onChange();
  }
}
