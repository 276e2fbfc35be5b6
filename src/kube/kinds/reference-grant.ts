// A ReferenceGrant of the Gateway API: which objects of other namespaces may refer to which of its own.
import { listAt, optionalString, recordAt, requiredRecord } from "./fields.ts";
import { type GatewayVersion, gatewayGroup } from "./gateway-class.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface ReferenceGrant {
  readonly metadata: ObjectMeta;
  readonly from: readonly GrantFrom[];
  readonly to: readonly GrantTo[];
}

export interface GrantFrom {
  readonly group: string;
  readonly kind: string;
  readonly namespace: string;
}

export interface GrantTo {
  readonly group: string;
  readonly kind: string;
  /** Undefined for all of the kind. */
  readonly name: string | undefined;
}

export function referenceGrantKind(version: GatewayVersion): Kind<ReferenceGrant> {
  const kind: Kind<ReferenceGrant> = {
    group: gatewayGroup,
    version,
    kind: "ReferenceGrant",
    resource: "referencegrants",
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      const spec = recordAt(object, "spec");
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        from: listAt(spec, "from").map((entry) => {
          const from = requiredRecord(entry, "an entry of from");
          return {
            group: optionalString(from, "group") ?? "",
            kind: optionalString(from, "kind") ?? "",
            namespace: optionalString(from, "namespace") ?? "",
          };
        }),
        to: listAt(spec, "to").map((entry) => {
          const to = requiredRecord(entry, "an entry of to");
          return {
            group: optionalString(to, "group") ?? "",
            kind: optionalString(to, "kind") ?? "",
            name: optionalString(to, "name"),
          };
        }),
      };
    },
  };
  return kind;
}
