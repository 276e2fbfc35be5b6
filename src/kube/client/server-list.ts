// The known API servers of one cluster beside the given address: which appeared in the Endpoints of
// `kubernetes`, which of them answer, and which one is used. A server that disappears is remembered
// for a while, because servers that overwrite each other's entry appear one at a time. Pure:
// instants are parameters, and nothing is sent from here.
import { assert } from "../../environment/assert.ts";
import { type Clock, elapsedMs, type MonotonicMs } from "../../environment/clock.ts";
import { type Random, randomInt } from "../../environment/random.ts";

/** A server that has not been listed for so long is forgotten. */
export const rememberedMs = 600_000;
/** One that failed is not asked again for so long; twice as long after each further failure. */
export const restMs = 30_000;
/** At the most: servers that cannot be reached from here are asked in vain, and for ever. */
export const restMaxMs = 600_000;
/** One whose watches were doubted is used again after so long, or when there is no better one. */
export const doubtedMs = 600_000;
/** No cluster has more; the list comes from outside, and each server is asked once. */
export const serversMax = 16;

/**
 * Why a watch or a list was given up. A watch that is behind is proved to be; one that was silent may
 * only have had nothing to say, and objects that a list lacks may be gone.
 */
export type Doubt = "silent" | "incomplete" | "behind";

interface KnownServer {
  /** `10.0.0.1:6443`. */
  readonly address: string;
  /** Since when it no longer shows; undefined while it is listed. */
  unlistedAt: MonotonicMs | undefined;
  /** Whether it has answered since it last failed. */
  proved: boolean;
  failedAt: MonotonicMs | undefined;
  /** Times it has failed since it last answered, each after a rest. */
  failures: number;
  doubt: { readonly why: Doubt; readonly at: MonotonicMs } | undefined;
}

export interface ServerListOptions {
  readonly clock: Clock;
  readonly random: Random;
}

/** Invariant: `#current` is undefined, for the given address, or a proved server of the list. */
export class ServerList {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #servers = new Map<string, KnownServer>();
  #current: string | undefined;

  constructor(options: ServerListOptions) {
    this.#clock = options.clock;
    this.#random = options.random;
  }

  /** The server to use; undefined for the given address. */
  get current(): string | undefined {
    return this.#current;
  }

  /** Servers that answer. */
  get proved(): number {
    return [...this.#servers.values()].filter(({ proved }) => proved).length;
  }

  /** These, and no others, are listed now. */
  seen(addresses: readonly string[]): void {
    const now = this.#clock.monotonicMs();
    for (const server of this.#servers.values()) {
      server.unlistedAt = addresses.includes(server.address)
        ? undefined
        : (server.unlistedAt ?? now);
    }
    this.#forget(now);
    for (const address of addresses) {
      if (this.#servers.has(address) || this.#servers.size >= serversMax) continue;
      const fresh = { address, unlistedAt: undefined, proved: false, failures: 0 };
      this.#servers.set(address, { ...fresh, failedAt: undefined, doubt: undefined });
    }
    this.#check();
  }

  /** Servers that have not answered yet, or failed long enough ago. */
  toAsk(): readonly string[] {
    const now = this.#clock.monotonicMs();
    this.#forget(now);
    return [...this.#servers.values()].flatMap((server) =>
      !server.proved && hasRested(server, now) ? [server.address] : [],
    );
  }

  answered(address: string): void {
    const server = this.#servers.get(address);
    if (server === undefined) return;
    server.proved = true;
    server.failedAt = undefined;
    server.failures = 0;
    if (this.#current === undefined) this.#choose();
    this.#check();
  }

  failed(address: string): void {
    const server = this.#servers.get(address);
    if (server === undefined) return;
    const now = this.#clock.monotonicMs();
    // Requests that were under way together fail together, and count as one.
    if (server.proved || hasRested(server, now)) {
      server.failures += 1;
      server.failedAt = now;
    }
    server.proved = false;
    if (this.#current === address) this.#choose();
    this.#check();
  }

  /** Another is used from now on, if there is a better one. */
  doubted(address: string, why: Doubt): void {
    const server = this.#servers.get(address);
    if (server === undefined) return;
    server.doubt = { why, at: this.#clock.monotonicMs() };
    if (this.#current === address) this.#choose();
  }

  #forget(now: MonotonicMs): void {
    for (const { address, unlistedAt } of this.#servers.values()) {
      if (unlistedAt === undefined || elapsedMs(unlistedAt, now) < rememberedMs) continue;
      this.#servers.delete(address);
      if (this.#current === address) this.#choose();
    }
    this.#check();
  }

  #check(): void {
    const isUsable =
      this.#current === undefined || this.#servers.get(this.#current)?.proved === true;
    assert(isUsable, "the server in use is known and has answered");
    assert(this.#servers.size <= serversMax, "servers are bounded");
  }

  /** Any of those that the least speaks against, so that many clients spread. */
  #choose(): void {
    const proved = [...this.#servers.values()].filter((server) => server.proved);
    const least = Math.min(...proved.map((server) => this.#against(server)));
    const best = proved.filter((server) => this.#against(server) === least);
    const oldest = Math.min(...best.map(({ doubt }) => doubt?.at ?? 0));
    const choice = best.filter(({ doubt }) => (doubt?.at ?? 0) === oldest);
    this.#current = choice[randomInt(this.#random, Math.max(1, choice.length))]?.address;
  }

  #against({ doubt }: KnownServer): number {
    if (doubt === undefined) return 0;
    const isOver = elapsedMs(doubt.at, this.#clock.monotonicMs()) >= doubtedMs;
    return isOver ? 0 : doubtWeights[doubt.why];
  }
}

function hasRested({ failedAt, failures }: KnownServer, now: MonotonicMs): boolean {
  if (failedAt === undefined) return true;
  return elapsedMs(failedAt, now) >= Math.min(restMs * 2 ** (failures - 1), restMaxMs);
}

const doubtWeights: Readonly<Record<Doubt, number>> = { silent: 1, incomplete: 1, behind: 2 };
