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
import { machineOf, ProbeTurns } from "./probe-turns.ts";

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
 * From one probe to the next of an endpoint that did not answer. A lost probe takes half a second, so
 * they never overlap. Its return is found within this time and one exchange. The rest of a second is for
 * the decision, the proxy and the next request.
 */
const missedProbeEveryMs = 700;

/**
 * The same after so long without an answer. By then Kubernetes evicts the pods of a node that is gone, and
 * few come back. If another endpoint on the same node answers, they are probed at once.
 */
export const longMissedProbeEveryMs = 5_000;
export const longMissedMs = 300_000;

/** A busy program may miss one, or some for so long; a refused connection counts at once. */
const missesToBeSilent = 2;
const missedForToBeSilentMs = 2_000;

/**
 * All probes together; clusters and their namespaces take turns. So 140 endpoints that just fell silent
 * are each probed every 0.7 s, and a thousand every 5 s. A lost probe takes some 0.9 ms of CPU time.
 */
export const probesPerSecond = 200;
/** A node with a hundred pods is looked at at once. */
export const probesAtOnce = 200;

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
  /** The begin of the first probe without an answer since the last one with an answer. */
  missedSince: MonotonicMs | undefined;
  answer: ProbeAnswer | undefined;
  isOld: boolean;
  /** Its machine is back since the probe began that is under way: another one follows at once. */
  isMachineBack: boolean;
  /** While it waits for the time of its next probe. */
  cancelNext: CancelTimer | undefined;
}

export class Probes {
  readonly #options: ProbesOptions;
  readonly #limit: TokenBucket;
  readonly #turns = new ProbeTurns<Doubted>();
  /** By machine, those that did not answer since any endpoint there did; no set is empty. */
  readonly #missing = new Map<string, Set<Doubted>>();
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
      missedSince: undefined,
      answer: undefined,
      isOld: false,
      isMachineBack: false,
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
    this.#missesNoMore(doubted);
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
      if (!giveUp.signal.aborted) this.#note(doubted, outcome, begunAt);
    } catch (error) {
      if (!giveUp.signal.aborted) throw error;
    } finally {
      doubted.giveUp = undefined;
      this.#turns.ended(doubted);
      this.#goOn();
    }
    if (giveUp.signal.aborted) return;
    doubted.cancelNext = timers.after(this.#pauseMs(doubted, begunAt), () => {
      doubted.cancelNext = undefined;
      this.#turns.add(doubted, { isFirst: false });
      this.#goOn();
    });
    doubted.isMachineBack = false;
  }

  #pauseMs({ missedSince, isMachineBack }: Doubted, begunAt: MonotonicMs): number {
    if (missedSince === undefined) return probeEveryMs;
    if (isMachineBack) return 0;
    const now = this.#options.clock.monotonicMs();
    const isLong = elapsedMs(missedSince, now) >= longMissedMs;
    const everyMs = isLong ? longMissedProbeEveryMs : missedProbeEveryMs;
    return Math.max(0, everyMs - elapsedMs(begunAt, now));
  }

  #misses(doubted: Doubted): void {
    const machine = machineOf(doubted.target);
    this.#missing.set(machine, (this.#missing.get(machine) ?? new Set()).add(doubted));
  }

  #missesNoMore(doubted: Doubted): void {
    const machine = machineOf(doubted.target);
    const there = this.#missing.get(machine);
    there?.delete(doubted);
    if (there?.size === 0) this.#missing.delete(machine);
  }

  /** An endpoint answers again: its machine is back, and perhaps others there as well. */
  #machineIsBack(target: ProbeTarget): void {
    const machine = machineOf(target);
    const there = this.#missing.get(machine) ?? [];
    this.#missing.delete(machine);
    for (const one of there) {
      one.isMachineBack = one.giveUp !== undefined;
      if (one.cancelNext === undefined) continue;
      one.cancelNext();
      one.cancelNext = undefined;
      this.#turns.add(one, { isFirst: true });
    }
  }

  #note(doubted: Doubted, outcome: ProbeOutcome, begunAt: MonotonicMs): void {
    const { clock, log, onAnswer, onAnswered } = this.#options;
    const now = clock.monotonicMs();
    const before = { answer: doubted.answer, isOld: doubted.isOld };
    doubted.isOld = elapsedMs(doubted.since, now) >= oldDoubtMs;
    if (outcome === "answered") {
      onAnswered?.(doubted.target);
      this.#missesNoMore(doubted);
      if (doubted.missedSince !== undefined) this.#machineIsBack(doubted.target);
      doubted.misses = 0;
      doubted.missedSince = undefined;
      doubted.answer = "answers";
    } else {
      this.#misses(doubted);
      doubted.misses += 1;
      doubted.missedSince ??= begunAt;
      const isLong = elapsedMs(doubted.missedSince, now) >= missedForToBeSilentMs;
      const isSilent = doubted.misses >= missesToBeSilent && isLong;
      if (outcome === "refused" || isSilent) doubted.answer = "silent";
    }
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
