// One version of an object, as an object and as bytes, each made once and shared by the writer, all
// servers of the process, lists and watches. The storage keeps an object without its
// resourceVersion, which is the revision of its record and is added on reading.
import type { KubeObject } from "../kube-object.ts";
import type { StoredRecord } from "../storage/storage.ts";
import type { ListAnswer } from "./list-plan.ts";
import { apiVersionOf, type ResourceNames } from "./resource-names.ts";

export class EncodedObject {
  /** Shared: never changed. */
  readonly object: KubeObject;
  readonly revision: number;
  readonly #stored: Uint8Array;
  #encoding: Encoding | undefined;

  constructor(stored: Uint8Array, revision: number) {
    const object = storedObject(stored);
    const metadata = { ...object.metadata, resourceVersion: String(revision) };
    this.object = { ...object, metadata };
    this.revision = revision;
    this.#stored = stored;
  }

  /** The length of the JSON with the resourceVersion. */
  get byteLength(): number {
    const { before, version, after } = this.#parts();
    return before.length + version.length + after.length;
  }

  /** Writes the JSON with the resourceVersion and returns the offset behind it. */
  copyInto(target: Uint8Array, offset: number): number {
    const { before, version, after } = this.#parts();
    target.set(before, offset);
    target.set(version, offset + before.length);
    target.set(after, offset + before.length + version.length);
    return offset + before.length + version.length + after.length;
  }

  /** As `byteLength`, in a list, whose items leave out the kind and version that the list names. */
  get itemByteLength(): number {
    return this.#item().reduce((size, part) => size + part.length, 0);
  }

  copyItemInto(target: Uint8Array, offset: number): number {
    let end = offset;
    for (const part of this.#item()) {
      target.set(part, end);
      end += part.length;
    }
    return end;
  }

  /** The same state under another revision, for the event of its deletion. */
  at(revision: number): EncodedObject {
    return new EncodedObject(this.#stored, revision);
  }

  #item(): readonly Uint8Array[] {
    const { version, after } = this.#parts();
    if (version.length > 0) return [itemHead, version, after];
    const { kind: _, apiVersion: __, ...item } = this.object;
    return [Buffer.from(JSON.stringify(item), "utf8")];
  }

  #parts(): Encoding {
    this.#encoding ??= encodingOf(this.#stored, this.object);
    return this.#encoding;
  }
}

/** The stored bytes, cut where the version goes in. */
interface Encoding {
  readonly before: Uint8Array;
  readonly version: Uint8Array;
  readonly after: Uint8Array;
}

export function decodeRecord(record: StoredRecord): EncodedObject {
  const known = decodedRecords.get(record);
  if (known !== undefined) return known;
  const decoded = new EncodedObject(record.value, record.revision);
  decodedRecords.set(record, decoded);
  return decoded;
}

/** The bytes to store for an object. The object counts as shared from here on. */
export function encodeForStorage(object: KubeObject): Uint8Array {
  const { kind, apiVersion, metadata, ...rest } = object;
  const { resourceVersion: _, ...storedMetadata } = metadata;
  const stored: KubeObject = { kind, apiVersion, metadata: storedMetadata, ...rest };
  const bytes = Buffer.from(JSON.stringify(stored), "utf8");
  storedObjects.set(bytes, stored);
  return bytes;
}

/** The object in stored bytes, without resourceVersion. */
export function storedObject(stored: Uint8Array): KubeObject {
  const known = storedObjects.get(stored);
  if (known !== undefined) return known;
  const parsed: unknown = JSON.parse(asBuffer(stored).toString("utf8"));
  if (!isKubeObject(parsed)) throw new Error("the storage holds something that is not an object");
  storedObjects.set(stored, parsed);
  return parsed;
}

const decodedRecords = new WeakMap<StoredRecord, EncodedObject>();
const storedObjects = new WeakMap<Uint8Array, KubeObject>();

