// Writes problems of objects as Events for their authors. A problem is written once and, while it
// stands, again every ten minutes, so that its Event does not expire. A missing service is reported
// after some seconds. The rate is bounded to protect the API server, and only the leader writes.
// Namespaces take turns. Events are best effort: a refused one is logged once, and only its own
// namespace waits for it.
import { Registry } from "prom-client";
import type { RoutingProblem } from "../../decide/routing/route.ts";
import { elapsedMs, type MonotonicMs, toTime } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { inSlices } from "../../environment/steps.ts";
import { type KubeClient, StatusError } from "../../kube/client/client.ts";
import { eventMetrics } from "./event-metrics.ts";
import { eventBody, eventsOf, type ProblemEvent } from "./problem-event.ts";

export interface EventWriterOptions extends Pick<Environment, "clock" | "timers" | "log"> {
  readonly client: KubeClient;
  /** Only then is anything written. */
  readonly isLeader: () => boolean;
  /** The uid of the object; undefined when it is gone. */
  readonly uidOf: (origin: RoutingProblem["origin"]) => string | undefined;
  readonly metrics?: Registry;
}

/** An Event lives for an hour unless it is written again. */
export const tellAgainMs = 600_000;

/** Between two writes: thousands of bad objects must not crowd the API server. */
export const betweenWritesMs = 200;

/**
 * Objects that are applied together arrive one after the other: a service often just after its
 * Ingress.
 */
export const graceMs = 5_000;

/** How often a replica that does not lead looks whether it does. */
const lookAgainMs = 5_000;

/** After a refusal or a failure nothing is tried in that namespace for so long. */
export const restAfterFailureMs = 60_000;

/** After failures in so many namespaces and no success, nothing is tried anywhere for so long. */
const failingNamespaces = 3;

/** More problems than this wait until some of them are gone. */
const maxEvents = 5_000;

const requestDeadlineMs = 10_000;

/** Of the Events of one namespace. */
interface Turn {
  readonly at: MonotonicMs;
  readonly hasFailed: boolean;
}

interface Standing {
  readonly event: ProblemEvent;
  readonly notedAt: MonotonicMs;
  /** When it was last written; undefined before the first time. */
  writtenAt: MonotonicMs | undefined;
  count: number;
}

export class EventWriter {
  readonly #options: EventWriterOptions;
  readonly #metrics: ReturnType<typeof eventMetrics>;
  /** By namespace and name of the Event; in the order in which they are written. */
  #standing = new Map<string, Standing>();
  /** By namespace, its last turn, unless that is long ago. */
  readonly #turns = new Map<string, Turn>();
  /** Namespaces in which a write failed since one last succeeded. */
  readonly #failing = new Set<string>();
  #noted: readonly RoutingProblem[] = [];
  /** Those that `#standing` is about. */
  #taken = this.#noted;
  #wake = new AbortController();
  #isRefusalLogged = false;

  constructor(options: EventWriterOptions) {
    this.#options = options;
    this.#metrics = eventMetrics(options.metrics ?? new Registry());
  }

  /** These are all the problems there are now. */
  note(problems: readonly RoutingProblem[]): void {
    if (problems === this.#noted) return;
    this.#noted = problems;
    this.#wake.abort(new Error("other problems were found"));
  }

  /** Runs until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.#taken !== this.#noted) {
        await this.#take(this.#noted);
        continue;
      }
      const next = this.#next();
      if (next === undefined || next.inMs > 0) await this.#sleep(next?.inMs, signal);
      else if (!this.#options.isLeader()) await this.#sleep(lookAgainMs, signal);
      else await this.#tell(next.standing, signal);
    }
  }

  /** There may be many thousands of problems, of one namespace. */
  async #take(problems: readonly RoutingProblem[]): Promise<void> {
    const notedAt = this.#options.clock.monotonicMs();
    const events = await inSlices(eventsOf(problems), this.#options);
    const before = this.#standing;
    this.#standing = new Map(
      events.slice(0, maxEvents).map((event) => {
        const key = `${event.namespace}/${event.name}`;
        return [key, before.get(key) ?? { event, notedAt, writtenAt: undefined, count: 0 }];
      }),
    );
    this.#taken = problems;
    this.#forgetTurns();
  }

