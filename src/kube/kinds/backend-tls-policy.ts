// A BackendTLSPolicy of the Gateway API: Services whose endpoints must be asked over TLS.
import { listAt, optionalString, recordAt, requiredRecord } from "./fields.ts";
import { type GatewayVersion, gatewayGroup, generationOf } from "./gateway-class.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface BackendTlsPolicy {
  readonly metadata: ObjectMeta;
  readonly generation: number;
  /** Of its namespace. Those that name one port of a Service mean the whole Service here. */
  readonly targets: readonly PolicyTarget[];
  readonly status: unknown;
}

export interface PolicyTarget {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
}

export function backendTlsPolicyKind(version: GatewayVersion): Kind<BackendTlsPolicy> {
  const kind: Kind<BackendTlsPolicy> = {
    group: gatewayGroup,
    version,
    kind: "BackendTLSPolicy",
    resource: "backendtlspolicies",
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        generation: generationOf(object),
        targets: listAt(recordAt(object, "spec"), "targetRefs").map(targetOf),
        status: object["status"],
      };
    },
  };
  return kind;
}

function targetOf(entry: unknown): PolicyTarget {
  const target = requiredRecord(entry, "a targetRef");
  return {
    group: optionalString(target, "group") ?? "",
    kind: optionalString(target, "kind") ?? "",
    name: optionalString(target, "name") ?? "",
  };
}