/** Encodes only the version, when the bytes begin as we write them; else all of it again. */
function encodingOf(stored: Uint8Array, object: KubeObject): Encoding {
  const { kind, apiVersion, metadata } = object;
  const type = `"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)}`;
  const head = `{${type},"metadata":{`;
  if (asBuffer(stored).toString("utf8", 0, head.length) !== head) {
    const before = Buffer.from(JSON.stringify(object), "utf8");
    return { before, version: nothing, after: nothing };
  }
  const version = Buffer.from(`"resourceVersion":"${metadata.resourceVersion}",`);
  const { length } = head;
  return { before: stored.subarray(0, length), version, after: stored.subarray(length) };
}

const nothing = new Uint8Array(0);
const itemHead = Buffer.from('{"metadata":{');

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function isKubeObject(value: unknown): value is KubeObject {
  if (typeof value !== "object" || value === null) return false;
  if (!("apiVersion" in value && "kind" in value && "metadata" in value)) return false;
  const { apiVersion, kind, metadata } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return false;
  return typeof metadata === "object" && metadata !== null && "name" in metadata;
}

/**
 * For kinds whose objects are stored in another form than they are shown. A custom kind with
 * several versions is stored in one of them; its objects are read through the schema of the
 * requested version, which may have changed since they were written.
 */
export interface StoredForm {
  /** As it is shown; the same object when nothing differs. Must not change its argument. */
  fromStorage(stored: KubeObject): KubeObject;
  toStorage(object: KubeObject): KubeObject;
}

export type RecordDecoder = (record: StoredRecord) => EncodedObject;

/** Decodes each record once. */
export function recordDecoder(form: StoredForm | undefined): RecordDecoder {
  if (form === undefined) return decodeRecord;
  const decoded = new WeakMap<StoredRecord, EncodedObject>();
  return (record) => {
    const known = decoded.get(record);
    if (known !== undefined) return known;
    const stored = storedObject(record.value);
    const shown = form.fromStorage(stored);
    const encoded =
      shown === stored
        ? decodeRecord(record)
        : new EncodedObject(encodeForStorage(shown), record.revision);
    decoded.set(record, encoded);
    return encoded;
  };
}

/** Custom kinds have items that name their kind; others leave it to the list. */
interface ListNames extends ResourceNames {
  readonly listKind?: string;
  readonly custom?: object;
}

/**
 * `{"kind":"PodList","apiVersion":"v1","metadata":{…},"items":[…]}`, from the bytes of the items:
 * nothing is encoded again.
 */
export function encodeList(names: ListNames, answer: ListAnswer): Uint8Array {
  const isBare = names.custom === undefined;
  const { items, resourceVersion, continueToken, remainingItemCount } = answer;
  const kind = JSON.stringify(names.listKind ?? `${names.kind}List`);
  const apiVersion = JSON.stringify(apiVersionOf(names));
  const metadata = JSON.stringify({
    resourceVersion,
    ...(continueToken === undefined ? {} : { continue: continueToken }),
    ...(remainingItemCount === undefined ? {} : { remainingItemCount }),
  });
  const head = `{"kind":${kind},"apiVersion":${apiVersion},"metadata":${metadata},"items":[`;
  const start = Buffer.from(head, "utf8");
  const separators = Math.max(0, items.length - 1) * comma.length;
  const sizeOf = (item: EncodedObject) => (isBare ? item.itemByteLength : item.byteLength);
  const content = items.reduce((size, item) => size + sizeOf(item), separators);
  const body = Buffer.allocUnsafe(start.length + content + tail.length);
  let offset = start.copy(body, 0);
  items.forEach((item, index) => {
    if (index > 0) offset += comma.copy(body, offset);
    offset = isBare ? item.copyItemInto(body, offset) : item.copyInto(body, offset);
  });
  tail.copy(body, offset);
  return body;
}

const comma = Buffer.from(",");
const tail = Buffer.from("]}\n");
