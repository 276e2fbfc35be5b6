// Field ownership of one server: the `managedFields` after a write, for any kind and subresource.
// Objects have owners from their creation on, as in the real server, or only once they have been
// applied, which costs nothing until then.
import type { Clock } from "../../environment/clock.ts";
import { conform } from "../decode/conform.ts";
import type { ResourceRoute } from "../http/route.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { RequestContext } from "../verbs/request-context.ts";
import { scaleKind, scaleOf } from "../verbs/scale.ts";
import { FieldOwnership } from "./field-ownership.ts";
import { FieldSet } from "./field-set.ts";
import { emptyObject, type KindFinder, rulesOf } from "./kind-rules.ts";
import { parentManagedFields, scaleManagedFields } from "./scale-fields.ts";
import { builtInType } from "./value-type.ts";

export type TrackFrom = "creation" | "first-apply";

export interface FieldManagementOptions {
  readonly clock: Clock;
  readonly kinds: KindFinder;
  readonly trackFrom: TrackFrom;
}

export class FieldManagement {
  readonly #options: FieldManagementOptions;

  constructor(options: FieldManagementOptions) {
    this.#options = options;
  }

  /** For one write that is not an apply; `managerOf` is called for tracked objects only. */
  recorder(
    { kind, subresource }: Pick<ResourceRoute, "kind" | "subresource">,
    managerOf: () => string,
  ): RequestContext["managedFieldsAfter"] {
    return (updated, live) => {
      if (this.#isUntracked(updated, live)) return undefined;
      const manager = managerOf();
      return subresource === "scale" && live !== undefined
        ? this.#afterScale(kind, { live, updated, manager })
        : this.of(kind, subresource ?? "").afterUpdate({ live, updated, manager });
    };
  }

  /** A fast path for servers where most objects have no owners. */
  #isUntracked({ metadata }: KubeObject, live: KubeObject | undefined): boolean {
    if (this.#options.trackFrom === "creation" && live === undefined) return false;
    return metadata.managedFields === undefined && live?.metadata.managedFields === undefined;
  }

  of(kind: ResourceKind, subresource: string): FieldOwnership {
    const { clock, kinds, trackFrom } = this.#options;
    return new FieldOwnership({
      clock,
      trackFrom,
      subresource,
      kind: kind.kind,
      rules: rulesOf(kind, subresource, kinds),
      empty: () => emptyObject(kind),
    });
  }

  /** Of Scales, whatever they are of. */
  ofScale(): FieldOwnership {
    const { clock, trackFrom } = this.#options;
    const { kind, apiVersion, schema } = scaleKind;
    const type = builtInType(schema);
    const noFields = new FieldSet();
    return new FieldOwnership({
      clock,
      trackFrom,
      subresource: "scale",
      kind,
      rules: {
        apiVersion,
        typeAt: (version) => (version === apiVersion ? type : undefined),
        resetFields: () => noFields,
      },
      empty: () => ({ ...conform(schema, {}).value, apiVersion, kind }),
    });
  }

  #afterScale(
    kind: ResourceKind,
    write: { readonly live: KubeObject; readonly updated: KubeObject; readonly manager: string },
  ): JsonObject[] | undefined {
    const { live, updated, manager } = write;
    const scale = this.ofScale().afterUpdate({
      live: ownedScaleOf(kind, live),
      updated: scaleOf(updated, kind.custom?.scale),
      manager,
    });
    return parentManagedFields(kind, live.metadata.managedFields, scale);
  }
}

/** The Scale of an object, with the owners of its number of replicas. */
export function ownedScaleOf(kind: ResourceKind, object: KubeObject): JsonObject {
  const scale = scaleOf(object, kind.custom?.scale);
  const managedFields = scaleManagedFields(kind, object.metadata.managedFields);
  const metadata = isJsonObject(scale["metadata"]) ? scale["metadata"] : {};
  return managedFields === undefined
    ? scale
    : { ...scale, metadata: { ...metadata, managedFields } };
}
