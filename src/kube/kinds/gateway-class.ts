// A GatewayClass of the Gateway API: which controller serves the Gateways that name it.
import { optionalInteger, optionalRecordAt, optionalString, recordAt } from "./fields.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export const gatewayGroup = "gateway.networking.k8s.io";

/** The API has two with the same fields; the first that a cluster serves is used. */
export type GatewayVersion = "v1" | "v1beta1";

export interface GatewayClass {
  readonly metadata: ObjectMeta;
  readonly generation: number;
  readonly controllerName: string;
  readonly hasParameters: boolean;
  /** As the API server has it: conditions of other controllers are written back as they are. */
  readonly status: unknown;
}

export function gatewayClassKind(version: GatewayVersion): Kind<GatewayClass> {
  const kind: Kind<GatewayClass> = {
    group: gatewayGroup,
    version,
    kind: "GatewayClass",
    resource: "gatewayclasses",
    namespaced: false,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      const spec = recordAt(object, "spec");
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        generation: generationOf(object),
        controllerName: optionalString(spec, "controllerName") ?? "",
        hasParameters: optionalRecordAt(spec, "parametersRef") !== undefined,
        status: object["status"],
      };
    },
  };
  return kind;
}

/** Of a raw object: how often its spec changed. */
export function generationOf(object: Readonly<Record<string, unknown>>): number {
  return optionalInteger(recordAt(object, "metadata"), "generation") ?? 0;
}
