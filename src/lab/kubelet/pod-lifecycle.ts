// The life of a pod on its node as states and one step from (state, event) to the next state.
// pending → starting → running → terminating → finished → gone, with a way back to starting for
// containers that are restarted. Pure: `pod-runner.ts` makes the events and does the work of each
// state. The containers of a pod are one program here and live and die together.
import type { WallMs } from "../../environment/clock.ts";
import { isRecord, listAt, optionalNumber, optionalString } from "../../kube/kinds/fields.ts";
import type { KubeletPod, RestartPolicy } from "./kubelet-pod.ts";

export interface ContainerExit {
  readonly exitCode: number;
  readonly startedAt: WallMs;
  readonly finishedAt: WallMs;
}

/** Data of a pod that stays from one run of its containers to the next. */
export interface PodHistory {
  readonly restarts: number;
  /** Exits in a row without a long enough run between them: they set the wait. */
  readonly crashes: number;
  readonly lastExit: ContainerExit | undefined;
}

export interface ContainerRun {
  readonly address: string;
  readonly startedAt: WallMs;
  /** Past its own start-up: its readiness is probed only after that. */
  readonly isStarted: boolean;
  readonly isReady: boolean;
}

export type PodState =
  /** Accepted, without an address. */
  | ({ readonly name: "pending" } & PodHistory)
  /** Has its address; the program is about to listen. */
  | ({ readonly name: "starting"; readonly address: string } & PodHistory)
  | ({ readonly name: "running" } & ContainerRun & PodHistory)
  /** The containers have exited and start again after `waitMs`. */
  | ({ readonly name: "backoff"; readonly address: string; readonly waitMs: number } & PodHistory)
  /** Asked to end: in its preStop hook, or after TERM. */
  | ({
      readonly name: "terminating";
      readonly stage: "preStop" | "term";
      readonly graceMs: number;
    } & ContainerRun &
      PodHistory)
  /** Nothing runs any more, and nothing will. */
  | ({
      readonly name: "finished";
      readonly address: string | undefined;
      readonly phase: "Succeeded" | "Failed";
    } & PodHistory)
  /** The API server has no such pod any more. */
  | { readonly name: "gone" };

export type PodEvent = { readonly at: WallMs } & (
  | { readonly type: "addressed"; readonly address: string }
  /** Another process listens on the address. */
  | { readonly type: "addressTaken" }
  | { readonly type: "listening" }
  | { readonly type: "observed"; readonly isStarted: boolean; readonly isReady: boolean }
  | { readonly type: "exited"; readonly exitCode: number }
  | { readonly type: "restartDue" }
  /** The pod is being deleted, or is deleted; a second one may only shorten the time. */
  | { readonly type: "stop"; readonly graceMs: number }
  | { readonly type: "preStopDone" }
  | { readonly type: "forgotten" }
);

export interface PodRules {
  readonly restartPolicy: RestartPolicy;
  readonly hasPreStop: boolean;
}

/** The kubelet's container restart back-off: 10 s, doubled up to 5 min (pkg/kubelet, 1.33). */
const backoffBaseMs = 10_000;
const backoffMaxMs = 300_000;

/** A run of twice the longest wait makes the next exit the first again. */
const backoffResetMs = 2 * backoffMaxMs;

/** `finished` of a pod that never ran, as the kubelet reports containers it knows nothing of. */
export const unknownExitCode = 137;

/** Where a pod stands that the kubelet has not seen before; it may have run on this node once. */
export function firstState({ status }: KubeletPod): PodState {
  const phase = optionalString(status, "phase");
  const [container] = listAt(status, "containerStatuses").filter(isRecord);
  const known = container && optionalNumber(container, "restartCount");
  const hasRun = container !== undefined && optionalString(container, "containerID") !== undefined;
  const restarts = (known ?? 0) + (hasRun ? 1 : 0);
  const history = { restarts, crashes: 0, lastExit: undefined };
  return phase === "Succeeded" || phase === "Failed"
    ? { ...history, name: "finished", phase, address: undefined }
    : { ...history, name: "pending" };
}

export function step(state: PodState, event: PodEvent, rules: PodRules): PodState {
  switch (event.type) {
    case "addressed":
      return state.name === "pending"
        ? { ...history(state), name: "starting", address: event.address }
        : state;
    case "addressTaken":
      return state.name === "starting" ? { ...history(state), name: "pending" } : state;
    case "listening":
      return state.name === "starting" ? started(state, event.at) : state;
    case "observed":
      return observed(state, event);
    case "exited":
      return exited(state, event, rules);
    case "restartDue":
      return state.name === "backoff" ? restarted(state) : state;
    case "stop":
      return stopped(state, event.graceMs, rules);
    case "preStopDone":
      return state.name === "terminating" ? { ...state, stage: "term" } : state;
    case "forgotten":
      return state.name === "finished" ? { name: "gone" } : state;
  }
}

function started(state: PodState & { name: "starting" }, at: WallMs): PodState {
  return { ...state, name: "running", startedAt: at, isStarted: false, isReady: false };
}

function restarted(state: PodState & { name: "backoff" }): PodState {
  const next = { ...history(state), restarts: state.restarts + 1 };
  return { ...next, name: "starting", address: state.address };
}

function observed(state: PodState, event: PodEvent & { type: "observed" }): PodState {
  if (state.name !== "running" && state.name !== "terminating") return state;
  const { isStarted, isReady } = event;
  if (state.isStarted === isStarted && state.isReady === isReady) return state;
  return { ...state, isStarted, isReady };
}

function exited(state: PodState, event: PodEvent & { type: "exited" }, rules: PodRules): PodState {
  if (state.name !== "running" && state.name !== "terminating" && state.name !== "starting") {
    return state;
  }
  const { exitCode, at } = event;
  const startedAt = state.name === "starting" ? at : state.startedAt;
  const lastExit = { exitCode, startedAt, finishedAt: at };
  const { restarts, address } = state;
  const mayRestart =
    state.name !== "terminating" &&
    (rules.restartPolicy === "Always" || (rules.restartPolicy === "OnFailure" && exitCode !== 0));
  if (!mayRestart) {
    const phase = exitCode === 0 ? "Succeeded" : "Failed";
    return { name: "finished", phase, address, restarts, crashes: 0, lastExit };
  }
  const ranLong = at - startedAt >= backoffResetMs;
  const before = ranLong ? 0 : state.crashes;
  const waitMs = before === 0 ? 0 : Math.min(backoffBaseMs * 2 ** (before - 1), backoffMaxMs);
  return { name: "backoff", address, waitMs, restarts, crashes: before + 1, lastExit };
}

function stopped(state: PodState, graceMs: number, rules: PodRules): PodState {
  switch (state.name) {
    case "running": {
      const stage = rules.hasPreStop ? "preStop" : "term";
      return { ...state, name: "terminating", stage, graceMs };
    }
    case "terminating":
      return graceMs < state.graceMs ? { ...state, graceMs } : state;
    case "pending":
      return { ...history(state), name: "finished", phase: "Failed", address: undefined };
    case "starting":
    case "backoff":
      return { ...history(state), name: "finished", phase: "Failed", address: state.address };
    case "finished":
    case "gone":
      return state;
  }
}

function history({ restarts, crashes, lastExit }: PodHistory): PodHistory {
  return { restarts, crashes, lastExit };
}
