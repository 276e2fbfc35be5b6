// Does the work of each state of a pod: finds it an address, runs its program, probes its readiness,
// ends it in time. The results go back as events, through `dispatch`; `pod-runner.ts`
// decides by them. Invariant: timers and probes belong to the run that set them and end with it.
import { elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import type { CancelTimer, Timers } from "../../environment/timers.ts";
import { echoServerOf } from "./echo-server.ts";
import type { KubeletEvents } from "./kubelet-events.ts";
import type { KubeletPod } from "./kubelet-pod.ts";
import type { Ledger } from "./ledger.ts";
import { NoAddressError, type PodAddresses } from "./pod-addresses.ts";
import type { PodBehaviour } from "./pod-behaviour.ts";
import type { PodEvent, PodState } from "./pod-lifecycle.ts";
import type { PodLogBook } from "./pod-log-book.ts";
import { PodProgram, type PodProgramOptions } from "./pod-program.ts";
import { runReadinessProbes } from "./readiness-probe.ts";

export interface PodWorkOptions extends Pick<Environment, "clock" | "timers" | "network"> {
  readonly cluster: string;
  readonly node: string;
  readonly addresses: PodAddresses;
  readonly ledger: Ledger;
  readonly logs: PodLogBook;
  readonly events: KubeletEvents;
  /** Its containers never change; only the metadata and the status of a pod do. */
  readonly pod: KubeletPod;
  readonly behaviour: PodBehaviour;
  readonly dispatch: (event: UntimedPodEvent) => void;
}

type WithoutTime<Event> = Event extends unknown ? Omit<Event, "at"> : never;
export type UntimedPodEvent = WithoutTime<PodEvent>;

/** The kubelet gives no container less time from TERM to KILL (pkg/kubelet/kuberuntime, 1.33). */
const shortestKillDelayMs = 2_000;

/** So many addresses in a row that others have: something listens everywhere, so wait. */
const addressTriesMax = 20;
const addressRetryMs = 10_000;

/** The exit code of container runtimes for a process that could not be started. */
const startErrorCode = 128;

export class PodWork {
  readonly #options: PodWorkOptions;
  readonly #timers: NamedTimers<"address" | "restart" | "warm" | "preStop" | "kill">;
  #program: PodProgram | undefined;
  /** Settles when the latest program has exited; never rejects. */
  #run: Promise<void> = Promise.resolve();
  #probing = new AbortController();
  #addressTries = 0;
  #isCut = false;

  constructor(options: PodWorkOptions) {
    this.#options = options;
    this.#timers = new NamedTimers(options);
  }

  findAddress(): void {
    if (this.#addressTries >= addressTriesMax) {
      this.#waitForAddress(`${addressTriesMax} addresses in a row are in use by others`);
      return;
    }
    this.#addressTries += 1;
    let address: string;
    try {
      address = this.#options.addresses.take();
    } catch (error) {
      if (!(error instanceof NoAddressError)) throw error;
      this.#waitForAddress(error.message);
      return;
    }
    this.#options.dispatch({ type: "addressed", address });
  }

  /** Runs the program for as long as `isWanted` when it begins to listen, and until it exits. */
  start(address: string, isWanted: () => boolean): void {
    this.#run = this.#start(address, () => !this.#isCut && isWanted());
  }

  /** Once past its start-up a container without a probe is ready, and one with a probe is probed. */
  watchReadiness(address: string): void {
    const { timers, network, events, pod, behaviour, dispatch } = this.#options;
    this.#probing = new AbortController();
    const { signal } = this.#probing;
    const probes = pod.containers.flatMap(({ readinessProbe }) => readinessProbe ?? []);
    const onChange = (isReady: boolean): void =>
      dispatch({ type: "observed", isStarted: true, isReady });
    const onFailure = (message: string): void =>
      events.record(pod, { type: "Warning", reason: "Unhealthy", message });
    this.#timers.set("warm", behaviour.readyAfterMs, () => {
      onChange(probes.length === 0);
      // It ends with its signal and has no other way to end.
      void runReadinessProbes({ timers, network, probes, address, onChange, onFailure }, signal);
    });
  }

  waitToRestart(waitMs: number): void {
    const { logs, events, pod, dispatch } = this.#options;
    if (waitMs > 0) {
      const names = pod.containers.map(({ name }) => name).join(", ");
      const message = `Back-off restarting failed container ${names}`;
      events.record(pod, { type: "Warning", reason: "BackOff", message });
    }
    this.#timers.set("restart", waitMs, () => {
      logs.beginRun(pod.metadata.uid);
      dispatch({ type: "restartDue" });
    });
  }

  /** preStop, then TERM, then KILL, all within the grace; called at every change of the state. */
  terminate(
    state: PodState & { name: "terminating" },
    previous: PodState,
    stoppingSince: MonotonicMs,
  ): void {
    const { clock, events, pod, dispatch } = this.#options;
    if (previous.name === "running") {
      const message = `Stopping container ${pod.containers[0]?.name ?? ""}`;
      events.record(pod, { type: "Normal", reason: "Killing", message });
    }
    const spentMs = elapsedMs(stoppingSince, clock.monotonicMs());
    if (state.stage === "preStop") {
      const hookMs = Math.min(preStopMs(pod), state.graceMs);
      this.#timers.set("preStop", hookMs - spentMs, () => dispatch({ type: "preStopDone" }));
      return;
    }
    const isNewStage = previous.name !== "terminating" || previous.stage !== "term";
    const isShortened = previous.name === "terminating" && previous.graceMs !== state.graceMs;
    if (!isNewStage && !isShortened) return;
    const leftMs = Math.max(state.graceMs - spentMs, shortestKillDelayMs);
    this.#timers.set("kill", leftMs, () => this.#program?.kill());
    if (isNewStage) this.#program?.terminate();
  }

  crash(): void {
    this.#program?.crash();
  }

  /** The containers have exited, or never will run. */
  endRun(): void {
    this.#timers.cancelAll();
    this.#probing.abort(new Error("the container has exited"));
  }

  /** The machine is gone: resolves when nothing listens any more. Idempotent. */
  async kill(): Promise<void> {
    this.#isCut = true;
    this.endRun();
    this.#program?.kill();
    await this.#run;
  }

  #waitForAddress(message: string): void {
    const { events, pod } = this.#options;
    this.#addressTries = 0;
    events.record(pod, { type: "Warning", reason: "FailedCreatePodSandBox", message });
    this.#timers.set("address", addressRetryMs, () => this.findAddress());
  }

  async #start(address: string, isWanted: () => boolean): Promise<void> {
    let program: PodProgram;
    try {
      program = await PodProgram.start(this.#programOptions(address));
    } catch (error) {
      if (isWanted()) this.#startFailed(error);
      return;
    }
    if (!isWanted()) {
      program.kill();
      await program.exited;
      return;
    }
    this.#addressTries = 0;
    this.#program = program;
    this.#options.dispatch({ type: "listening" });
    const exitCode = await program.exited;
    this.#program = undefined;
    if (!this.#isCut) this.#options.dispatch({ type: "exited", exitCode });
  }

  #startFailed(error: unknown): void {
    const { events, pod, dispatch } = this.#options;
    if (error instanceof NetworkError && error.code === "ADDRESS_IN_USE") {
      dispatch({ type: "addressTaken" });
      return;
    }
    const message = error instanceof Error ? error.message : String(error);
    events.record(pod, { type: "Warning", reason: "Failed", message });
    dispatch({ type: "exited", exitCode: startErrorCode });
  }

  #programOptions(address: string): PodProgramOptions {
    const { clock, timers, network, cluster, node, ledger, logs, pod, behaviour } = this.#options;
    const { namespace, name, uid } = pod.metadata;
    const declared = pod.containers.flatMap(({ ports }) => ports);
    const echo = echoServerOf(pod);
    return {
      clock,
      timers,
      network,
      ledger,
      behaviour,
      echo,
      identity: { cluster, namespace, pod: name, uid, node, address },
      ports: echo === undefined ? declared : [...declared, echo.port],
      print: (line) => logs.append(uid, line),
    };
  }
}

/** The longest hook of the containers; 0 when none has one. */
export function preStopMs({ containers }: KubeletPod): number {
  return Math.max(0, ...containers.map((container) => container.preStopMs));
}

class NamedTimers<Name extends string> {
  readonly #timers: Timers;
  readonly #cancels = new Map<Name, CancelTimer>();

  constructor(options: { readonly timers: Timers }) {
    this.#timers = options.timers;
  }

  set(name: Name, delayMs: number, act: () => void): void {
    this.#cancels.get(name)?.();
    const cancel = this.#timers.after(delayMs, () => {
      this.#cancels.delete(name);
      act();
    });
    this.#cancels.set(name, cancel);
  }

  cancelAll(): void {
    for (const cancel of this.#cancels.values()) cancel();
    this.#cancels.clear();
  }
}
