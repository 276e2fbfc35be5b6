// Writes protobuf messages field by field. Fields that are absent or empty are not written, as in
// every protobuf encoder.

const wireVarint = 0;
const wireFixed64 = 1;
const wireBytes = 2;

export class ProtobufWriter {
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
