// Objects that are in the storage before anybody can ask for them: a cluster that has been in use
// for a while, without the requests that made it so. Each passes through the same checks, defaults
// and allocations as a create does, and its status, if it has one, as an update of the status does, so
// none differs from an object that was sent and reported on.
import type { Timers } from "../environment/timers.ts";
import { ApiError } from "./api-error.ts";
import { decodeDocument } from "./decode/request-object.ts";
import { textAt } from "./kinds/fields.ts";
import { groupVersion, type ResourceKind } from "./kinds/resource-kind.ts";
import type { KubeObject } from "./kube-object.ts";
import { asKubeObject } from "./verbs/api-object.ts";
import type { Backend } from "./verbs/backend.ts";
import { createObject } from "./verbs/create.ts";
import { serverContext } from "./verbs/request-context.ts";
import { updateObject } from "./verbs/update.ts";

/** What a namespaced object without a namespace means, as to kubectl. */
const defaultNamespace = "default";

/** So many take a millisecond or two; a signal to stop is heard after some of these pieces. */
const breatheEvery = 10;

/** A cluster of so many is loaded before anybody could want to stop it. */
const fewObjects = 500;

/** In the order given: a namespace comes before what is in it. A refused object ends it. */
export async function preloadObjects(
  backend: Backend,
  kinds: readonly ResourceKind[],
  options: {
    readonly timers: Timers;
    readonly objects?: Iterable<object>;
    /** Leaves alone what is there already. */
    readonly keepsExistingObjects?: boolean;
  },
): Promise<void> {
  const { timers, objects = [], keepsExistingObjects: keepsExisting = false } = options;
  const kindsByName = new Map(kinds.map((kind) => [`${groupVersion(kind)} ${kind.kind}`, kind]));
  let count = 0;
  for (const document of objects) {
    count += 1;
    if (count > fewObjects && count % breatheEvery === 0) await timers.breathe();
    const kind = kindsByName.get(`${textAt(document, "apiVersion")} ${textAt(document, "kind")}`);
    if (kind === undefined) {
      throw new Error(`an object of a kind that is not served: ${JSON.stringify(document)}`);
    }
    const expected = { kind: kind.kind, apiVersion: groupVersion(kind), schema: kind.schema };
    const body = { document, repeatedLines: [] };
    const object = asKubeObject(kind, decodeDocument(body, expected, "Strict").value);
    const given = textAt(document, "metadata", "namespace");
    const namespace = kind.namespaced ? given || defaultNamespace : undefined;
    const { status } = object;
    try {
      const { metadata } = await createObject(backend, serverContext, { kind, namespace, object });
      if (status === undefined) continue;
      const next = (current: KubeObject) => ({ ...structuredClone(current), status });
      const { name } = metadata;
      await updateObject(backend, serverContext, { kind, namespace, name, part: "status", next });
    } catch (error) {
      const isThere = error instanceof ApiError && error.reason === "AlreadyExists";
      if (!keepsExisting || !isThere) throw error;
    }
  }
}
