// Field ownership of one server: for each write it knows the kind, the subresource and the writer,
// and gives the backend that records them. Objects may have owners from their creation on, as in
// the real server, or only once they have been applied, which costs nothing until then.
import type { Clock } from "../../environment/clock.ts";
import type { IncomingRequest } from "../../environment/network.ts";
import { conform } from "../decode/conform.ts";
import type { ResourceRoute } from "../http/route.ts";
import { isJsonObject, type JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import type { Backend } from "../verbs/backend.ts";
import { scaleKind, scaleOf } from "../verbs/scale.ts";
import { FieldOwnership } from "./field-ownership.ts";
import { FieldSet } from "./field-set.ts";
import { emptyObject, type KindFinder, rulesOf } from "./kind-rules.ts";
import { parentManagedFields, scaleManagedFields } from "./scale-fields.ts";
import { builtInType } from "./value-type.ts";
import { givenManager, managerFromUserAgent, type WriteOptions } from "./writer-name.ts";

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

  /** The backend for one request: it records whoever writes. */
  recording(
    backend: Backend,
    route: ResourceRoute,
    { headers }: Pick<IncomingRequest, "headers">,
  ): Backend {
    const options = writeOptions[route.verb];
    if (options === undefined) return backend;
    const given = givenManager(route.query, options);
    const { kind, subresource = "" } = route;
    return {
      ...backend,
      managedFieldsAfter: (updated, live) => {
        if (this.#isUntracked(updated, live)) return undefined;
        const manager = given || managerFromUserAgent(headers["user-agent"] ?? "");
        return subresource === "scale" && live !== undefined
          ? this.#afterScale(kind, { live, updated, manager })
          : this.of(kind, subresource).afterUpdate({ live, updated, manager });
      },
    };
  }

  /** The short way for servers where most objects have no owners. */
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

const writeOptions: Readonly<Partial<Record<ResourceRoute["verb"], WriteOptions>>> = {
  create: "CreateOptions",
  update: "UpdateOptions",
  patch: "PatchOptions",
};
