// What client-go makes of an event before it sends it (tools/record/events_cache.go): the same
// event again only raises the count of the first, the tenth of a kind about one object stands for
// all that follow, and of one object a source tells no more than a burst and then one each five
// minutes. So counts of events are a lower bound of what happened.
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  toTime,
  type WallMs,
} from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import type { EventText, InvolvedObject } from "./event-recorder.ts";

export interface EventCorrelatorOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Whether this version limits what is told of one object: since 1.9. */
  readonly limits: boolean;
}

/** How an event is to be told. */
export interface Observation {
  readonly name: string;
  readonly message: string;
  /** Above 1 the server has it already, or was to have it. */
  readonly count: number;
  readonly firstTimestamp: string;
}

/** defaultSpamBurst and defaultSpamQPS. */
const burst = 25;
const qps = 1 / 300;

/** defaultAggregateMaxEvents and defaultAggregateIntervalInSeconds. */
const differentMax = 10;
const similarForMs = 600_000;

/** maxLruCacheEntries: what was told longest ago is told as new again. */
const knownMax = 4096;

interface Similar {
  readonly messages: Set<string>;
  readonly at: MonotonicMs;
}

export class EventCorrelator {
  readonly #options: EventCorrelatorOptions;
  /** By object and words, or by object and reason once there were too many of them. */
  readonly #observed = new Map<string, Omit<Observation, "message">>();
  readonly #similar = new Map<string, Similar>();
  readonly #buckets = new Map<string, TokenBucket>();
  /** Of the last name, in nanoseconds: no two events have the same. */
  #lastNamed = 0n;

  constructor(options: EventCorrelatorOptions) {
    this.#options = options;
  }

  /** Undefined when it is not to be told; it counts all the same. */
  observe(object: InvolvedObject, text: EventText, at: WallMs): Observation | undefined {
    const { key, message } = this.#combine(object, text);
    const before = this.#observed.get(key);
    const observed = {
      name: before?.name ?? this.#newName(object, at),
      firstTimestamp: before?.firstTimestamp ?? toTime(at),
      count: (before?.count ?? 0) + 1,
    };
    remember(this.#observed, key, observed);
    return this.#isSpam(object) ? undefined : { ...observed, message };
  }

  /** EventAggregate. */
  #combine(object: InvolvedObject, { type, reason, message }: EventText) {
    const at = this.#options.clock.monotonicMs();
    const reasonKey = [keyOf(object), type, reason].join(" ");
    const known = this.#similar.get(reasonKey);
    const isRecent = known !== undefined && elapsedMs(known.at, at) <= similarForMs;
    const messages = isRecent ? known.messages : new Set<string>();
    messages.add(message);
    remember(this.#similar, reasonKey, { messages, at });
    if (messages.size < differentMax) return { key: `${reasonKey} ${message}`, message };
    const [any] = messages;
    if (any !== undefined) messages.delete(any);
    return { key: reasonKey, message: `(combined from similar events): ${message}` };
  }

  /** client-go puts the time in nanoseconds behind the object's name. */
  #newName({ name }: InvolvedObject, at: WallMs): string {
    const now = BigInt(Math.floor(at * 1e6));
    this.#lastNamed = now > this.#lastNamed ? now : this.#lastNamed + 1n;
    return `${name}.${this.#lastNamed.toString(16)}`;
  }

  #isSpam(object: InvolvedObject): boolean {
    if (!this.#options.limits) return false;
    const key = keyOf(object);
    const bucket = this.#buckets.get(key) ?? new TokenBucket({ ...this.#options, qps, burst });
    remember(this.#buckets, key, bucket);
    return !bucket.tryAccept();
  }
}

function keyOf({ kind, namespace, name, uid }: InvolvedObject): string {
  return [kind, namespace, name, uid ?? ""].join(" ");
}

/** The newest last, so that the oldest is found first. */
function remember<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > knownMax && oldest !== undefined) map.delete(oldest);
}
