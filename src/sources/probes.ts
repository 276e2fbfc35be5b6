// Asks endpoints themselves whether they answer, but only those somebody doubts, and no more often
// than a kubelet would. A probe proves one thing: that the program behind an address takes requests
// now, whatever the control plane says of its pod.
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";
import { type ProbeTarget, probeOnce } from "./probe-once.ts";
import { peerKey } from "./proxy-feedback.ts";

export type ProbeAnswer = "answers" | "silent";

/** The node controller wrote what its kubelet did not say, or requests did not reach it. */
export type DoubtCause = "flap" | "traffic";

/** An endpoint to be probed, and why. */
export interface Doubt extends ProbeTarget {
  readonly cause: DoubtCause;
}

/** What came of a doubt until now. */
export interface StandingDoubt {
  readonly cause: DoubtCause;
  /** `unknown` before the first answer. */
  readonly answer: ProbeAnswer | "unknown";
}

export interface ProbesOptions extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  /** Called for everyone who doubts an endpoint that answers otherwise than before. */
  readonly onAnswer: (doubter: string) => void;
}

/** Between two probes of one endpoint; the shortest period a kubelet knows is 1 s. */
export const probeEveryMs = 2_000;

/** A busy program may miss one; a refused connection counts at once. */
const missesToBeSilent = 2;

/** All probes together: a node with a hundred pods is looked at at once, a thousand pods in 5 s. */
const probesPerSecond = 200;
const probesAtOnce = 200;

interface Doubted {
  readonly target: ProbeTarget;
  readonly doubters: Set<string>;
  /** Aborts when nobody doubts it any more. */
  readonly trusted: AbortController;
  misses: number;
  answer: ProbeAnswer | undefined;
  cancelNext: CancelTimer | undefined;
}

export class Probes {
  readonly #options: ProbesOptions;
  readonly #limit: TokenBucket;
  readonly #doubted = new Map<string, Doubted>();
  /** By doubter, the keys in `#doubted` and why it doubts each. */
  readonly #wanted = new Map<string, ReadonlyMap<string, DoubtCause>>();
  #isStopped = false;
  readonly #underWay = new Set<Promise<void>>();

  constructor(options: ProbesOptions) {
    this.#options = options;
    this.#limit = new TokenBucket({ ...options, qps: probesPerSecond, burst: probesAtOnce });
  }

  /** How many endpoints are being asked. */
  get size(): number {
    return this.#doubted.size;
  }

  /** From now on these endpoints are asked for the doubter, at once and again, and no others. */
  want(doubter: string, doubts: readonly Doubt[]): void {
    const before = this.#wanted.get(doubter);
    if (doubts.length === 0 && before === undefined) return;
    const causes = new Map(doubts.map((doubt) => [keyOf(doubt), doubt.cause]));
    if (causes.size === 0) this.#wanted.delete(doubter);
    else this.#wanted.set(doubter, causes);
    for (const doubt of doubts) this.#doubt(doubter, doubt);
    for (const key of before?.keys() ?? []) if (!causes.has(key)) this.#trust(doubter, key);
  }

  /** By cluster and `peerKey`, what this one doubts and what is known of it. */
  standing(doubter: string): ReadonlyMap<string, ReadonlyMap<string, StandingDoubt>> {
    const standing = new Map<string, Map<string, StandingDoubt>>();
    for (const [key, cause] of this.#wanted.get(doubter) ?? []) {
      const { target, answer = "unknown" } = this.#doubted.get(key) ?? {};
      if (target === undefined) continue;
      const inCluster = standing.get(target.cluster) ?? new Map<string, StandingDoubt>();
      standing.set(target.cluster, inCluster.set(peerKey(target), { cause, answer }));
    }
    return standing;
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const doubted of this.#doubted.values()) this.#end(doubted);
    await Promise.all(this.#underWay);
  }

  #doubt(doubter: string, target: ProbeTarget): void {
    if (this.#isStopped) return;
    const known = this.#doubted.get(keyOf(target));
    if (known !== undefined) {
      known.doubters.add(doubter);
      return;
    }
    const doubters = new Set([doubter]);
    const doubted: Doubted = {
      target,
      doubters,
      trusted: new AbortController(),
      misses: 0,
      answer: undefined,
      cancelNext: undefined,
    };
    this.#doubted.set(keyOf(target), doubted);
    this.#askNow(doubted);
  }

  #trust(doubter: string, key: string): void {
    const doubted = this.#doubted.get(key);
    doubted?.doubters.delete(doubter);
    if (doubted !== undefined && doubted.doubters.size === 0) this.#end(doubted);
  }

  /** What waits for its turn is not asked any more, and what is being asked is given up. */
  #end(doubted: Doubted): void {
    doubted.cancelNext?.();
    doubted.trusted.abort(new Error("it is not in doubt any more"));
    this.#doubted.delete(keyOf(doubted.target));
  }

  #askNow(doubted: Doubted): void {
    const asking = this.#ask(doubted).finally(() => this.#underWay.delete(asking));
    this.#underWay.add(asking);
  }

  async #ask(doubted: Doubted): Promise<void> {
    const { signal } = doubted.trusted;
    try {
      await this.#limit.wait(signal);
      const outcome = await probeOnce(this.#options, doubted.target, signal);
      if (!signal.aborted) this.#note(doubted, outcome);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted) return;
    const again = () => this.#askNow(doubted);
    doubted.cancelNext = this.#options.timers.after(probeEveryMs, again);
  }

  #note(doubted: Doubted, outcome: Awaited<ReturnType<typeof probeOnce>>): void {
    doubted.misses = outcome === "answered" ? 0 : doubted.misses + 1;
    if (outcome === "missed" && doubted.misses < missesToBeSilent) return;
    const answer = outcome === "answered" ? "answers" : "silent";
    if (answer === doubted.answer) return;
    doubted.answer = answer;
    const { address, port } = doubted.target;
    this.#options.log.info("an endpoint in doubt was probed", { address, port, answer });
    for (const doubter of doubted.doubters) this.#options.onAnswer(doubter);
  }
}

function keyOf(target: ProbeTarget): string {
  return `${target.cluster} ${peerKey(target)}`;
}
