// The names of a simulated world: a table that a test fills and changes as it goes.
import type { Names, ResolvedName } from "../environment/names.ts";
import { NetworkError } from "../environment/network.ts";
import type { Timers } from "../environment/timers.ts";

/** A resolver that has the answer gives it in about this time. */
const lookupMs = 1;

export class SimulatedNames {
  readonly #answers = new Map<string, ResolvedName>();
  #isSilent = false;
  #own: readonly string[] = [];
  #silentSuffix: string | undefined;

  /** From now on the name has these addresses; with none there is no such name. */
  set(name: string, addresses: readonly string[], ttlMs?: number): void {
    if (addresses.length === 0) this.#answers.delete(name);
    else this.#answers.set(name, { addresses, ttlMs });
  }

  /** Every process of the world finds these as its own. */
  setOwn(addresses: readonly string[]): void {
    this.#own = addresses;
  }

  /** While it is silent no lookup is answered. */
  setSilent(isSilent: boolean): void {
    this.#isSilent = isSilent;
  }

  /** Lookups of names with this ending are never answered: their server is gone. */
  silence(suffix: string): void {
    this.#silentSuffix = suffix;
  }

  #isAnswered(name: string): boolean {
    const isGone = this.#silentSuffix !== undefined && name.endsWith(this.#silentSuffix);
    return !this.#isSilent && !isGone;
  }

  /** The resolver as a process with these timers has it. */
  namesOf(timers: Timers): Names {
    return {
      resolve: async (name, signal) => {
        await timers
          .sleep(this.#isAnswered(name) ? lookupMs : Number.MAX_SAFE_INTEGER, signal)
          .catch(() => {
            const options = { cause: signal.reason };
            throw new NetworkError("ABORTED", `the lookup of ${name} was cancelled`, options);
          });
        const answer = this.#answers.get(name);
        if (answer === undefined) {
          throw new NetworkError("UNKNOWN_HOST", `${name}: no such name`);
        }
        return answer;
      },
      ownAddresses: () => this.#own,
    };
  }
}
