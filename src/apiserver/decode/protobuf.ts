// Kubernetes protobuf bodies, which typed Go clients and `kubectl create` send: an envelope with the
// kind, and the object with its fields by number. The result is the JSON that a JSON body would have;
// conforming it later drops the zero values that protobuf contains.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import { type Schema, schemas } from "../kinds/schema.ts";
import type { ExpectedKind } from "./request-object.ts";

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
  readonly code = "PROTOBUF";
}

const magic = Buffer.from("k8s\0", "latin1");

/** Numbers of the envelope's fields. */
const envelope = { typeMeta: 1, raw: 2, apiVersion: 1, kind: 2 };

/** The object with its apiVersion and kind; only these if the kind is not the expected one. */
export function decodeProtobuf(body: Buffer, expected: ExpectedKind): JsonObject {
  if (!body.subarray(0, magic.length).equals(magic)) {
    throw new ProtobufError(
      "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
    );
  }
  const outer = readProtobufFields(body.subarray(magic.length));
  const names = readProtobufFields(bytesOf(outer, envelope.typeMeta));
  const apiVersion = bytesOf(names, envelope.apiVersion).toString("utf8");
  const kind = bytesOf(names, envelope.kind).toString("utf8");
  const object =
    kind === expected.kind ? decodeMessage(expected.schema, bytesOf(outer, envelope.raw)) : {};
  return { ...object, apiVersion, kind };
}

function bytesOf(fields: readonly ProtobufField[], number: number): Buffer {
  const value = fields.findLast((field) => field.number === number)?.value;
  return Buffer.isBuffer(value) ? value : Buffer.alloc(0);
}

/** A field, or a struct that Go embeds: in JSON its fields are those of the outer type. */
type Numbered =
  | { readonly name: string; readonly schema: Schema }
  | { readonly embedded: Map<number, Numbered> };

const numbersByType = new Map<string, Map<number, Numbered>>();

function decodeMessage(typeName: string, bytes: Buffer): JsonObject {
  const result: JsonObject = {};
  decodeInto(result, numbersOf(typeName), bytes);
  return result;
}

function decodeInto(result: JsonObject, numbers: Map<number, Numbered>, bytes: Buffer): void {
  for (const { number, value } of readProtobufFields(bytes)) {
    const known = numbers.get(number);
    if (known !== undefined && "embedded" in known) {
      decodeInto(result, known.embedded, expectBytes(value));
    } else if (known !== undefined) {
      decodeField(result, known.name, known.schema, value);
    }
  }
}

function numbersOf(typeName: string): Map<number, Numbered> {
  const known = numbersByType.get(typeName);
  if (known !== undefined) {
    return known;
  }
  const numbers = new Map<number, Numbered>();
  for (const [name, schema] of Object.entries(schemas[typeName]?.fields ?? {})) {
    const path = schema.proto ?? [];
    const last = path.at(-1);
    if (last !== undefined) {
      embeddedAt(numbers, path.slice(0, -1)).set(last, { name, schema });
    }
  }
  numbersByType.set(typeName, numbers);
  return numbers;
}

function embeddedAt(
  numbers: Map<number, Numbered>,
  path: readonly number[],
): Map<number, Numbered> {
  let inner = numbers;
  for (const number of path) {
    const known = inner.get(number);
    const embedded = known !== undefined && "embedded" in known ? known.embedded : new Map();
    inner.set(number, { embedded });
    inner = embedded;
  }
  return inner;
}

function decodeField(
  result: JsonObject,
  name: string,
  schema: Schema,
  value: ProtobufField["value"],
): void {
  if (schema.type === "array") {
    const list = result[name];
    const item = decodeValue(schema.of, value);
    result[name] = Array.isArray(list) ? [...list, item] : [item];
  } else if (schema.type === "map") {
    const entry = readProtobufFields(expectBytes(value));
    const map = result[name];
    const key = bytesOf(entry, 1).toString("utf8");
    const item = entry.find((field) => field.number === 2)?.value ?? Buffer.alloc(0);
    result[name] = { ...(isJsonObject(map) ? map : {}), [key]: decodeValue(schema.of, item) };
  } else {
    result[name] = decodeValue(schema, value);
  }
}

