// Sees to it that an nginx with our files serves at the control socket. It adopts the one it finds,
// starts one when the socket is silent, and replaces one that is stuck, orphaned or of other files.
// It ends nginx only when asked to: when Lockstep ends, traffic goes on.
import type { Registry } from "prom-client";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { ProcessError } from "../../environment/processes.ts";
import { jitter } from "../../environment/random.ts";
import { ControlError } from "./control-answer.ts";
import { ControlClient, type ControlState } from "./control-client.ts";
import { NginxLogs } from "./nginx-logs.ts";
import { nginxMetrics } from "./nginx-metrics.ts";
import { prepareNginxPrefix, socketPathOf } from "./nginx-prefix.ts";
import { NginxProcess, NginxStartError } from "./nginx-process.ts";
import type { NginxServerOptions } from "./nginx-servers.ts";

export interface NginxSupervisorOptions
  extends NginxServerOptions,
    Pick<Environment, "clock" | "timers" | "random" | "network" | "files" | "processes" | "log"> {
  readonly prefix: string;
  readonly proxyDirectory: string;
  readonly workers: number;
  readonly program?: string;
  readonly modulesDirectory?: string;
  /** How large each of nginx's logs may grow; one older file of each is kept beside. */
  readonly logMaxBytes?: number;
  /** An nginx serves at the socket, started or adopted; again after each restart. */
  readonly onServing?: (state: ControlState) => void;
  readonly metrics?: Registry;
}

/** The state behind the socket. */
type Found =
  | { readonly kind: "serving"; readonly state: ControlState }
  /** Its master is gone: failed workers would not be replaced. */
  | { readonly kind: "orphaned"; readonly state: ControlState }
  /** Started with other files or options. */
  | { readonly kind: "different"; readonly state: ControlState }
  | { readonly kind: "silent" }
  | { readonly kind: "stuck"; readonly reason: string };

/** A broken connection is noticed at once; this finds an nginx that hangs without breaking it. */
const checkEveryMs = 5_000;

/**
 * Workers go on without their master and break no connection, so it is looked for: one signal 0,
 * which costs nothing.
 */
const masterCheckEveryMs = 250;

/** So many unanswered checks in a row: it is not merely busy. */
const stuckAfter = 3;

/** From the start of the program to its first answer. */
const answerWithinMs = 5_000;
const answerPollMs = 10;

/** Starts that follow each other closely wait longer and longer; the first one does not wait. */
const restartBaseMs = 100;
const restartMaxMs = 10_000;
const restartJitter = 0.5;
/** This long in service ends the row. */
const healthyAfterMs = 10_000;

/** For orphans and predecessors, whose place is waited for. */
const replaceDrainMs = 500;
/** For a stop that was asked for. */
export const stopDrainMs = 10_000;

export class NginxSupervisor {
  readonly #options: NginxSupervisorOptions;
  readonly #client: ControlClient;
  readonly #process: NginxProcess;
  readonly #logs: NginxLogs;
  readonly #stopped = new AbortController();
  #run = "";
  #running: Promise<void> | undefined;
  #serving: ControlState | undefined;
  /** The error of the last start; undefined after a successful one. */
  #problem: string | undefined;
  #servingSince: MonotonicMs | undefined;
  /** Since nginx was last in service for long enough. */
  #startsInRow = 0;

  constructor(options: NginxSupervisorOptions) {
    const { prefix, program = "nginx" } = options;
    this.#options = options;
    this.#client = new ControlClient({ ...options, socketPath: socketPathOf(prefix) });
    this.#process = new NginxProcess({ ...options, program });
    this.#logs = new NginxLogs(options);
  }

