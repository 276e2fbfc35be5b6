// What the external names of services resolve to. Only names that a routed service has are looked
// up, again and again, a few at a time; the last good answer stays while the resolver fails, and it is
// said that it is old.
// Invariant: a name is in `#known` exactly while somebody wants it, at most `maxNames` of them.
import type { Environment } from "../environment/environment.ts";
import type { ResolvedName } from "../environment/names.ts";
import { NetworkError } from "../environment/network.ts";
import type { CancelTimer } from "../environment/timers.ts";

export interface ExternalNamesOptions extends Pick<Environment, "timers" | "names" | "log"> {
  /** Called for everyone who wants a name whose answer is another than before. */
  readonly onAnswer: (wanter: string) => void;
}

export interface ExternalAnswer {
  /** In a fixed order; those of the last lookup that succeeded. */
  readonly addresses: readonly string[];
  /** Why the newest lookup failed, in a few words; undefined when it succeeded. */
  readonly failure: string | undefined;
}

/** A name is looked up again when its answer ends, and after this time in any case. */
export const lookAgainMs = 30_000;
/** But not sooner than this, for a thousand names whose answers end at once are a burden. */
export const lookAgainAfterMinMs = 5_000;

/** After a failure, which is most often a resolver that restarts; twice as long after the next. */
export const lookAgainAfterFailureMs = 5_000;
const lookAgainAfterFailuresMs = 60_000;

/** Of one lookup. */
export const lookupTimeoutMs = 10_000;

/** Enough that names which nobody answers for do not keep the others waiting. */
const lookupsAtOnce = 50;

/** Thousands of external names would keep a resolver busy for nothing. */
const maxNames = 1_000;

/** A name that spreads over more addresses than this is a mistake. */
const maxAddresses = 256;

interface Known {
  readonly name: string;
  readonly wanters: Set<string>;
  answer: ExternalAnswer | undefined;
  /** In a row. */
  failures: number;
  cancelNext: CancelTimer | undefined;
}

export class ExternalNames {
  readonly #options: ExternalNamesOptions;
  readonly #known = new Map<string, Known>();
  readonly #wanted = new Map<string, ReadonlySet<string>>();
  /** Whose turn it is, in order. */
  readonly #due = new Set<Known>();
  readonly #underWay = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(options: ExternalNamesOptions) {
    this.#options = options;
  }

  /** From now on these names are looked up for the wanter, at once and again, and no others. */
  want(wanter: string, names: Iterable<string>): void {
    const wanted = new Set(names);
    const before = this.#wanted.get(wanter);
    if (wanted.size === 0 && before === undefined) return;
    if (wanted.size === 0) this.#wanted.delete(wanter);
    else this.#wanted.set(wanter, wanted);
    for (const name of before ?? []) if (!wanted.has(name)) this.#leave(wanter, name);
    for (const name of wanted) this.#add(wanter, name);
    this.#goOn();
  }

  /** Undefined before the first answer. */
  answerOf(name: string): ExternalAnswer | undefined {
    return this.#known.get(name)?.answer;
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the names are not wanted any more"));
    this.#due.clear();
    for (const { cancelNext } of this.#known.values()) cancelNext?.();
    await Promise.all(this.#underWay);
  }

  #add(wanter: string, name: string): void {
    const known = this.#known.get(name);
    if (known !== undefined) {
      known.wanters.add(wanter);
      return;
    }
    if (this.#known.size >= maxNames) {
      this.#options.log.warn("there are too many external names", { name, maxNames });
      return;
    }
    const wanters = new Set([wanter]);
    const made = { name, wanters, answer: undefined, failures: 0, cancelNext: undefined };
    this.#known.set(name, made);
    this.#due.add(made);
  }

  #leave(wanter: string, name: string): void {
    const known = this.#known.get(name);
    known?.wanters.delete(wanter);
    if (known === undefined || known.wanters.size > 0) return;
    known.cancelNext?.();
    this.#due.delete(known);
    this.#known.delete(name);
  }

  #goOn(): void {
    for (const known of this.#due) {
      if (this.#underWay.size >= lookupsAtOnce || this.#abort.signal.aborted) return;
      this.#due.delete(known);
      const lookup: Promise<void> = this.#lookUp(known).finally(() => {
        this.#underWay.delete(lookup);
        this.#goOn();
      });
      this.#underWay.add(lookup);
    }
  }

  async #lookUp(known: Known): Promise<void> {
    const { timers } = this.#options;
    const { ttlMs, ...answer } = await this.#ask(known);
    if (this.#abort.signal.aborted || this.#known.get(known.name) !== known) return;
    known.failures = answer.failure === undefined ? 0 : known.failures + 1;
    known.cancelNext = timers.after(restAfter(known.failures, ttlMs), () => {
      this.#due.add(known);
      this.#goOn();
    });
    const isSame =
      known.answer?.failure === answer.failure &&
      known.answer?.addresses.join() === answer.addresses.join();
    known.answer = answer;
    if (!isSame) for (const wanter of known.wanters) this.#options.onAnswer(wanter);
  }

  async #ask({ name, answer }: Known): Promise<ExternalAnswer & Pick<ResolvedName, "ttlMs">> {
    const { names, timers, log } = this.#options;
    const patience = new AbortController();
    const cancel = timers.after(lookupTimeoutMs, () => patience.abort(new Error("too slow")));
    try {
      const signal = AbortSignal.any([this.#abort.signal, patience.signal]);
      const { addresses, ttlMs } = await names.resolve(name, signal);
      const found = [...new Set(addresses)].sort().slice(0, maxAddresses);
      return { addresses: found, failure: undefined, ttlMs };
    } catch (error) {
      if (!this.#abort.signal.aborted) log.debug("an external name has no answer", { name, error });
      const failure = inWords(error);
      return { addresses: answer?.addresses ?? [], failure, ttlMs: undefined };
    } finally {
      cancel();
    }
  }
}

function restAfter(failures: number, ttlMs: number | undefined): number {
  if (failures === 0) {
    return Math.min(Math.max(ttlMs ?? lookAgainMs, lookAgainAfterMinMs), lookAgainMs);
  }
  return Math.min(lookAgainAfterFailureMs * 2 ** (failures - 1), lookAgainAfterFailuresMs);
}

function inWords(error: unknown): string {
  const code = error instanceof NetworkError ? error.code : undefined;
  if (code === "UNKNOWN_HOST") return "there is no such name";
  return code === "ABORTED" ? "the resolver does not answer" : "the resolver fails";
}
