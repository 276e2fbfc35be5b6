// Keeps nginx equal to the desired state: pushes everything after a restart of nginx, else only
// changes. One push at a time; changes meanwhile go together with the next one.
//
// The last pusher that loads is in charge. A pusher that was replaced stops and reports it: two
// pushers that replace each other would be worse than one that is gone.

import type { Registry } from "prom-client";
import type { DecisionChanges, DecisionOutput, RoutingDecision } from "../../decide/decision.ts";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { jitter } from "../../environment/random.ts";
import { atOnce, type Steps } from "../../environment/steps.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { CounterReading, CounterReporter } from "../../sources/endpoint-counters.ts";
import type { EndpointId } from "../../sources/endpoint-id.ts";
import type { ProxyReport, ProxyReporter } from "../../sources/proxy-feedback.ts";
import { ControlError } from "./control-answer.ts";
import { ControlClient, type Pusher } from "./control-client.ts";
import { nginxMetrics } from "./nginx-metrics.ts";
import type { MemoryCapacity, MemoryName } from "./proxy-memory.ts";
import { type ProxyEntry, ProxyState } from "./proxy-state.ts";
import { PushSession, type RoutedEntry } from "./push-session.ts";

export interface NginxPusherOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly socketPath: string;
  /** From this instant every request is routed by this version of the service. */
  readonly onRouted?: (service: string, version: number, at: MonotonicMs) => void;
  /** nginx has received the full state and goes on with it. */
  readonly onLoaded?: (at: MonotonicMs) => void;
  /** Something was pushed to nginx, all of it or a change. */
  readonly onPushed?: () => void;
  /** Another pusher took charge; this one has stopped. */
  readonly onSuperseded?: () => void;
  readonly metrics?: Registry;
  /** The memory of nginx; as in proxy/nginx.conf unless given. */
  readonly capacity?: MemoryCapacity;
}

/** nginx is back within tens of milliseconds of a restart, and asking a local socket is cheap. */
export const retryBaseMs = 25;
export const retryMaxMs = 2_000;
const retryJitter = 0.5;

/** A restart of nginx fails once or twice; more than that is worth waking up for. */
const failuresOfARestart = 3;
/** Then about once a minute is enough: the supervisor of nginx logs its own actions. */
const failuresPerWarning = 30;

/**
 * An entry without room is pushed again this much later: by then nginx has removed replaced
 * entries.
 */
export const roomAgainMs = 5_000;

/** After so many loads without room, each after a longer pause, nginx has removed what they replace. */
const loadsUntilLess = 6;

export class NginxPusher implements DecisionOutput, ProxyReporter, CounterReporter {
  readonly state: ProxyState;
  readonly #options: NginxPusherOptions;
  readonly #client: ControlClient;
  readonly #owner: string;
  readonly #stopped = new AbortController();
  /** Set once the state was loaded; its boot id says into which nginx. */
  #pusher: Pusher | undefined;
  /** Nothing is pushed before the first decision: an empty load would take every route away. */
  #hasDecision = false;
  /** How many decisions have been pushed. */
  #pushed = 0;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;
  /** In a row. */
  #failures = 0;
  /** How often in a row a load found no room. */
  #loadsWithoutRoom = 0;
  #withoutRoom: readonly ProxyEntry[] = [];
  /** Entries that did not fit before, and were pushed once more. */
  #pushedAgain: readonly ProxyEntry[] = [];
  /** The nginx that was last loaded, or tried. */
  #triedBootId = "";
  #cancelRoomAgain: CancelTimer | undefined;
  /** How many found no room when that was last logged: the same number is no news. */
  #saidWithoutRoom = 0;

  constructor(options: NginxPusherOptions) {
    this.#options = options;
    this.state = new ProxyState(options.capacity);
    this.#client = new ControlClient(options);
    this.#owner = options.random.uuid();
  }

  apply(decision: RoutingDecision, changes: DecisionChanges): void {
    atOnce(this.applying(decision, changes));
  }

  *applying(decision: RoutingDecision, changes: DecisionChanges): Steps<void> {
    yield* this.state.applying(decision, changes);
    this.#hasDecision = true;
    this.#wake();
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Idempotent. nginx goes on with what it has. */
  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the pusher was stopped"));
    this.#cancelRoomAgain?.();
    await this.#running;
  }

  /** How many decisions were applied until now. */
  get applied(): number {
    return this.state.applied;
  }

  /** How many of them have been pushed, the first ones first. */
  get pushed(): number {
    return this.#pushed;
  }

