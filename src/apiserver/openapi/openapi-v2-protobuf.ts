// The document of version 2 in protobuf, the only form that client-go's `OpenAPISchema` takes. The
// numbers are those of gnostic's openapi.v2 messages; extensions travel as text in YAML, of which
// JSON is a part.
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";

type Encode = (value: JsonObject) => Buffer;

export function encodeOpenApiV2(document: JsonObject): Buffer {
  const info = objectOf(document["info"]);
  return new ProtobufWriter()
    .text(1, document["swagger"])
    .bytes(2, new ProtobufWriter().text(1, info["title"]).text(2, info["version"]).finish())
    .bytes(8, named(2, document["paths"], encodePath))
    .bytes(9, named(1, document["definitions"], encodeSchema))
    .bytes(12, encodeSecurity(document["security"]))
    .bytes(13, named(1, document["securityDefinitions"], encodeSecurityDefinition))
    .finish();
}

/** A map as repeated entries of a name and a value. */
function named(field: number, map: unknown, encode: Encode): Buffer {
  const writer = new ProtobufWriter();
  for (const [name, value] of Object.entries(objectOf(map))) {
    writer.bytes(field, entry(name, encode(objectOf(value))));
  }
  return writer.finish();
}

function entry(name: string, value: Buffer): Buffer {
  return new ProtobufWriter().text(1, name).bytes(2, value).finish();
}

const methodFields = { get: 2, put: 3, post: 4, delete: 5, patch: 8 };

function encodePath(path: JsonObject): Buffer {
  const writer = new ProtobufWriter();
  for (const [method, field] of Object.entries(methodFields)) {
    const operation = path[method];
    if (isJsonObject(operation)) {
      writer.bytes(field, encodeOperation(operation));
    }
  }
  for (const parameter of listOf(path["parameters"])) {
    writer.bytes(9, encodeParameter(parameter));
  }
  return writer.finish();
}

function encodeOperation(operation: JsonObject): Buffer {
  const writer = new ProtobufWriter()
    .texts(1, operation["tags"])
    .text(5, operation["operationId"])
    .texts(6, operation["produces"])
    .texts(7, operation["consumes"]);
  for (const parameter of listOf(operation["parameters"])) {
    writer.bytes(8, encodeParameter(parameter));
  }
  writer.bytes(9, named(1, operation["responses"], encodeResponse)).texts(10, operation["schemes"]);
  return writeExtensions(writer, 13, operation).finish();
}

/** Inline rather than a reference to one: a parameter, of a body or not. */
function encodeParameter(parameter: JsonObject): Buffer {
  const inner =
    parameter["in"] === "body" ? encodeBodyParameter(parameter) : encodePlainParameter(parameter);
  return new ProtobufWriter().bytes(1, inner).finish();
}

function encodeBodyParameter(parameter: JsonObject): Buffer {
  const body = new ProtobufWriter()
    .text(2, parameter["name"])
    .text(3, parameter["in"])
    .flag(4, parameter["required"])
    .bytes(5, encodeSchema(objectOf(parameter["schema"])))
    .finish();
  return new ProtobufWriter().bytes(1, body).finish();
}

/** Parameters in paths have their fields one number lower from the type on. */
function encodePlainParameter(parameter: JsonObject): Buffer {
  const isPath = parameter["in"] === "path";
  const plain = new ProtobufWriter()
    .flag(1, parameter["required"])
    .text(2, parameter["in"])
    .text(4, parameter["name"])
    .text(isPath ? 5 : 6, parameter["type"])
    .flag(isPath ? 19 : 20, parameter["uniqueItems"])
    .finish();
  const wrapped = new ProtobufWriter().bytes(isPath ? 4 : 3, plain).finish();
  return new ProtobufWriter().bytes(2, wrapped).finish();
}

function encodeResponse(response: JsonObject): Buffer {
  const writer = new ProtobufWriter().text(1, response["description"]);
  const { schema } = response;
  if (isJsonObject(schema)) {
    writer.bytes(2, new ProtobufWriter().bytes(1, encodeSchema(schema)).finish());
  }
  return new ProtobufWriter().bytes(1, writer.finish()).finish();
}

function encodeSchema(schema: JsonObject): Buffer {
  const writer = new ProtobufWriter()
    .text(1, schema["$ref"])
    .text(2, schema["format"])
    .text(3, schema["title"])
    .text(4, schema["description"]);
  if (schema["default"] !== undefined) {
    writer.bytes(5, encodeAny(schema["default"]));
  }
  writeBounds(writer, schema);
  for (const value of Array.isArray(schema["enum"]) ? schema["enum"] : []) {
    writer.bytes(20, encodeAny(value));
  }
  writeParts(writer, schema);
  return writeExtensions(writer, 31, schema).finish();
}

