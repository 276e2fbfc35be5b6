// The object behind a published address, as Endpoints and EndpointSlices both name it. Its uid tells
// a pod from its successor with the same name or address.
import { optionalRecordAt, optionalString, type RawRecord } from "./fields.ts";

export interface TargetRef {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string | undefined;
}

export function isSameTarget(a: TargetRef | undefined, b: TargetRef | undefined): boolean {
  if (a === undefined || b === undefined) return a === b;
  return a.uid === b.uid && a.name === b.name && a.namespace === b.namespace && a.kind === b.kind;
}

export function targetRefOf(record: RawRecord): TargetRef | undefined {
  const target = optionalRecordAt(record, "targetRef");
  return (
    target && {
      kind: optionalString(target, "kind") ?? "",
      namespace: optionalString(target, "namespace") ?? "",
      name: optionalString(target, "name") ?? "",
      uid: optionalString(target, "uid"),
    }
  );
}
