// Objects that are in the storage before the first request: the namespaces of every cluster, and
// those that the options of the server name. The latter pass through the same checks, defaults and
// allocations as a create and, if they have a status, an update of the status.

import type { Timers } from "../environment/timers.ts";
import { ApiError } from "./api-error.ts";
import { decodeDocument } from "./decode/request-object.ts";
import { textAt } from "./kinds/fields.ts";
import { namespaceKind } from "./kinds/namespace.ts";
import { groupVersion, type ResourceKind } from "./kinds/resource-kind.ts";
import type { KubeObject } from "./kube-object.ts";
import { asKubeObject } from "./verbs/api-object.ts";
import type { Backend } from "./verbs/backend.ts";
import { createObject } from "./verbs/create.ts";
import { serverContext } from "./verbs/request-context.ts";
import { updateObject } from "./verbs/update.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Another server on the same storage may do the same at the same time. */
export async function ensureInitialObjects(backend: Backend): Promise<void> {
  for (const name of namespaces) {
    try {
      await createObject(backend, serverContext, {
        kind: namespaceKind,
        namespace: undefined,
        object: { apiVersion: groupVersion(namespaceKind), kind: "Namespace", metadata: { name } },
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") {
        throw error;
      }
    }
  }
}

/** The namespace of an object that names none, as with kubectl. */
const defaultNamespace = "default";

/** So many take a millisecond or two; then a signal to stop can be handled. */
const breatheEvery = 10;

/** So few are loaded at once, without a pause. */
const fewObjects = 500;

/** In the given order: a namespace comes before its contents. A refused object ends it. */
export async function preloadObjects(
  backend: Backend,
  kinds: readonly ResourceKind[],
  options: {
    readonly timers: Timers;
    readonly objects?: Iterable<object>;
    /** Objects that exist already are left as they are. */
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