function writeBounds(writer: ProtobufWriter, schema: JsonObject): void {
  writer
    .double(6, schema["multipleOf"])
    .double(7, schema["maximum"])
    .flag(8, schema["exclusiveMaximum"])
    .double(9, schema["minimum"])
    .flag(10, schema["exclusiveMinimum"])
    .integer(11, schema["maxLength"])
    .integer(12, schema["minLength"])
    .text(13, schema["pattern"])
    .integer(14, schema["maxItems"])
    .integer(15, schema["minItems"])
    .flag(16, schema["uniqueItems"])
    .integer(17, schema["maxProperties"])
    .integer(18, schema["minProperties"])
    .texts(19, schema["required"]);
}

function writeParts(writer: ProtobufWriter, schema: JsonObject): void {
  const { additionalProperties, type, items, properties } = schema;
  if (isJsonObject(additionalProperties)) {
    const inner = new ProtobufWriter().bytes(1, encodeSchema(additionalProperties)).finish();
    writer.bytes(21, inner);
  } else if (additionalProperties === true) {
    writer.bytes(21, new ProtobufWriter().flag(2, true).finish());
  }
  if (typeof type === "string") {
    writer.bytes(22, new ProtobufWriter().text(1, type).finish());
  }
  if (isJsonObject(items)) {
    writer.bytes(23, new ProtobufWriter().bytes(1, encodeSchema(items)).finish());
  }
  if (isJsonObject(properties)) {
    writer.bytes(25, named(1, properties, encodeSchema));
  }
}

function writeExtensions(
  writer: ProtobufWriter,
  field: number,
  object: JsonObject,
): ProtobufWriter {
  for (const [name, value] of Object.entries(object)) {
    if (name.startsWith("x-")) {
      writer.bytes(field, entry(name, encodeAny(value)));
    }
  }
  return writer;
}

function encodeAny(value: unknown): Buffer {
  return new ProtobufWriter().text(2, `${JSON.stringify(value)}\n`).finish();
}

/** One requirement; each names a definition and no scopes. */
function encodeSecurity(security: unknown): Buffer {
  const writer = new ProtobufWriter();
  for (const requirement of listOf(security)) {
    for (const name of Object.keys(requirement)) {
      writer.bytes(1, entry(name, Buffer.alloc(0)));
    }
  }
  return writer.finish();
}

function encodeSecurityDefinition(definition: JsonObject): Buffer {
  const key = new ProtobufWriter()
    .text(1, definition["type"])
    .text(2, definition["name"])
    .text(3, definition["in"])
    .finish();
  return new ProtobufWriter().bytes(2, key).finish();
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

// Writes protobuf messages field by field. Fields that are absent or empty are not written.

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;

class ProtobufWriter {
  readonly #chunks: Uint8Array[] = [];

  text(field: number, value: unknown): this {
    if (typeof value === "string" && value !== "") {
      this.bytes(field, Buffer.from(value, "utf8"));
    }
    return this;
  }

  texts(field: number, values: unknown): this {
    for (const value of Array.isArray(values) ? values : []) {
      this.bytes(field, Buffer.from(String(value), "utf8"));
    }
    return this;
  }

  flag(field: number, value: unknown): this {
    if (value === true) {
      this.#chunks.push(varint(tag(field, wireVarint)), varint(1n));
    }
    return this;
  }

  integer(field: number, value: unknown): this {
    if (typeof value === "number" && Number.isInteger(value) && value !== 0) {
      this.#chunks.push(varint(tag(field, wireVarint)), varint(BigInt.asUintN(64, BigInt(value))));
    }
    return this;
  }

  double(field: number, value: unknown): this {
    if (typeof value === "number" && value !== 0) {
      const bytes = Buffer.alloc(8);
      bytes.writeDoubleLE(value);
      this.#chunks.push(varint(tag(field, wireFixed64)), bytes);
    }
    return this;
  }

  /** A message or text that is written even when it is empty. */
  bytes(field: number, value: Uint8Array): this {
    this.#chunks.push(varint(tag(field, wireBytes)), varint(BigInt(value.byteLength)), value);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

function tag(field: number, wireType: number): bigint {
  return BigInt(field * 8 + wireType);
}

function varint(value: bigint): Uint8Array {
  const bytes: number[] = [];
  let rest = value;
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Uint8Array.from([...bytes, Number(rest)]);
}
