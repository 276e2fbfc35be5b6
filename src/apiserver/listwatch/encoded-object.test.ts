// How objects go into the storage and come out of it.
import { describe, expect, it } from "vitest";
import type { KubeObject } from "../kube-object.ts";
import { decodeRecord, type EncodedObject, encodeForStorage } from "./encoded-object.ts";

const pod: KubeObject = {
  spec: { note: 'ünï "metadata":{ code' },
  metadata: { name: "web-0", namespace: "a", resourceVersion: "3" },
  apiVersion: "v1",
  kind: "Pod",
};
const read = { ...pod, metadata: { name: "web-0", namespace: "a", resourceVersion: "12" } };

function parsed(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString("utf8"));
}

/** The content of the object's bytes, written behind others. */
function copied(encoded: EncodedObject): unknown {
  const target = Buffer.alloc(encoded.byteLength + 3);
  expect(encoded.copyInto(target, 3)).toBe(target.length);
  return parsed(target.subarray(3));
}

describe("an encoded object", () => {
  it("is stored without its version and read with the version of its record", () => {
    const value = encodeForStorage(pod);
    expect(parsed(value)).toEqual({ ...pod, metadata: { name: "web-0", namespace: "a" } });
    const encoded = decodeRecord({ key: "/k", value, revision: 12 });
    expect(encoded.object).toEqual(read);
    expect(copied(encoded)).toEqual(read);
  });

  it("is read the same from bytes it did not write, in whatever order their fields are", () => {
    const { resourceVersion: _, ...metadata } = pod.metadata;
    const value = Buffer.from(JSON.stringify({ ...pod, metadata }));
    const encoded = decodeRecord({ key: "/k", value, revision: 12 });
    expect([encoded.object, copied(encoded)]).toEqual([read, read]);
  });

  it("is decoded once for a record, and not at all for its writer", () => {
    const record = { key: "/k", value: encodeForStorage(pod), revision: 12 };
    const encoded = decodeRecord(record);
    expect(decodeRecord(record)).toBe(encoded);
    expect(encoded.object["spec"]).toBe(pod["spec"]);
  });

  it("shows the same state under the version of a removal", () => {
    const encoded = decodeRecord({ key: "/k", value: encodeForStorage(pod), revision: 12 });
    const removed = { ...read, metadata: { ...read.metadata, resourceVersion: "15" } };
    expect([encoded.at(15).object, copied(encoded.at(15))]).toEqual([removed, removed]);
  });

  it("refuses what is not an object of the API", () => {
    const value = Buffer.from('{"metadata":{}}');
    expect(() => decodeRecord({ key: "/k", value, revision: 1 })).toThrow("not an object");
  });
});
