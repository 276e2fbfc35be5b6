// A ServiceImport of the Multi-Cluster Services API (multicluster.x-k8s.io, KEP-1645): a service as all
// exporting clusters together offer it, in a cluster that may use it.
import { type RawRecord, recordAt, stringMapAt } from "./fields.ts";
import type { StringMap } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";
import { multiclusterGroup } from "./service-export.ts";

export interface ServiceImport {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  /** Both as the API server has them, because a write names every field that differs. */
  readonly spec: RawRecord;
  readonly status: RawRecord;
}

export function serviceImportKind(version: string): Kind<ServiceImport> {
  const kind: Kind<ServiceImport> = {
    group: multiclusterGroup,
    version,
    kind: "ServiceImport",
    resource: "serviceimports",
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
        spec: recordAt(object, "spec"),
        status: recordAt(object, "status"),
      };
    },
  };
  return kind;
}
