// Probes endpoints, but only those in doubt, and no more often than a kubelet would. A probe proves
// one thing: the program behind an address accepts requests now, regardless of the pod's status in
// the control plane.
import { elapsedMs, type MonotonicMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";
import { splitObjectKey } from "../kube/kinds/kind.ts";
import { clusterEndpointId, type EndpointId, endpointId } from "./endpoint-id.ts";
import { type ProbeOutcome, type ProbeTarget, probeOnce } from "./probe-once.ts";
import { ProbeTurns } from "./probe-turns.ts";

export type ProbeAnswer = "answers" | "silent";

export type DoubtCause =
  /** The node controller wrote what its kubelet did not say. */
  | "flap"
  /** Requests did not reach it. */
  | "traffic"
  /** The pod watch alone says that it has left, and most of its service with it. */
  | "mass"
  /** Its pod was ready when the pod watch was last current, and no slice names it. */
  | "unpublished";

/** An endpoint to be probed, and why. */
export interface Doubt extends ProbeTarget {
  readonly cause: DoubtCause;
}

/** The result of a doubt so far. */
export interface StandingDoubt {
  readonly cause: DoubtCause;
  /** `unknown` before the first answer. */
  readonly answer: ProbeAnswer | "unknown";
  /** It has been in doubt for longer than any one source errs unnoticed; false when absent. */
  readonly isOld?: boolean;
}

export interface ProbesOptions extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  /** Called for everyone who doubts an endpoint that answers otherwise than before. */
  readonly onAnswer: (doubter: string) => void;
  /** Called after each probe that was answered. */
  readonly onAnswered?: (target: ProbeTarget) => void;
}

/** Between two probes of one endpoint; the shortest period a kubelet knows is 1 s. */
export const probeEveryMs = 2_000;

/**
 * From one probe to the next of an endpoint that was found silent, of which each takes half a second:
 * so its return is found within a second, on a busy machine as well.
 */
const silentProbeEveryMs = 700;

/** A busy program may miss one; a refused connection counts at once. */
const missesToBeSilent = 2;

/** All probes together: a node with a hundred pods is looked at at once, a thousand pods in 5 s. */
const probesPerSecond = 200;
const probesAtOnce = 200;

/** Of a namespace; everything beyond is left in doubt. Each takes some 500 bytes. */
export const maxDoubted = 10_000;

/** Twice as long as a watch may go without a proof that it is current. */
export const oldDoubtMs = 180_000;

interface Doubted {
  /** Of the services that doubt it: each namespace has its endpoints asked for itself. */
  readonly namespace: string;
  readonly target: ProbeTarget;
  readonly doubters: Set<string>;
  readonly since: MonotonicMs;
  /** Gives up the probe that is under way; undefined when none is. */
  giveUp: AbortController | undefined;
  misses: number;
  answer: ProbeAnswer | undefined;
  isOld: boolean;
  cancelNext: CancelTimer | undefined;
}

export class Probes {
  readonly #options: ProbesOptions;
  readonly #limit: TokenBucket;
  readonly #turns = new ProbeTurns<Doubted>();
  readonly #doubted = new Map<string, Doubted>();
  /** By namespace, how many of `#doubted` are its own. */
  readonly #counts = new Map<string, number>();
  /** By doubter, the keys in `#doubted` and why it doubts each. */
  readonly #wanted = new Map<string, ReadonlyMap<string, DoubtCause>>();
  readonly #underWay = new Set<Promise<void>>();
  #isStopped = false;
  /** Set while those that wait are waiting for the rate. */
  #cancelGoOn: CancelTimer | undefined;

  constructor(options: ProbesOptions) {
    this.#options = options;
    this.#limit = new TokenBucket({ ...options, qps: probesPerSecond, burst: probesAtOnce });
  }

  /** How many endpoints are in doubt. */
  get size(): number {
    return this.#doubted.size;
  }

  /** How many are being asked at this moment. */
  get underWay(): number {
    return this.#underWay.size;
  }

  /**
   * From now on these endpoints are asked for the doubter, `namespace/name:port`, at once and again, and
   * no others.
   */
  want(doubter: string, doubts: readonly Doubt[]): void {
    const before = this.#wanted.get(doubter);
    if (doubts.length === 0 && before === undefined) return;
    const { namespace } = splitObjectKey(doubter);
    const causes = new Map(doubts.map((doubt) => [keyOf(namespace, doubt), doubt.cause]));
    if (causes.size === 0) this.#wanted.delete(doubter);
    else this.#wanted.set(doubter, causes);
    for (const key of before?.keys() ?? []) if (!causes.has(key)) this.#trust(doubter, key);
    for (const doubt of doubts) this.#doubt(namespace, doubter, doubt);
    this.#goOn();
  }