  get socketPath(): string {
    return socketPathOf(this.#options.prefix);
  }

  /** The nginx in service, as it was when last looked at; undefined while there is none. */
  get serving(): ControlState | undefined {
    return this.#serving;
  }

  /** Why there is none, where that is known. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /**
   * Resolves when nginx serves. Fails when the first start does: without the program, or with its
   * port taken, there is no use in trying again unasked.
   */
  async start(): Promise<void> {
    const { log, prefix } = this.#options;
    this.#run = await prepareNginxPrefix(this.#options);
    const state = await this.#ensure();
    if (this.#startsInRow === 0) {
      log.info("using the nginx that is already running", { pid: state.masterPid, prefix });
    }
    this.#isServing(state);
    this.#running = this.#watch();
  }

  /** nginx opens its logs again; one that does not run does so when it starts. */
  reopenLogs(): void {
    if (this.#serving !== undefined) this.#logs.reopen(this.#serving.masterPid);
  }

  /** Stops watching and leaves nginx as it is. Idempotent. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the supervisor was stopped"));
    await this.#running;
  }

  /** Stops watching and ends nginx; requests under way may finish within the time. Idempotent. */
  async stopNginx(drainMs = stopDrainMs): Promise<void> {
    await this.stop();
    const found = await this.#look();
    const pids = "state" in found ? pidsOf(found.state) : [];
    const master = await this.#process.masterPid();
    // The master sees to its workers; alone they are left only when it is gone.
    await this.#process.endGracefully(master === undefined ? pids : [master], drainMs);
    await this.#process.endNow(pids);
    await this.#options.files.remove(this.socketPath);
  }

  async #watch(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      await this.#brokenOrDue(signal);
      if (signal.aborted) return;
      try {
        const state = await this.#ensure();
        this.#isServing(state);
        await this.#logs.limit(state.masterPid);
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof NginxStartError || error instanceof ProcessError)) throw error;
        this.#problem = error.message;
        this.#options.log.error("cannot start nginx, retrying", {
          reason: error.message,
        });
      }
    }
  }

  /** Gives the nginx that serves; replaces or starts one when that is needed. */
  async #ensure(): Promise<ControlState> {
    let found = await this.#look();
    for (let look = 1; found.kind === "stuck" && look < stuckAfter; look += 1) {
      found = await this.#look();
    }
    switch (found.kind) {
      case "serving":
        return found.state;
      case "orphaned":
      case "different":
        await this.#replace(found);
        break;
      case "stuck":
        await this.#endStuck(found.reason);
        break;
      case "silent":
        if (this.#serving !== undefined) {
          const { masterPid: pid } = this.#serving;
          this.#options.log.warn("nginx ended unexpectedly; restarting it", { pid });
        }
        await this.#endLeftover();
        break;
    }
    this.#serving = undefined;
    return await this.#startNew();
  }

  async #look(): Promise<Found> {
    const { log } = this.#options;
    try {
      const state = await this.#client.state();
      if (!(await this.#process.isNginx(state.masterPid))) return { kind: "orphaned", state };
      if (state.run !== this.#run) return { kind: "different", state };
      return { kind: "serving", state };
    } catch (error) {
      if (!(error instanceof ControlError)) throw error;
      log.debug("nginx does not answer", { code: error.code, reason: error.message });
      return error.code === "SILENT"
        ? { kind: "silent" }
        : { kind: "stuck", reason: error.message };
    }
  }

  async #replace({ kind, state }: Found & { readonly state: ControlState }): Promise<void> {
    const pids = kind === "orphaned" ? state.workerPids : [state.masterPid];
    this.#options.log.warn(
      kind === "orphaned"
        ? "nginx workers have no master process; replacing them"
        : "the running nginx has other files or options; replacing it",
      { pids },
    );
    await this.#process.endGracefully(pids, replaceDrainMs);
    await this.#process.endNow(pidsOf(state));
  }

  async #endStuck(reason: string): Promise<void> {
    const pids = this.#serving === undefined ? [] : pidsOf(this.#serving);
    const master = await this.#process.masterPid();
    this.#options.log.error("nginx does not answer; restarting it", { reason });
    await this.#process.endNow(master === undefined ? pids : [...new Set([master, ...pids])]);
  }

  /** There is no answer, but a master without its socket may still hold the port. */
  async #endLeftover(): Promise<void> {
    const master = await this.#process.masterPid();
    if (master !== undefined) await this.#process.endNow([master]);
  }

  async #startNew(): Promise<ControlState> {
    const { files, log, metrics } = this.#options;
    const starts = metrics && nginxMetrics(metrics).starts;
    await this.#pauseBeforeStart();
    // nginx does not bind over the socket file that a killed one left behind.
    await files.remove(this.socketPath);
    try {
      await this.#process.start(this.#stopped.signal);
      const state = await this.#firstAnswer();
      starts?.inc({ outcome: "started" });
      log.info("nginx was started", { pid: state.masterPid, prefix: this.#options.prefix });
      return state;
    } catch (error) {
      starts?.inc({ outcome: "failed" });
      throw error;
    }
  }

  async #firstAnswer(): Promise<ControlState> {
    const { clock, timers } = this.#options;
    const { signal } = this.#stopped;
    const beganAt = clock.monotonicMs();
    while (clock.monotonicMs() - beganAt < answerWithinMs) {
      const found = await this.#look();
      if (found.kind === "serving") return found.state;
      await timers.sleep(answerPollMs, signal);
    }
    throw new NginxStartError("nginx was started, but its control socket does not answer");
  }

  #isServing(state: ControlState): void {
    const { clock, onServing } = this.#options;
    const isNew = this.#serving?.bootId !== state.bootId;
    this.#serving = state;
    this.#problem = undefined;
    if (!isNew) return;
    this.#servingSince = clock.monotonicMs();
    onServing?.(state);
  }

  async #pauseBeforeStart(): Promise<void> {
    const { clock, random, timers } = this.#options;
    const since = this.#servingSince;
    if (since !== undefined && clock.monotonicMs() - since >= healthyAfterMs) this.#startsInRow = 0;
    this.#servingSince = undefined;
    if (this.#startsInRow > 0) {
      const stepMs = Math.min(restartBaseMs * 2 ** (this.#startsInRow - 1), restartMaxMs);
      await timers.sleep(jitter(random, stepMs, restartJitter), this.#stopped.signal);
    }
    this.#startsInRow += 1;
  }

  /** Resolves when a worker or the master is gone, when a check is due, or at the stop. */
  async #brokenOrDue(signal: AbortSignal): Promise<void> {
    const { timers } = this.#options;
    const due = new AbortController();
    const end = (): void => due.abort(new Error("a check is due"));
    const cancel = timers.after(checkEveryMs, end);
    signal.addEventListener("abort", end, { once: true });
    const watching = this.#masterGone(due.signal).then(end);
    await this.#client.hold(due.signal);
    end();
    await watching;
    cancel();
    signal.removeEventListener("abort", end);
  }

  /** Resolves when nginx's master has ended, or the signal aborts. */
  async #masterGone(signal: AbortSignal): Promise<void> {
    const { processes, timers } = this.#options;
    const pid = this.#serving?.masterPid;
    while (!signal.aborted && (pid === undefined || processes.isAlive(pid))) {
      // Aborted only because its result is no longer needed.
      await timers.sleep(masterCheckEveryMs, signal).catch(() => undefined);
    }
  }
}

function pidsOf({ masterPid, workerPids }: ControlState): readonly number[] {
  return [masterPid, ...workerPids];
}