  /** Slots are given by us, so only this code knows which endpoints nginx means. */
  async report(since: number | undefined, signal: AbortSignal): Promise<ProxyReport | undefined> {
    try {
      const { owner, changes, suspects } = await this.#client.suspects(since, signal);
      const unreached = suspects.flatMap(({ slot, ageMs }) => {
        const key = owner === this.#owner ? this.state.slots.endpointAt(slot) : undefined;
        return key === undefined ? [] : [{ key: key as EndpointId, ageMs }];
      });
      return { revision: changes, unreached };
    } catch (error) {
      if (error instanceof ControlError) return undefined;
      throw error;
    }
  }

  async answered(peers: readonly EndpointId[], signal: AbortSignal): Promise<void> {
    if (this.#pusher === undefined) return;
    const slots = peers.flatMap((key) => this.state.slots.slotOf(key) ?? []);
    try {
      await this.#client.answered(this.#pusher, slots, signal);
    } catch (error) {
      // Then the proxy avoids them until their marks end by themselves.
      if (!(error instanceof ControlError)) throw error;
    }
  }

  /** The same of the counters. */
  async counters(
    since: number | undefined,
    signal: AbortSignal,
  ): Promise<CounterReading | undefined> {
    try {
      const { owner, nowMs, counters } = await this.#client.counters(since, signal);
      if (owner !== this.#owner) return undefined;
      const counted = counters.flatMap(({ slot, ...use }) => {
        const holder = this.state.slots.holderOf(slot);
        const { endpoint: key = "", cluster = "" } = holder ?? {};
        return holder === undefined ? [] : [{ ...use, key, cluster }];
      });
      return { revision: nowMs, counted };
    } catch (error) {
      if (error instanceof ControlError) return undefined;
      throw error;
    }
  }

  hasEndpoint(key: string): boolean {
    return this.state.slots.has(key);
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      try {
        await this.#decided(signal);
        await this.#follow(await this.#connect(signal), signal);
        this.#failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (!(error instanceof ControlError)) throw error;
        this.#count(error);
        if (error.code === "NO_MEMORY") this.#loadWithoutRoom();
        if (error.code === "EPOCH" && this.#pusher !== undefined) {
          this.#superseded();
          return;
        }
        const stepMs = Math.min(retryBaseMs * 2 ** this.#failures, retryMaxMs);
        this.#logFailure(error);
        this.#failures += 1;
        const delayMs = jitter(this.#options.random, stepMs, retryJitter);
        await this.#options.timers.sleep(delayMs, signal).catch(() => undefined);
      }
    }
  }

  /** Resolves when there is something to say. */
  async #decided(signal: AbortSignal): Promise<void> {
    while (!this.#hasDecision) {
      await this.#woken(signal);
      signal.throwIfAborted();
    }
  }

  /** Reads the state of nginx, and loads everything unless nginx has it from us already. */
  async #connect(signal: AbortSignal): Promise<PushSession> {
    const state = await this.#client.state(signal);
    const known = this.#pusher;
    if (known !== undefined && known.bootId === state.bootId) {
      if (
        state.epoch > known.epoch ||
        (state.epoch === known.epoch && state.owner !== known.owner)
      ) {
        throw new ControlError("EPOCH", "another pusher has taken charge");
      }
      if (state.owner === known.owner && state.generation > 0) return this.#session(known);
    }
    const epoch = Math.max(state.epoch + 1, known?.epoch ?? 0);
    const pusher: Pusher = { bootId: state.bootId, owner: this.#owner, epoch };
    // Until the load has succeeded we are in charge of nothing, and may try again.
    this.#pusher = undefined;
    if (state.bootId !== this.#triedBootId) this.state.countOnAll();
    this.#triedBootId = state.bootId;
    const session = this.#session(pusher);
    const routed = await session.load(this.state, signal);
    this.#pusher = pusher;
    this.#loaded(routed);
    return session;
  }

  #session(pusher: Pusher): PushSession {
    const { log, metrics } = this.#options;
    const counts = metrics && nginxMetrics(metrics);
    return new PushSession({
      client: this.#client,
      pusher,
      onRefused: ({ kind, name }, reason) => {
        counts?.refused.inc();
        log.error("nginx rejected an entry; other entries are not affected", {
          kind,
          name,
          reason,
        });
      },
      onNoRoom: (entries) => this.#noRoomFor(entries),
    });
  }

  /**
   * Entries that a load replaces are removed within a second; if it still does not fit, too much is
   * wanted.
   */
  #loadWithoutRoom(): void {
    this.#loadsWithoutRoom += 1;
    if (this.#loadsWithoutRoom >= loadsUntilLess) this.state.countOnLess("routes");
  }

  #noRoomFor(entries: readonly ProxyEntry[]): void {
    const { log, timers } = this.#options;
    const isAgain = new Set(this.#pushedAgain.map(({ kind, name }) => `${kind} ${name}`));
    const again = entries.filter(({ kind, name }) => isAgain.has(`${kind} ${name}`));
    for (const memory of new Set(again.map(memoryOf))) this.state.countOnLess(memory);
    this.#withoutRoom = [...this.#withoutRoom, ...entries];
    this.#cancelRoomAgain ??= timers.after(roomAgainMs, () => {
      this.#cancelRoomAgain = undefined;
      this.state.tellAgain(this.#withoutRoom);
      this.#pushedAgain = this.#withoutRoom;
      this.#withoutRoom = [];
      this.#wake();
    });
    const count = this.#withoutRoom.length;
    if (count === this.#saidWithoutRoom) return;
    this.#saidWithoutRoom = count;
    const [first] = entries;
    log.error("nginx has no memory for some entries; other entries are not affected", {
      count,
      kind: first?.kind,
      name: first?.name,
    });
  }

  /** Pushes what changes until the connection to this nginx breaks. */
  async #follow(session: PushSession, signal: AbortSignal): Promise<void> {
    const following = new AbortController();
    const stop = (): void => following.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    let broken = false;
    const held = this.#client.hold(following.signal).finally(() => {
      broken = true;
      this.#wake();
    });
    try {
      while (!broken && !signal.aborted) {
        if (this.state.hasUnpushed) await this.#push(session, signal);
        this.#pushed = this.state.taken;
        this.#tell(this.state.takeSettled());
        // Nothing ran since the check, so no wake-up is missed.
        if (!broken && !this.state.hasUnpushed) await this.#woken(signal);
      }
    } finally {
      signal.removeEventListener("abort", stop);
      following.abort(new Error("no longer followed"));
      await held;
    }
  }

  async #push(session: PushSession, signal: AbortSignal): Promise<void> {
    const { clock, metrics } = this.#options;
    const beganAt = clock.monotonicMs();
    await session.change(this.state, signal, (routed) => this.#tell(routed));
    this.#succeeded();
    if (this.#withoutRoom.length === 0) this.#saidWithoutRoom = 0;
    this.#options.onPushed?.();
    const seconds = (clock.monotonicMs() - beganAt) / 1000;
    if (metrics !== undefined) nginxMetrics(metrics).pushes.observe(seconds);
  }

  #loaded(routed: readonly RoutedEntry[]): void {
    const { clock, log, metrics, onLoaded } = this.#options;
    this.#succeeded();
    this.#loadsWithoutRoom = 0;
    if (metrics !== undefined) nginxMetrics(metrics).loads.inc();
    log.info("nginx has received the full state", { services: routed.length });
    this.#tell(routed);
    onLoaded?.(clock.monotonicMs());
    this.#options.onPushed?.();
  }

  #tell(routed: readonly RoutedEntry[]): void {
    const at = this.#options.clock.monotonicMs();
    for (const { name, version } of routed) this.#options.onRouted?.(name, version, at);
  }

  #superseded(): void {
    this.#options.log.error("another Lockstep controls this nginx now; this one stops pushing");
    this.#options.onSuperseded?.();
  }

  #succeeded(): void {
    if (this.#failures > failuresOfARestart) this.#options.log.info("pushing to nginx works again");
    this.#failures = 0;
  }

  #logFailure(error: ControlError): void {
    const { log } = this.#options;
    const fields = { code: error.code, reason: error.message };
    const what =
      error.code === "SILENT" ? "nginx control socket does not answer" : "cannot push to nginx";
    const beyond = this.#failures - failuresOfARestart;
    if (beyond >= 0 && beyond % failuresPerWarning === 0) {
      log.warn(`${what}; still retrying`, fields);
    } else if (this.#failures === 0) {
      log.info(`${what}; will retry`, fields);
    } else {
      log.debug(`${what} yet; will retry`, fields);
    }
  }

  #count({ code }: ControlError): void {
    const { metrics } = this.#options;
    if (metrics !== undefined) nginxMetrics(metrics).failures.inc({ code });
  }

  /** Resolves at the next `#wake` or when the signal aborts. */
  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = (): void => {
        signal.removeEventListener("abort", settle);
        this.#wake = () => undefined;
        resolve();
      };
      this.#wake = settle;
      if (signal.aborted) settle();
      else signal.addEventListener("abort", settle, { once: true });
    });
  }
}

function memoryOf({ kind }: ProxyEntry): MemoryName {
  return kind === "certificate" ? "certificates" : "routes";
}
