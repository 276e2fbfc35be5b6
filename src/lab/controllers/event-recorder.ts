// The Events of one component, recorded as client-go's recorder records them: each leaves a line in
// the log, and what is to be told goes to the server. Best effort, one at a time, and never in the
// way of the work: they spend the component's own client, though.
import { toTime, type WallMs } from "../../environment/clock.ts";
import { StatusError } from "../../kube/client/client.ts";
import type { ObjectMeta } from "../../kube/kinds/kind.ts";
import type { ControllerOptions } from "./controller.ts";
import { EventCorrelator, type Observation } from "./event-correlation.ts";
import { EventLog } from "./klog/event-lines.ts";

export interface EventRecorderOptions
  extends Pick<
    ControllerOptions,
    "client" | "clock" | "timers" | "log" | "klog" | "flags" | "profile"
  > {
  /** `node-controller`. */
  readonly component: string;
  /** What structured lines name as their logger; lines are sentences of every version if absent. */
  readonly logger?: string;
  readonly signal: AbortSignal;
}

/** As references have it: some name neither a version nor a uid. */
export interface InvolvedObject {
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

/** What client-go makes of an object that it has whole: tools/reference/ref.go GetReference. */
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

  tell(object: InvolvedObject, text: EventText): void {
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

  /** Resolves when nothing more is being told. */
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
  async #raise(object: InvolvedObject, told: Observation, at: WallMs): Promise<boolean> {
    const { client, signal } = this.#options;
    const { name, count, message } = told;
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