  /** A namespace that has had no turn for so long has no advantage by it. */
  #forgetTurns(): void {
    const now = this.#options.clock.monotonicMs();
    for (const [namespace, { at }] of this.#turns) {
      if (elapsedMs(at, now) > restAfterFailureMs) this.#turns.delete(namespace);
    }
  }

  /** The Event to write first, and when; undefined if there is none. */
  #next(): { readonly standing: Standing; readonly inMs: number } | undefined {
    let next: { readonly standing: Standing; readonly inMs: number } | undefined;
    const now = this.#options.clock.monotonicMs();
    for (const standing of this.#standing.values()) {
      const inMs = Math.max(0, this.#dueInMs(standing, now));
      const isSooner = next === undefined || inMs < next.inMs;
      // Of those that are due, the one whose namespace has waited the longest for its turn.
      if (isSooner || (inMs === next?.inMs && this.#isBefore(standing, next.standing))) {
        next = { standing, inMs };
      }
    }
    return next;
  }

  #dueInMs(standing: Standing, now: MonotonicMs): number {
    const { event, writtenAt, notedAt } = standing;
    const dueInMs = Math.ceil(waitMs(standing) - elapsedMs(writtenAt ?? notedAt, now));
    const turn = this.#turns.get(event.namespace);
    if (turn === undefined || !turn.hasFailed) return dueInMs;
    return Math.max(dueInMs, Math.ceil(restAfterFailureMs - elapsedMs(turn.at, now)));
  }

  #isBefore({ event: a }: Standing, { event: b }: Standing): boolean {
    const aAt = this.#turns.get(a.namespace)?.at;
    const bAt = this.#turns.get(b.namespace)?.at;
    return bAt !== undefined && (aAt === undefined || aAt < bAt);
  }

  async #tell(standing: Standing, signal: AbortSignal): Promise<void> {
    const { clock, log, uidOf } = this.#options;
    const { event } = standing;
    const uid = uidOf(event.origin);
    standing.writtenAt = clock.monotonicMs();
    // The object has gone, and its problems go with the next decision.
    if (uid === undefined) return;
    this.#turns.set(event.namespace, { at: standing.writtenAt, hasFailed: false });
    try {
      await this.#write(standing, uid, signal);
      this.#failing.clear();
      this.#metrics.writes.inc({ outcome: "written" });
      await this.#rest(betweenWritesMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      this.#metrics.writes.inc({ outcome: "failed" });
      // It has had its turn: a refusal for one object must not delay others.
      if (isOfThisEventAlone(error)) return await this.#rest(betweenWritesMs, signal);
      if (!this.#isRefusalLogged) {
        const { namespace, name } = event.origin;
        log.warn("cannot write Events about problems in objects", { namespace, name, error });
      }
      this.#isRefusalLogged = true;
      this.#turns.set(event.namespace, { at: clock.monotonicMs(), hasFailed: true });
      this.#failing.add(event.namespace);
      const isAnywhere = this.#failing.size >= failingNamespaces;
      await this.#rest(isAnywhere ? restAfterFailureMs : betweenWritesMs, signal);
    }
  }

  async #write(standing: Standing, uid: string, signal: AbortSignal): Promise<void> {
    const { clock, client } = this.#options;
    const { event, count } = standing;
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const path = `/api/v1/namespaces/${encodeURIComponent(event.namespace)}/events`;
    const again = {
      ...limits,
      verb: "patch",
      method: "PATCH",
      path: `${path}/${encodeURIComponent(event.name)}`,
      contentType: "application/merge-patch+json",
      body: { count: count + 1, lastTimestamp: toTime(clock.wallMs()) },
    } as const;
    const isKnown = count > 0 && (await this.#sent(again, 404));
    if (!isKnown) {
      const body = eventBody(event, uid, clock.wallMs());
      const isNew = await this.#sent(
        { ...limits, verb: "create", method: "POST", path, body },
        409,
      );
      // Another replica, or this one before a restart, has written it: it still holds.
      if (!isNew) await client.request(again);
    }
    standing.count += 1;
  }

  /** False when the server answers with this status, which says how things are. */
  async #sent(request: Parameters<KubeClient["request"]>[0], status: number): Promise<boolean> {
    try {
      await this.#options.client.request(request);
      return true;
    } catch (error) {
      if (error instanceof StatusError && error.code === status) return false;
      throw error;
    }
  }

  /** Until there are other problems, or for so long. */
  async #sleep(ms: number | undefined, signal: AbortSignal): Promise<void> {
    this.#wake = new AbortController();
    await this.#rest(ms ?? tellAgainMs, AbortSignal.any([signal, this.#wake.signal]));
  }

  async #rest(ms: number, signal: AbortSignal): Promise<void> {
    await this.#options.timers.sleep(ms, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** How long it rests after it was written, or first noted. */
function waitMs({ event, writtenAt }: Standing): number {
  if (writtenAt !== undefined) return tellAgainMs;
  return event.reason === "BackendMissing" ? graceMs : 0;
}

/** A namespace that is gone or going, or an Event that the server finds wrong. */
function isOfThisEventAlone(error: unknown): boolean {
  if (!(error instanceof StatusError)) return false;
  const { code, causes } = error;
  return code === 404 || code === 422 || causes.includes("NamespaceTerminating");
}
