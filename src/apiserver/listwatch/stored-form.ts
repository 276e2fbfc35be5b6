// Objects that are stored otherwise than they are shown: those of a custom kind with several
// versions are stored in one of them, and are read through the schema of the version asked for,
// which may have changed since they were written.
import type { KubeObject } from "../kube-object.ts";
import type { StoredRecord } from "../storage/storage.ts";
import { decodeRecord, EncodedObject, encodeForStorage, storedObject } from "./encoded-object.ts";

export interface StoredForm {
  /** As it is shown; the same object when nothing differs. Must not change what it gets. */
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
