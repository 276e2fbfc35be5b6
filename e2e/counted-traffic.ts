// For tests: traffic to every shop through an entry in front of several replicas, every result kept,
// so that a test counts what became of all that was sent.
import { Entry, type EntryCounts, type EntryReplica } from "../src/lab/traffic/entry.ts";
import { lossOf } from "../src/lab/traffic/tally.ts";
import type { TrafficResult } from "../src/lab/traffic/traffic-result.ts";
import { TrafficSource } from "../src/lab/traffic/traffic-source.ts";
import { hostOf, type ShopPod, type ShopsWorld } from "./shops-world.ts";

export interface CountedTrafficOptions {
  readonly world: ShopsWorld;
  readonly replicas: readonly EntryReplica[];
  readonly requestsPerSecond: number;
  /** The world's unless given. */
  readonly hosts?: readonly string[];
  /** Distinguishes its requests from others in an access log; `/` unless given. */
  readonly path?: string;
  /** `GET` unless given, which clients repeat when a reused connection is closed. */
  readonly method?: "GET" | "POST";
}

/** Nothing here is about how soon an answer comes; the longest there may be. */
const deadlineMs = 60_000;

export class CountedTraffic {
  readonly results: TrafficResult[] = [];
  readonly #options: CountedTrafficOptions;
  readonly #entry: Entry;
  readonly #source: TrafficSource;

  /** Runs until it is finished, or to the end of the world. */
  static async start(options: CountedTrafficOptions): Promise<CountedTraffic> {
    const { world, replicas, requestsPerSecond } = options;
    const { environment } = world;
    const { hosts = world.hosts, path = "/", method = "GET" } = options;
    const entry = new Entry({ ...environment, host: "127.0.0.1", port: 0, replicas });
    await entry.start();
    world.atStop(() => entry.stop());
    return new CountedTraffic(options, entry, (onResult) => {
      const entries = [{ name: "entry", url: entry.url }];
      const asked = { hosts, paths: [path], method, requestsPerSecond, deadlineMs };
      return new TrafficSource({ ...environment, ...asked, entries, onResult });
    });
  }

  private constructor(
    options: CountedTrafficOptions,
    entry: Entry,
    sourceTo: (onResult: (result: TrafficResult) => void) => TrafficSource,
  ) {
    this.#options = options;
    this.#entry = entry;
    this.#source = sourceTo((result) => this.results.push(result));
    options.world.atStop(() => this.#source.stop());
    this.#source.start();
  }

  get sent(): number {
    return this.#source.sent;
  }

  get entryCounts(): EntryCounts {
    return this.#entry.counts;
  }

  /** Sends no more; resolves when every request has its result. */
  async finish(): Promise<void> {
    await this.#source.finish();
  }

  /** How many requests came to which end: `200`, `504`, `RESET`. */
  outcomes(): Readonly<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const { outcome } of this.results) {
      const key = outcome.kind === "answered" ? String(outcome.status) : outcome.code;
      counts[key] = (counts[key] ?? 0) + 1;
    }
    return counts;
  }

  lost(): readonly TrafficResult[] {
    return this.results.filter((result) => lossOf(result) !== undefined);
  }

  /**
   * Waits until requests that are sent from now on have been served by every one of these pods,
   * through every replica; gives, for each replica and host, the pods that served one.
   */
  async servedThroughEvery(
    pods: readonly ShopPod[],
    replicas: readonly EntryReplica[] = this.#options.replicas,
  ): Promise<ServedBy> {
    const { world } = this.#options;
    const mark = this.sent;
    const expected = expectedFrom(pods, replicas);
    let served: ServedBy = new Map();
    await world.until("every pod has served through every replica", () => {
      served = servedBy(this.results.filter(({ number }) => number > mark));
      return [...expected].every(([way, uids]) =>
        [...uids].every((uid) => served.get(way)?.has(uid) === true),
      );
    });
    return served;
  }
}

/** The uids of pods, by `replica host`. */
export type ServedBy = ReadonlyMap<string, ReadonlySet<string>>;

/** The expected text when every pod of a host serves through every replica, and no other. */
export function expectedFrom(
  pods: readonly ShopPod[],
  replicas: readonly Pick<EntryReplica, "name">[],
): ServedBy {
  return collected(
    replicas.flatMap(({ name }) =>
      pods.map(({ shop, uid }) => [`${name} ${hostOf(shop)}`, uid] as const),
    ),
  );
}

function servedBy(results: readonly TrafficResult[]): ServedBy {
  return collected(
    results.map(({ replica, host, pod }) => [`${replica} ${host}`, pod?.podUid ?? "none"] as const),
  );
}

function collected(pairs: readonly (readonly [way: string, uid: string])[]): ServedBy {
  const uids = new Map<string, Set<string>>();
  for (const [way, uid] of pairs) uids.set(way, (uids.get(way) ?? new Set()).add(uid));
  return uids;
}
