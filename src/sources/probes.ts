// Asks endpoints themselves whether they answer, but only those somebody doubts, and no more often
// than a kubelet would. A probe proves one thing: that the program behind an address takes requests
// now, whatever the control plane says of its pod.
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { TokenBucket } from "../kube/client/token-bucket.ts";
import { type ProbeTarget, probeOnce } from "./probe-once.ts";

export type ProbeAnswer = "answers" | "silent";

export interface ProbesOptions extends Pick<Environment, "clock" | "timers" | "network" | "log"> {
  /** Called for everyone who doubts an endpoint that answers otherwise than before. */
  readonly onAnswer: (doubter: string) => void;
}

/** Between two probes of one endpoint; the shortest period a kubelet knows is 1 s. */
export const probeEveryMs = 2_000;

/** A busy program may miss one; a refused connection counts at once. */
const missesToBeSilent = 2;

/** All probes together: a node with a hundred pods is looked at within two seconds. */
const probesPerSecond = 50;
const probesAtOnce = 50;

interface Doubted {
  readonly target: ProbeTarget;
  readonly doubters: Set<string>;
  misses: number;
  answer: ProbeAnswer | undefined;
  cancelNext: CancelTimer | undefined;
}

export class Probes {
  readonly #options: ProbesOptions;
  readonly #limit: TokenBucket;
  readonly #doubted = new Map<string, Doubted>();
  /** By doubter, the keys in `#doubted`. */
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  readonly #stopping = new AbortController();
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
  want(doubter: string, targets: readonly ProbeTarget[]): void {
    const before = this.#wanted.get(doubter);
    if (targets.length === 0 && before === undefined) return;
    const keys = new Set(targets.map(keyOf));
    if (keys.size === 0) this.#wanted.delete(doubter);
    else this.#wanted.set(doubter, keys);
    for (const target of targets) this.#doubt(doubter, target);
    for (const key of before ?? []) if (!keys.has(key)) this.#trust(doubter, key);
  }

  /** By cluster and `placeKey`, what is known of the endpoints this one doubts. */
  answersFor(doubter: string): ReadonlyMap<string, ReadonlyMap<string, ProbeAnswer>> {
    const answers = new Map<string, Map<string, ProbeAnswer>>();
    for (const key of this.#wanted.get(doubter) ?? []) {
      const { target, answer } = this.#doubted.get(key) ?? {};
      if (target === undefined || answer === undefined) continue;
      const inCluster = answers.get(target.cluster) ?? new Map<string, ProbeAnswer>();
      answers.set(target.cluster, inCluster.set(placeKey(target), answer));
    }
    return answers;
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("probing has ended"));
    for (const { cancelNext } of this.#doubted.values()) cancelNext?.();
    this.#doubted.clear();
    await Promise.all(this.#underWay);
  }

  #doubt(doubter: string, target: ProbeTarget): void {
    if (this.#stopping.signal.aborted) return;
    const known = this.#doubted.get(keyOf(target));
    if (known !== undefined) {
      known.doubters.add(doubter);
      return;
    }
    const doubters = new Set([doubter]);
    const doubted: Doubted = {
      target,
      doubters,
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
    if (doubted === undefined || doubted.doubters.size > 0) return;
    doubted.cancelNext?.();
    this.#doubted.delete(key);
  }

  #askNow(doubted: Doubted): void {
    const asking = this.#ask(doubted).finally(() => this.#underWay.delete(asking));
    this.#underWay.add(asking);
  }

  async #ask(doubted: Doubted): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await this.#limit.wait(signal);
      const outcome = await probeOnce(this.#options, doubted.target, signal);
      this.#note(doubted, outcome);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
    if (signal.aborted || this.#doubted.get(keyOf(doubted.target)) !== doubted) return;
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

/** Names an endpoint within its cluster. */
export function placeKey({ address, port }: Pick<ProbeTarget, "address" | "port">): string {
  return `${address} ${port}`;
}

function keyOf(target: ProbeTarget): string {
  return `${target.cluster} ${placeKey(target)}`;
}
