// Sends each request to both proxies, one pair after the other at a bounded rate, and compares the
// answers. A pair that differs is sent once more: what an answer changes by itself says nothing about the
// proxy.
import type { Timers } from "../../environment/timers.ts";
import { type Answer, type AskOptions, ask, type Side } from "./answer.ts";
import {
  type AnswerDifference,
  type CompareChoice,
  type ComparedAnswers,
  compareAnswers,
} from "./answer-difference.ts";
import type { PlannedRequest } from "./planned-request.ts";

export type ComparedVerdict =
  | "same"
  | "differs"
  /** One side answers the same request in different ways. */
  | "changes by itself";

export interface ComparedRequest extends PlannedRequest {
  readonly verdict: ComparedVerdict;
  readonly oldStatus: number | undefined;
  readonly newStatus: number | undefined;
  readonly differences: readonly AnswerDifference[];
  readonly noise: readonly string[];
}

export interface ComparisonOptions extends AskOptions, CompareChoice {
  readonly timers: Timers;
  readonly old: Side;
  readonly new: Side;
  /** To each side. */
  readonly perSecond: number;
}

/** So many requests without any answer: the address is wrong, or nothing is there. */
const maxSilent = 3;

export class NoAnswerError extends Error {
  override readonly name = "NoAnswerError";
  readonly code = "NO_ANSWER";
}

export class Comparison {
  readonly #options: ComparisonOptions;
  /** Requests in a row that a side did not answer, from the start. */
  readonly #silent = new Map<Side, number>();
  #isFirst = true;

  constructor(options: ComparisonOptions) {
    this.#options = options;
  }

  async compare(request: PlannedRequest): Promise<ComparedRequest> {
    const first = await this.#pair(request);
    const found = this.#compared(request, first);
    if (found.differences.length === 0) return resultOf(request, first, "same", found);
    const second = await this.#pair(request);
    const again = this.#compared(request, second);
    const changing = new Set(
      (["old", "new"] as const)
        .flatMap((side) => this.#between(request, first[side], second[side]).differences)
        .map(({ what }) => what),
    );
    // A part that is steady and differs is a difference all the same.
    const differences = again.differences.filter(({ what }) => !changing.has(what));
    const noise = [
      ...again.noise,
      ...[...changing].map((what) => `${what} that changes by itself`),
    ];
    const verdict = differences.length > 0 ? "differs" : "changes by itself";
    return resultOf(request, second, verdict, { differences, noise });
  }

  #compared(request: PlannedRequest, { old, new: now }: Pair): ComparedAnswers {
    return this.#between(request, old, now);
  }

  #between(request: PlannedRequest, one: Answer, other: Answer): ComparedAnswers {
    return compareAnswers(request, one, other, this.#options);
  }

  async #pair(request: PlannedRequest): Promise<Pair> {
    const { timers, perSecond, signal, old, new: now } = this.#options;
    if (!this.#isFirst) await timers.sleep(1_000 / perSecond, signal);
    this.#isFirst = false;
    const [ofOld, ofNew] = await Promise.all([
      ask(old, request, this.#options),
      ask(now, request, this.#options),
    ]);
    this.#note(old, ofOld);
    this.#note(now, ofNew);
    return { old: ofOld, new: ofNew };
  }

  #note(side: Side, answer: Answer): void {
    const silent = this.#silent.get(side) ?? 0;
    if (answer.kind === "answered") this.#silent.set(side, Number.NEGATIVE_INFINITY);
    else if (silent + 1 >= maxSilent) {
      throw new NoAnswerError(`${side.base} does not answer: ${answer.message}`);
    } else this.#silent.set(side, silent + 1);
  }
}

interface Pair {
  readonly old: Answer;
  readonly new: Answer;
}

function resultOf(
  request: PlannedRequest,
  { old, new: now }: Pair,
  verdict: ComparedVerdict,
  { differences, noise }: ComparedAnswers,
): ComparedRequest {
  const statusOf = (answer: Answer) => (answer.kind === "answered" ? answer.status : undefined);
  return {
    ...request,
    verdict,
    oldStatus: statusOf(old),
    newStatus: statusOf(now),
    differences,
    noise,
  };
}
