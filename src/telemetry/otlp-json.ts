// Spans as OTLP/HTTP carries them in JSON: ids in hexadecimal, instants as decimal nanoseconds and
// 64-bit integers as text. Written by hand because Lockstep sends one kind of message: the encoder of
// the OpenTelemetry project brings its SDKs and protobuf along, and sends past our network.

/** A number is a double and a bigint an integer, so that a key has one type whatever its value. */
export type AttributeValue = string | number | bigint | boolean | readonly string[];

export type Attributes = Readonly<Record<string, AttributeValue | null>>;

export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  /** Absent for the first span of a trace. */
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly OtlpEvent[];
  readonly status: { readonly code?: number; readonly message?: string };
}

export interface OtlpEvent {
  readonly timeUnixNano: string;
  readonly name: string;
  readonly attributes: readonly OtlpAttribute[];
}

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

type OtlpValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: readonly OtlpValue[] } };

/** Spans of one resource: here, of one cluster. */
export interface ResourceSpans {
  readonly resource: Attributes;
  readonly spans: readonly OtlpSpan[];
}

/** SPAN_KIND_INTERNAL: it describes work, not a call from one process to another. */
export const internalKind = 1;

/** STATUS_CODE_ERROR. */
export const errorStatus = 2;

/** The body of a POST to /v1/traces. */
export function traceRequest(resources: readonly ResourceSpans[]): object {
  return {
    resourceSpans: resources.map(({ resource, spans }) => ({
      resource: { attributes: otlpAttributes(resource) },
      scopeSpans: [{ scope: { name: "lockstep.journeys" }, spans }],
    })),
  };
}

/** A null value is unknown and left out. */
export function otlpAttributes(attributes: Attributes): readonly OtlpAttribute[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === null ? [] : [{ key, value: otlpValue(value) }],
  );
}

/** Nanoseconds since 1970; a double has no room for them, so whole milliseconds are taken apart. */
export function unixNano(wallMs: number): string {
  const wholeMs = Math.floor(wallMs);
  const nanos = Math.round((wallMs - wholeMs) * 1_000_000);
  return String(BigInt(wholeMs) * 1_000_000n + BigInt(nanos));
}

function otlpValue(value: AttributeValue): OtlpValue {
  switch (typeof value) {
    case "string":
      return { stringValue: value };
    case "bigint":
      return { intValue: String(value) };
    case "boolean":
      return { boolValue: value };
    case "number":
      return { doubleValue: value };
    default:
      return { arrayValue: { values: value.map(otlpValue) } };
  }
}