  /** By cluster, what this one doubts and what is known of it. */
  standing(doubter: string): ReadonlyMap<string, ReadonlyMap<EndpointId, StandingDoubt>> {
    const standing = new Map<string, Map<EndpointId, StandingDoubt>>();
    for (const [key, cause] of this.#wanted.get(doubter) ?? []) {
      const { target, answer = "unknown", isOld = false } = this.#doubted.get(key) ?? {};
      if (target === undefined) continue;
      const inCluster = standing.get(target.cluster) ?? new Map<EndpointId, StandingDoubt>();
      standing.set(target.cluster, inCluster.set(endpointId(target), { cause, answer, isOld }));
    }
    return standing;
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelGoOn?.();
    for (const doubted of this.#doubted.values()) this.#end(doubted);
    await Promise.all(this.#underWay);
  }

  #doubt(namespace: string, doubter: string, target: ProbeTarget): void {
    if (this.#isStopped) return;
    const key = keyOf(namespace, target);
    const known = this.#doubted.get(key);
    if (known !== undefined) {
      known.doubters.add(doubter);
      return;
    }
    const count = this.#counts.get(namespace) ?? 0;
    if (count >= maxDoubted) return;
    this.#counts.set(namespace, count + 1);
    const doubted: Doubted = {
      namespace,
      target,
      doubters: new Set([doubter]),
      since: this.#options.clock.monotonicMs(),
      giveUp: undefined,
      misses: 0,
      answer: undefined,
      isOld: false,
      cancelNext: undefined,
    };
    this.#doubted.set(key, doubted);
    this.#turns.add(doubted, { isFirst: true });
  }

  #trust(doubter: string, key: string): void {
    const doubted = this.#doubted.get(key);
    doubted?.doubters.delete(doubter);
    if (doubted !== undefined && doubted.doubters.size === 0) this.#end(doubted);
  }

  /** A waiting probe is removed, and a running one is aborted. */
  #end(doubted: Doubted): void {
    doubted.cancelNext?.();
    this.#turns.remove(doubted);
    const { namespace, target } = doubted;
    if (this.#doubted.delete(keyOf(namespace, target))) this.#countLess(namespace);
    doubted.giveUp?.abort(new Error("it is not in doubt any more"));
  }

  #countLess(namespace: string): void {
    const left = (this.#counts.get(namespace) ?? 1) - 1;
    if (left === 0) this.#counts.delete(namespace);
    else this.#counts.set(namespace, left);
  }

  /** Starts the probes that may run now; continues when the rate allows more. */
  #goOn(): void {
    while (!this.#isStopped && this.#cancelGoOn === undefined && this.#turns.isWaiting) {
      if (!this.#limit.tryAccept()) {
        this.#cancelGoOn = this.#options.timers.after(1_000 / probesPerSecond, () => {
          this.#cancelGoOn = undefined;
          this.#goOn();
        });
        return;
      }
      const next = this.#turns.next();
      if (next === undefined) return;
      const asking = this.#ask(next).finally(() => this.#underWay.delete(asking));
      this.#underWay.add(asking);
    }
  }

  async #ask(doubted: Doubted): Promise<void> {
    const { clock, timers } = this.#options;
    const begunAt = clock.monotonicMs();
    const giveUp = new AbortController();
    doubted.giveUp = giveUp;
    try {
      const outcome = await probeOnce(this.#options, doubted.target, giveUp.signal);
      if (!giveUp.signal.aborted) this.#note(doubted, outcome);
    } catch (error) {
      if (!giveUp.signal.aborted) throw error;
    } finally {
      doubted.giveUp = undefined;
      this.#turns.ended(doubted);
      this.#goOn();
    }
    if (giveUp.signal.aborted) return;
    const soonMs = Math.max(0, silentProbeEveryMs - elapsedMs(begunAt, clock.monotonicMs()));
    const pauseMs = doubted.answer === "silent" ? soonMs : probeEveryMs;
    doubted.cancelNext = timers.after(pauseMs, () => {
      this.#turns.add(doubted, { isFirst: false });
      this.#goOn();
    });
  }

  #note(doubted: Doubted, outcome: ProbeOutcome): void {
    const { clock, log, onAnswer, onAnswered } = this.#options;
    if (outcome === "answered") onAnswered?.(doubted.target);
    const before = { answer: doubted.answer, isOld: doubted.isOld };
    doubted.isOld = elapsedMs(doubted.since, clock.monotonicMs()) >= oldDoubtMs;
    doubted.misses = outcome === "answered" ? 0 : doubted.misses + 1;
    if (outcome === "answered") doubted.answer = "answers";
    else if (outcome === "refused" || doubted.misses >= missesToBeSilent) doubted.answer = "silent";
    const { answer, isOld } = doubted;
    if (answer === before.answer && isOld === before.isOld) return;
    const { cluster, address, port } = doubted.target;
    log.debug("probed an endpoint", { cluster, address, port, answer });
    for (const doubter of doubted.doubters) onAnswer(doubter);
  }
}

function keyOf(namespace: string, target: ProbeTarget): string {
  return `${namespace} ${clusterEndpointId(target)}`;
}
