// The JSON of etcd's gateway: bytes are base64, whole numbers of 64 bits are strings, and whatever
// is zero is left out. Field names are those of etcd's api/etcdserverpb/rpc.proto.
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
} from "../../../kube/kinds/fields.ts";
import type { StoredRecord } from "../storage.ts";

/** From the first key to the last: the key that is only a zero byte stands for both ends. */
export const everyKey = { key: "AA==", range_end: "AA==" } as const;

export function parseRecord(bytes: Uint8Array): RawRecord {
  return requiredRecord(JSON.parse(Buffer.from(bytes).toString("utf8")), "etcd's answer");
}

export function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}

export function base64Bytes(value: Uint8Array): string {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64");
}

/** The first key that is not under the prefix: its last byte raised by one. */
export function prefixEnd(prefix: string): string {
  const bytes = Buffer.from(prefix, "utf8");
  const last = bytes.length - 1;
  bytes[last] = (bytes[last] ?? 0) + 1;
  return bytes.toString("base64");
}

/** The key after this one: nothing fits between it and the same with a zero byte added. */
export function keyAfter(key: string): string {
  return Buffer.concat([Buffer.from(key, "utf8"), Buffer.of(0)]).toString("base64");
}

export function wholeNumberAt(record: RawRecord, field: string): number {
  return Number(optionalString(record, field) ?? 0);
}

/** The revision of the whole store when it answered. */
export function headerRevision(answer: RawRecord): number {
  return wholeNumberAt(recordAt(answer, "header"), "revision");
}

export function keyOf(pair: RawRecord): string {
  return Buffer.from(optionalString(pair, "key") ?? "", "base64").toString("utf8");
}

/** The records of a range, with the keys as they are without the store's own prefix. */
export function recordsOf(range: RawRecord, root: string): readonly StoredRecord[] {
  return listAt(range, "kvs")
    .filter(isRecord)
    .map((pair) => new PairRecord(pair, root));
}

/** Its value is decoded at the first read: most previous versions are never read. */
export class PairRecord implements StoredRecord {
  readonly key: string;
  readonly revision: number;
  readonly #encoded: string;
  #value: Uint8Array | undefined;

  constructor(pair: RawRecord, root: string) {
    this.key = keyOf(pair).slice(root.length);
    this.revision = wholeNumberAt(pair, "mod_revision");
    this.#encoded = optionalString(pair, "value") ?? "";
  }

  get value(): Uint8Array {
    this.#value ??= Buffer.from(this.#encoded, "base64");
    return this.#value;
  }
}
