// A problem of an object as an Event, which `kubectl describe` shows to the object's author. The same
// problem always has the same name, so that replicas and restarts write one Event and not many.
import { createHash } from "node:crypto";
import {
  describeOrigin,
  type RouteOrigin,
  type RoutingProblem,
} from "../../decide/routing/route.ts";
import { toTime, type WallMs } from "../../environment/clock.ts";
import type { Steps } from "../../environment/steps.ts";

export interface ProblemEvent {
  readonly origin: RouteOrigin;
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

/** The source that kubectl shows. */
const component = "lockstep-ingress";

/** Of an Event's message, by the API server. */
const maxMessageLength = 1_024;

/** A name is at most 253 characters; the object's own is cut to leave room for the rest. */
const maxObjectPart = 200;

/** Beyond these an object's problems are counted only: the first ones are enough to begin with. */
const maxPerObject = 10;

/** The Events of all problems, those of one object bounded; one of each namespace in turn. */
export function* eventsOf(problems: readonly RoutingProblem[]): Steps<readonly ProblemEvent[]> {
  const byObject = new Map<string, Map<string, RoutingProblem>>();
  for (const problem of problems) {
    const key = describeOrigin(problem.origin);
    const own = byObject.get(key) ?? new Map<string, RoutingProblem>();
    byObject.set(key, own.set(problem.message, problem));
    yield;
  }
  const events: ProblemEvent[] = [];
  for (const own of byObject.values()) {
    const listed = [...own.values()].slice(0, maxPerObject);
    for (const one of listed) events.push(eventOf(one));
    yield;
    const [first] = listed;
    if (first === undefined || own.size === listed.length) continue;
    const message = `${own.size - listed.length} more problems are not listed`;
    events.push(eventOf({ origin: first.origin, reason: "RuleIgnored", message }));
  }
  return inTurns(events);
}

/** However many one namespace has, those of others are among the first. */
function inTurns(events: readonly ProblemEvent[]): readonly ProblemEvent[] {
  const turns = new Map<string, number>();
  return events
    .map((event) => {
      const turn = turns.get(event.namespace) ?? 0;
      turns.set(event.namespace, turn + 1);
      return { event, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ event }) => event);
}

const known = new WeakMap<RoutingProblem, ProblemEvent>();

/** Computed once for each, because all problems are noted again when one is new. */
function eventOf(problem: RoutingProblem): ProblemEvent {
  const event = known.get(problem) ?? makeEvent(problem);
  known.set(problem, event);
  return event;
}

function makeEvent({ origin, message, reason = "RuleIgnored" }: RoutingProblem): ProblemEvent {
  const { kind, namespace, name } = origin;
  const identity = JSON.stringify([kind, namespace, name, reason, message]);
  const mark = createHash("sha256").update(identity).digest("hex").slice(0, 16);
  const isLong = message.length > maxMessageLength;
  return {
    origin,
    // Events of objects that are in no namespace are in this one.
    namespace: namespace === "" ? "default" : namespace,
    name: `${name.slice(0, maxObjectPart)}.${mark}`,
    reason,
    message: isLong ? `${message.slice(0, maxMessageLength - 1)}…` : message,
  };
}

/** As the API takes it. The uid ties it to the object, for an object of the same name may follow. */
export function eventBody(event: ProblemEvent, uid: string, at: WallMs): object {
  const { origin, namespace, name, reason, message } = event;
  const now = toTime(at);
  const { kind } = origin;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { namespace, name },
    involvedObject: {
      apiVersion: "networking.k8s.io/v1",
      kind,
      ...(origin.namespace === "" ? {} : { namespace: origin.namespace }),
      name: origin.name,
      uid,
    },
    type: "Warning",
    reason,
    message,
    count: 1,
    firstTimestamp: now,
    lastTimestamp: now,
    source: { component },
    reportingComponent: component,
    reportingInstance: component,
  };
}
