// The wire format of protobuf: a message is a run of numbered fields, each a number or bytes.

export interface ProtobufField {
  readonly number: number;
  /** Whole numbers are signed 64-bit; anything longer is bytes, shared with the message. */
  readonly value: bigint | Buffer;
}

export class ProtobufError extends Error {
  override readonly name = "ProtobufError";
  readonly code = "PROTOBUF";
}

/** In the order of the message; a field may occur several times. */
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

/** A 64-bit number takes at most ten bytes of seven bits. */
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
