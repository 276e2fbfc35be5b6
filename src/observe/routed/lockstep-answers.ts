// The answers of a Lockstep replica's status listener, as far as an observer needs them. Pure. A
// malformed answer is refused with the name of the missing field.
import { type EndpointState, isRouted } from "../../decide/decision.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import { ProxyAnswerError } from "./proxy-request.ts";

export interface JournalEntry {
  readonly sequence: number;
  /** The key of the decision: `namespace/name:port`. */
  readonly port: string;
  readonly joined: readonly RoutedEndpoint[];
  readonly left: readonly RoutedEndpoint[];
  /** No route leads to the port any more. An older replica never says so. */
  readonly isUnrouted: boolean;
  /** On the replica's monotonic clock. */
  readonly routedAtMs: number;
}

export interface JournalAnswer {
  /** Another name is another journal, which counts from the start. */
  readonly journal: string;
  readonly last: number;
  /** On the clock of `routedAtMs`, when it was answered. */
  readonly nowMs: number;
  readonly entries: readonly JournalEntry[];
}

/** By `namespace/name:port`, the endpoints that get requests. */
export type RoutedPorts = ReadonlyMap<string, readonly RoutedEndpoint[]>;

const states: readonly EndpointState[] = ["active", "draining", "held", "suspect", "out"];
const routedStates: ReadonlySet<string> = new Set(states.filter((state) => isRouted({ state })));

export function readJournal(answer: unknown): JournalAnswer {
  const { journal, last, nowMs, entries } = fieldsOf(answer);
  if (
    typeof journal !== "string" ||
    !isNumber(last) ||
    !isNumber(nowMs) ||
    !Array.isArray(entries)
  ) {
    throw notLockstep("journal, last, nowMs and entries");
  }
  return { journal, last, nowMs, entries: entries.map(entryOf) };
}

/** Throws for a replica that serves no traffic: a shadow decides and routes nothing. */
export function readState(answer: unknown): RoutedPorts {
  const { services, proxy, shadow } = fieldsOf(answer);
  if (!isRecord(services)) throw notLockstep("services");
  if (proxy === null) {
    throw new ProxyAnswerError(
      isRecord(shadow)
        ? "this Lockstep runs with --shadow and routes nothing"
        : "its nginx does not serve, so it routes nothing",
    );
  }
  const ports = Object.entries(services).map(([key, truth]): [string, RoutedEndpoint[]] => {
    const { endpoints } = fieldsOf(truth);
    return [key, Array.isArray(endpoints) ? endpoints.filter(isRoutedTo).map(endpointOf) : []];
  });
  return new Map(ports);
}

/** `namespace/name` of a decision's key. */
export function serviceOfPort(port: string): string {
  const colon = port.lastIndexOf(":");
  return colon < 0 ? port : port.slice(0, colon);
}

function entryOf(raw: unknown): JournalEntry {
  const { sequence, service, joined, left, unrouted, routedAtMs } = fieldsOf(raw);
  if (
    !isNumber(sequence) ||
    typeof service !== "string" ||
    !isNumber(routedAtMs) ||
    !Array.isArray(joined) ||
    !Array.isArray(left)
  ) {
    throw notLockstep("sequence, service, joined, left and routedAtMs in each entry");
  }
  return {
    sequence,
    port: service,
    routedAtMs,
    joined: joined.map(endpointOf),
    left: left.map(endpointOf),
    isUnrouted: unrouted === true,
  };
}

function isRoutedTo(endpoint: unknown): boolean {
  const { state } = fieldsOf(endpoint);
  return typeof state === "string" && routedStates.has(state);
}

function endpointOf(raw: unknown): RoutedEndpoint {
  const { address, port, cluster, podUid } = fieldsOf(raw);
  if (typeof address !== "string" || !isPort(port)) {
    throw notLockstep("address and port in each endpoint");
  }
  return {
    address,
    port,
    ...(typeof cluster === "string" && { cluster }),
    ...(typeof podUid === "string" && { podUid }),
  };
}

/** JSON can write numbers that are none to us, such as 1e999, and a time by them would be none. */
function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function isPort(value: unknown): value is number {
  return isNumber(value) && Number.isInteger(value) && value >= 0 && value <= 65_535;
}

function fieldsOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}

function notLockstep(missing: string): ProxyAnswerError {
  return new ProxyAnswerError(`this is not an answer of Lockstep: expected ${missing}`);
}
