// A ServiceExport of the Multi-Cluster Services API (multicluster.x-k8s.io, KEP-1645): it exports the
// Service of its name. Its status shows what became of that.
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "./fields.ts";
import type { StringMap } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export const multiclusterGroup = "multicluster.x-k8s.io";

export interface ExportCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

export interface ServiceExport {
  readonly metadata: ObjectMeta;
  readonly exportedLabels: StringMap;
  readonly exportedAnnotations: StringMap;
  /** As the API server has them: those of other writers are kept with all their fields. */
  readonly conditions: readonly RawRecord[];
}

/** In one of the versions of the API; the fields are the same in each. */
export function serviceExportKind(version: string): Kind<ServiceExport> {
  const kind: Kind<ServiceExport> = {
    group: multiclusterGroup,
    version,
    kind: "ServiceExport",
    resource: "serviceexports",
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      const spec = recordAt(object, "spec");
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        exportedLabels: stringMapAt(spec, "exportedLabels", similar?.exportedLabels),
        exportedAnnotations: stringMapAt(spec, "exportedAnnotations", similar?.exportedAnnotations),
        conditions: listAt(recordAt(object, "status"), "conditions").filter(isRecord),
      };
    },
  };
  return kind;
}

export function exportCondition(raw: RawRecord): ExportCondition {
  return {
    type: optionalString(raw, "type") ?? "",
    status: optionalString(raw, "status") ?? "",
    reason: optionalString(raw, "reason") ?? "",
    message: optionalString(raw, "message") ?? "",
    lastTransitionTime: optionalString(raw, "lastTransitionTime") ?? "",
  };
}
