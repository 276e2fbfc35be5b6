// The Events of one component, recorded like those of client-go: each writes a log line, and those that
// pass the correlation are sent to the server. Best effort, one at a time, and never in the way of the
// work, but they use the tokens of the component's client.

import { type Klog, structured } from "../../components/klog.ts";
import {
  type Clock,
  elapsedMs,
  type MonotonicMs,
  toTime,
  type WallMs,
} from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import { StatusError } from "../../kube/client/client.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";
import type { ObjectMeta } from "../../kube/kinds/kind.ts";
import type { EventLines } from "../versions/profile.ts";
import type { ControllerOptions } from "./controller.ts";

interface EventRecorderOptions
  extends Pick<
    ControllerOptions,
    "client" | "clock" | "timers" | "log" | "klog" | "flags" | "profile"
  > {
  /** `node-controller`. */
  readonly component: string;
  /** The logger name in structured lines; without it lines are sentences, in every version. */
  readonly logger?: string;
  readonly signal: AbortSignal;
}

/** As references have it: some name neither a version nor a uid. */
interface InvolvedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
  readonly apiVersion?: string;
  readonly resourceVersion?: string;
}

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** The reference that client-go makes of a whole object: tools/reference/ref.go GetReference. */
export function referenceTo(
  kind: string,
  apiVersion: string,
  { metadata }: { readonly metadata: ObjectMeta },
): InvolvedObject {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind, apiVersion, namespace, name, uid, resourceVersion };
}

/** tools/record/event.go maxQueuedEvents: beyond that events are dropped. */
const waitingMax = 1000;

/** Events of objects without a namespace go here. */
const clusterNamespace = "default";

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  readonly #correlator: EventCorrelator;
  readonly #eventLog: EventLog;
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    const { limits, lines } = options.profile.events;
    const { klog, flags, logger } = options;
    this.#options = options;
    this.#correlator = new EventCorrelator({ ...options, limits });
    this.#eventLog = new EventLog({ klog, verbosity: flags.v, lines, logger });
  }

  record(object: InvolvedObject, text: EventText): void {
    const { signal, clock } = this.#options;
    if (signal.aborted || this.#waiting >= waitingMax) return;
    this.#eventLog.note(object, text);
    const at = clock.wallMs();
    this.#waiting += 1;
    this.#last = this.#last.then(async () => {
      await this.#write(object, text, at);
      this.#waiting -= 1;
    });
  }

  /** Resolves when nothing is being sent. */
  async settled(): Promise<void> {
    await this.#last;
  }

  async #write(object: InvolvedObject, text: EventText, at: WallMs): Promise<void> {
    const { signal, log } = this.#options;
    const observation = this.#correlator.observe(object, text, at);
    if (observation === undefined) return;
    try {
      const isThere = observation.count > 1 && (await this.#raise(object, observation, at));
      if (!isThere) await this.#create(object, text, observation, at);
    } catch (error) {
      if (!signal.aborted) log.debug("an event was not taken", { event: observation.name, error });
    }
  }

  /** False when the server does not have it: it forgets events after an hour. */
  async #raise(object: InvolvedObject, observation: Observation, at: WallMs): Promise<boolean> {
    const { client, signal } = this.#options;
    const { name, count, message } = observation;
    try {
      await client.request({
        verb: "patch",
        method: "PATCH",
        path: `${eventsPath(object)}/${encodeURIComponent(name)}`,
        contentType: "application/strategic-merge-patch+json",
        body: { count, lastTimestamp: toTime(at), message },
        signal,
      });
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return false;
      throw error;
    }
  }

  async #create(
    object: InvolvedObject,
    { type, reason }: EventText,
    { name, message, count, firstTimestamp }: Observation,
    at: WallMs,
  ): Promise<void> {
    const { client, signal, component, profile } = this.#options;
    const { namespace, ...others } = object;
    const body = {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: namespaceOf(object), name },
      involvedObject: { ...others, ...(namespace === "" ? {} : { namespace }) },
      reason,
      message,
      source: { component },
      firstTimestamp,
      lastTimestamp: toTime(at),
      count,
      type,
      reportingComponent: profile.events.namesReporter ? component : "",
      reportingInstance: "",
    };
    await client.request({
      verb: "create",
      method: "POST",
      path: eventsPath(object),
      body,
      signal,
    });
  }
}

function eventsPath(object: InvolvedObject): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespaceOf(object))}/events`;
}

function namespaceOf({ namespace }: InvolvedObject): string {
  return namespace === "" ? clusterNamespace : namespace;
}

interface EventLogOptions {
  readonly klog: Klog;
  /** The process's verbosity. */
  readonly verbosity: number;
  readonly lines: EventLines;
  /** Absent for controllers that never took to structured lines. */
  readonly logger: string | undefined;
}

/** StartStructuredLogging(3), as every controller of the lab calls it. */
const structuredVerbosity = 3;

class EventLog {
  readonly #options: EventLogOptions;

  constructor(options: EventLogOptions) {
    this.#options = options;
  }

  note(object: InvolvedObject, text: EventText): void {
    const { klog, verbosity, lines, logger } = this.#options;
    if (logger === undefined || lines.structured === undefined) {
      klog.write("I", lines.sentence, sentence(object, text));
    } else if (verbosity >= structuredVerbosity) {
      klog.write("I", lines.structured, occurred(logger, object, text));
    }
  }
}

/** The reference in Go's own syntax. */
function sentence(object: InvolvedObject, { type, reason, message }: EventText): string {
  const { kind, namespace, name, uid, apiVersion, resourceVersion } = object;
  const fields = Object.entries({
    Kind: kind,
    Namespace: namespace,
    Name: name,
    UID: uid,
    APIVersion: apiVersion,
    ResourceVersion: resourceVersion,
    FieldPath: "",
  }).map(([field, value]) => `${field}:${JSON.stringify(value ?? "")}`);
  const reference = `v1.ObjectReference{${fields.join(", ")}}`;
  return `Event(${reference}): type: '${type}' reason: '${reason}' ${message}`;
}

function occurred(
  logger: string,
  { kind, namespace, name, apiVersion = "" }: InvolvedObject,
  { type, reason, message }: EventText,
): string {
  const object = namespace === "" ? name : `${namespace}/${name}`;
  const fields = { kind, apiVersion, type, reason, message };
  return structured("Event occurred", { logger, object, fieldPath: "", ...fields });
}

interface EventCorrelatorOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Whether this version limits the Events of one object: since 1.9. */
  readonly limits: boolean;
}

/** The way an Event is sent. */
interface Observation {
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

/** maxLruCacheEntries: an Event that was sent longest ago is sent as a new one again. */
const knownMax = 4096;

interface Similar {
  readonly messages: Set<string>;
  readonly at: MonotonicMs;
}

class EventCorrelator {
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

  /** Undefined when it is not sent; it counts all the same. */
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
