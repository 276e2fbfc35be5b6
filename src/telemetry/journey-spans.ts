// A journey as a trace: one span for the whole change and one for each hop, from when the hop before
// it showed the change to when it did. Ids come from the journey's own, and a span is sent once: what
// is stuck gets a span of its own while it is, and the journey follows when it is over.
import { createHash } from "node:crypto";
import type { HopRecord, JourneyRecord } from "../timeline/journey-record.ts";
import { hops } from "../timeline/witness.ts";
import {
  type Attributes,
  errorStatus,
  internalKind,
  type OtlpSpan,
  otlpAttributes,
  unixNano,
} from "./otlp-json.ts";

/** Of a journey that is over, at that instant of the observer's wall clock. */
export function journeySpans(record: JourneyRecord, overAtMs: number): readonly OtlpSpan[] {
  const trace = traceOf(record);
  const hopSpans = record.hops.flatMap((hop) => {
    if (hop.lagMs !== null) return [shownSpan(trace, hop, hop.lagMs)];
    return hop.state === "stuck" ? [lateSpan(trace, hop, overAtMs, hop.hop)] : [];
  });
  return [rootSpan(trace, overAtMs), ...hopSpans];
}

/** Of a hop that is found stuck at that instant; the journey goes on. */
export function stuckSpan(record: JourneyRecord, hop: HopRecord, foundAtMs: number): OtlpSpan {
  return lateSpan(traceOf(record), hop, foundAtMs, `stuck at ${hop.hop}`);
}

interface Trace {
  readonly record: JourneyRecord;
  readonly traceId: string;
  readonly rootId: string;
}

function traceOf(record: JourneyRecord): Trace {
  const { id } = record;
  return { record, traceId: idOf(id, traceIdBytes), rootId: idOf(`${id} root`, spanIdBytes) };
}

function rootSpan({ record, traceId, rootId }: Trace, overAtMs: number): OtlpSpan {
  const { originMs, originNotBeforeMs, hops: all } = record;
  const isStuck = all.some(({ state }) => state === "stuck");
  const lagsMs = all.map(({ lagMs }) => lagMs ?? 0);
  const endMs = originMs + Math.max(0, isStuck ? overAtMs - originMs : 0, ...lagsMs);
  const notShown = all.filter(({ state }) => state !== "shown");
  return {
    traceId,
    spanId: rootId,
    name: `endpoint ${record.direction}`,
    kind: internalKind,
    startTimeUnixNano: unixNano(originMs),
    endTimeUnixNano: unixNano(endMs),
    attributes: otlpAttributes({
      ...endpointAttributes(record),
      "lockstep.outcome": record.outcome,
      "lockstep.origin.uncertainty_ms":
        originNotBeforeMs === null ? null : originMs - originNotBeforeMs,
      "lockstep.origin.before_start": record.originBeforeStart ?? null,
      "lockstep.requests_after_leave": integer(record.traffic?.requests),
      "lockstep.failed_requests_after_leave": integer(record.traffic?.failed),
      "lockstep.not_shown":
        notShown.length === 0
          ? null
          : notShown.map(({ hop, witness, state }) => `${hop} ${witness}: ${state}`),
    }),
    events: [],
    status: isStuck
      ? { code: errorStatus, message: "the change never became visible at a hop" }
      : {},
  };
}

function shownSpan(trace: Trace, hop: HopRecord, lagMs: number): OtlpSpan {
  const { record } = trace;
  return {
    ...hopSpan(trace, hop, hop.hop),
    startTimeUnixNano: unixNano(record.originMs + lagBefore(record, hop, lagMs)),
    endTimeUnixNano: unixNano(record.originMs + lagMs),
    attributes: otlpAttributes({
      ...hopAttributes(record, hop),
      "lockstep.lag_ms": lagMs,
      "lockstep.lag_min_ms": hop.lagRangeMs?.min ?? null,
      "lockstep.lag_max_ms": hop.lagRangeMs?.max ?? null,
    }),
    events: [],
    status: {},
  };
}

function lateSpan(trace: Trace, hop: HopRecord, nowMs: number, name: string): OtlpSpan {
  const { record } = trace;
  const startMs = record.originMs + lagBefore(record, hop, Infinity);
  const endMs = Math.max(nowMs, startMs);
  return {
    ...hopSpan(trace, hop, name),
    startTimeUnixNano: unixNano(startMs),
    endTimeUnixNano: unixNano(endMs),
    attributes: otlpAttributes(hopAttributes(record, hop)),
    events: [{ timeUnixNano: unixNano(endMs), name: "stuck", attributes: [] }],
    status: { code: errorStatus, message: `${hop.witness} has not reported the change` },
  };
}

function hopSpan({ record, traceId, rootId }: Trace, { witness }: HopRecord, name: string) {
  const spanId = idOf(`${record.id} ${name} ${witness}`, spanIdBytes);
  return { traceId, spanId, parentSpanId: rootId, name, kind: internalKind };
}

/** When the change was last shown at an earlier hop, not later than here: hops need no order. */
function lagBefore(record: JourneyRecord, hop: HopRecord, lagMs: number): number {
  const earlier = record.hops.flatMap((other) => {
    const isBefore = hops.indexOf(other.hop) < hops.indexOf(hop.hop);
    return isBefore && other.lagMs !== null && other.lagMs <= lagMs ? [other.lagMs] : [];
  });
  return Math.max(0, ...earlier);
}

/** On every span, for a stuck one may be all that is known of its journey for hours. */
function endpointAttributes(record: JourneyRecord): Attributes {
  const slash = record.service.indexOf("/");
  return {
    "lockstep.journey": record.id,
    "lockstep.direction": record.direction,
    "lockstep.cause": record.cause,
    "k8s.namespace.name": record.service.slice(0, slash),
    "k8s.service.name": record.service.slice(slash + 1),
    "k8s.pod.name": record.podName,
    "k8s.pod.uid": record.podUid,
    "server.address": record.address,
    "server.port": BigInt(record.port),
  };
}

function hopAttributes(record: JourneyRecord, { hop, witness }: HopRecord): Attributes {
  return { ...endpointAttributes(record), "lockstep.hop": hop, "lockstep.witness": witness };
}

function integer(value: number | undefined): bigint | null {
  return value === undefined ? null : BigInt(value);
}

const traceIdBytes = 16;
const spanIdBytes = 8;

function idOf(text: string, bytes: number): string {
  return createHash("sha256")
    .update(text)
    .digest("hex")
    .slice(0, 2 * bytes);
}