function decodeValue(schema: Schema, value: ProtobufField["value"]): unknown {
  switch (schema.type) {
    case "ref":
      return decodeMessage(schema.to, expectBytes(value));
    case "string":
      return expectBytes(value).toString("utf8");
    case "bytes":
      return expectBytes(value).toString("base64");
    case "int32":
    case "int64":
      return Number(expectNumber(value));
    case "boolean":
      return expectNumber(value) !== 0n;
    case "intOrString":
      return decodeIntOrString(readProtobufFields(expectBytes(value)));
    case "quantity":
      return bytesOf(readProtobufFields(expectBytes(value)), 1).toString("utf8");
    case "time":
    case "microTime":
      return decodeTime(readProtobufFields(expectBytes(value)), schema.type);
    case "json":
      return parseRaw(bytesOf(readProtobufFields(expectBytes(value)), 1));
    case "array":
    case "map":
    case "number":
      throw new ProtobufError(`a ${schema.type} cannot be read from protobuf here`);
  }
}

function decodeIntOrString(fields: readonly ProtobufField[]): number | string {
  const isText = numberOf(fields, 1) === 1n;
  return isText ? bytesOf(fields, 3).toString("utf8") : Number(numberOf(fields, 2));
}

/** Null for the zero time, which has no fields. */
function decodeTime(fields: readonly ProtobufField[], type: "time" | "microTime"): string | null {
  if (fields.length === 0) {
    return null;
  }
  const whole = new Date(Number(numberOf(fields, 1)) * 1000).toISOString().slice(0, 19);
  const micros = String(numberOf(fields, 2) / 1000n).padStart(6, "0");
  return type === "time" ? `${whole}Z` : `${whole}.${micros}Z`;
}

function parseRaw(bytes: Buffer): unknown {
  return bytes.byteLength === 0 ? {} : JSON.parse(bytes.toString("utf8"));
}

function numberOf(fields: readonly ProtobufField[], number: number): bigint {
  const value = fields.findLast((field) => field.number === number)?.value;
  return typeof value === "bigint" ? value : 0n;
}

function expectBytes(value: ProtobufField["value"]): Buffer {
  if (!Buffer.isBuffer(value)) {
    throw new ProtobufError("a number where bytes should be");
  }
  return value;
}

function expectNumber(value: ProtobufField["value"]): bigint {
  if (typeof value !== "bigint") {
    throw new ProtobufError("bytes where a number should be");
  }
  return value;
}

/** The wire format: a message is a sequence of numbered fields, each a number or bytes. */
export interface ProtobufField {
  readonly number: number;
  /** A varint as a signed 64-bit number, or bytes that are shared with the message. */
  readonly value: bigint | Buffer;
}

/** In the order of the message; a field may be repeated. */
export function readProtobufFields(message: Buffer): readonly ProtobufField[] {
  const fields: ProtobufField[] = [];
  let offset = 0;
  while (offset < message.byteLength) {
    const tag = readVarint(message, offset);
    const number = Number(tag.value >> 3n);
    const { value, next } = readValue(message, tag.next, Number(tag.value & 7n));
    fields.push({ number, value });
    offset = next;
  }
  return fields;
}

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;
const wireFixed32 = 5;

function readValue(
  message: Buffer,
  offset: number,
  wireType: number,
): { value: bigint | Buffer; next: number } {
  switch (wireType) {
    case wireVarint: {
      const { value, next } = readVarint(message, offset);
      return { value: BigInt.asIntN(64, value), next };
    }
    case wireFixed64:
      return { value: slice(message, offset, 8), next: offset + 8 };
    case wireFixed32:
      return { value: slice(message, offset, 4), next: offset + 4 };
    case wireBytes: {
      const length = readVarint(message, offset);
      const size = Number(length.value);
      return { value: slice(message, length.next, size), next: length.next + size };
    }
    default:
      throw new ProtobufError(`unknown wire type ${wireType} at byte ${offset}`);
  }
}

/** A 64-bit number has at most ten bytes of seven bits. */
const varintMaxBytes = 10;

function readVarint(message: Buffer, offset: number): { value: bigint; next: number } {
  let value = 0n;
  for (let index = 0; index < varintMaxBytes; index++) {
    const byte = message[offset + index];
    if (byte === undefined) {
      throw new ProtobufError("unexpected end of the message");
    }
    value |= BigInt(byte & 0x7f) << BigInt(7 * index);
    if (byte < 0x80) {
      return { value, next: offset + index + 1 };
    }
  }
  throw new ProtobufError(`a number at byte ${offset} is longer than 64 bits`);
}

function slice(message: Buffer, offset: number, size: number): Buffer {
  if (offset + size > message.byteLength) {
    throw new ProtobufError("unexpected end of the message");
  }
  return message.subarray(offset, offset + size);
}
