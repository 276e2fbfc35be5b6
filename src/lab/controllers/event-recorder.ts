// The Events of one component, told as client-go's recorder tells them: the same event again only
// raises the count of the first, and of one object a source tells no more than a burst and then one
// each five minutes. So counts of events are a lower bound of what happened. Best effort, one at a
// time, and never in the way of the work: they spend the component's own client, though.
import { toTime } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { TokenBucket } from "../../kube/client/token-bucket.ts";

export interface EventRecorderOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  /** `node-controller`. */
  readonly component: string;
  /** Whether this version limits what is told of one object: tools/record since 1.9. */
  readonly limits: boolean;
  readonly signal: AbortSignal;
}

export interface InvolvedObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid?: string;
}

export interface EventText {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** tools/record/events_cache.go defaultSpamBurst and defaultSpamQPS. */
const burst = 25;
const qps = 1 / 300;

/** events_cache.go maxLruCacheEntries: the event told longest ago is told as new again. */
const knownMax = 4096;

/** tools/record/event.go maxQueuedEvents: beyond that events are dropped. */
const waitingMax = 1000;

/** Events of objects without a namespace go here. */
const clusterNamespace = "default";

interface Told {
  readonly namespace: string;
  readonly name: string;
  readonly count: number;
}

export class EventRecorder {
  readonly #options: EventRecorderOptions;
  /** By object and words; the one told longest ago first. */
  readonly #told = new Map<string, Told>();
  readonly #buckets = new Map<string, TokenBucket>();
  #waiting = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(options: EventRecorderOptions) {
    this.#options = options;
  }

  tell(object: InvolvedObject, text: EventText): void {
    const { signal } = this.#options;
    if (signal.aborted || this.#waiting >= waitingMax || this.#isSpam(object)) return;
    this.#waiting += 1;
    this.#last = this.#last.then(async () => {
      await this.#write(object, text);
      this.#waiting -= 1;
    });
  }

  /** Resolves when nothing more is being told. */
  async settled(): Promise<void> {
    await this.#last;
  }

  #isSpam(object: InvolvedObject): boolean {
    if (!this.#options.limits) return false;
    const key = keyOf(object);
    const known = this.#buckets.get(key);
    const bucket = known ?? new TokenBucket({ ...this.#options, qps, burst });
    this.#buckets.delete(key);
    this.#buckets.set(key, bucket);
    forgetOldest(this.#buckets);
    return !bucket.tryAccept();
  }

  async #write(object: InvolvedObject, text: EventText): Promise<void> {
    const { client, signal, log, clock } = this.#options;
    const key = `${keyOf(object)} ${text.type} ${text.reason} ${text.message}`;
    const before = this.#told.get(key);
    const now = toTime(clock.wallMs());
    const told = before ?? {
      namespace: namespaceOf(object),
      name: this.#nameFor(object),
      count: 0,
    };
    const count = told.count + 1;
    const path = `/api/v1/namespaces/${encodeURIComponent(told.namespace)}/events`;
    try {
      await (before === undefined
        ? client.request({
            verb: "create",
            method: "POST",
            path,
            body: this.#eventOf(object, text, told, now),
            signal,
          })
        : client.request({
            verb: "patch",
            method: "PATCH",
            path: `${path}/${encodeURIComponent(told.name)}`,
            contentType: "application/strategic-merge-patch+json",
            body: { count, lastTimestamp: now },
            signal,
          }));
    } catch (error) {
      if (!signal.aborted) log.debug("an event was not taken", { event: told.name, error });
      return;
    }
    this.#told.delete(key);
    this.#told.set(key, { ...told, count });
    forgetOldest(this.#told);
  }

  /** client-go puts the time in nanoseconds behind the object's name. */
  #nameFor({ name }: InvolvedObject): string {
    return `${name}.${Math.floor(this.#options.clock.wallMs() * 1e6).toString(16)}`;
  }

  #eventOf(
    { kind, namespace, name, uid }: InvolvedObject,
    text: EventText,
    told: Told,
    now: string,
  ): object {
    const { component } = this.#options;
    return {
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: told.namespace, name: told.name },
      involvedObject: {
        apiVersion: "v1",
        kind,
        namespace,
        name,
        ...(uid === undefined ? {} : { uid }),
      },
      ...text,
      count: 1,
      firstTimestamp: now,
      lastTimestamp: now,
      source: { component },
      reportingComponent: component,
      reportingInstance: "",
    };
  }
}

function namespaceOf({ namespace }: InvolvedObject): string {
  return namespace === "" ? clusterNamespace : namespace;
}

function keyOf({ kind, namespace, name, uid }: InvolvedObject): string {
  return [kind, namespace, name, uid ?? ""].join(" ");
}

function forgetOldest(map: Map<string, unknown>): void {
  const [oldest] = map.keys();
  if (map.size > knownMax && oldest !== undefined) map.delete(oldest);
}
