// An IngressClass: which controller serves the Ingresses that name it.
import { optionalRecordAt, optionalString, recordAt, stringMapAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface IngressClass {
  readonly metadata: ObjectMeta;
  readonly controller: string;
  /** Serves the Ingresses that name no class. */
  readonly isDefault: boolean;
  /** Names an object with settings of its own. */
  readonly hasParameters: boolean;
}

export const ingressClassKind: Kind<IngressClass> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "IngressClass",
  resource: "ingressclasses",
  namespaced: false,
  project: projectIngressClass,
};

const defaultAnnotation = "ingressclass.kubernetes.io/is-default-class";

function projectIngressClass(raw: unknown, similar?: IngressClass): IngressClass {
  const object = objectRecord(raw);
  const annotations = stringMapAt(recordAt(object, "metadata"), "annotations");
  return {
    metadata: projectMetadata(object, ingressClassKind, similar?.metadata),
    controller: optionalString(recordAt(object, "spec"), "controller") ?? "",
    isDefault: annotations[defaultAnnotation] === "true",
    hasParameters: optionalRecordAt(recordAt(object, "spec"), "parameters") !== undefined,
  };
}
