// Create: the server fills in what is its own, checks the namespace and the object, and stores it
// once. Nothing is stored when anything is wrong.
import { ApiError } from "../api-error.ts";
import { namespaceKind } from "../kinds/cluster.ts";
import { textAt } from "../kinds/fields.ts";
import { initializeMeta } from "../kinds/object-meta.ts";
import { qualifiedResource, type ResourceKind } from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { alreadyExists, notFound } from "../listwatch/refusals.ts";
import { canonicalCopy, validateNew } from "./api-object.ts";
import type { Backend } from "./backend.ts";

export interface CreateRequest {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  /** The caller's own copy. */
  readonly object: KubeObject;
  readonly dryRun: boolean;
}

export async function createObject(backend: Backend, request: CreateRequest): Promise<KubeObject> {
  const { kind, object } = request;
  if ((object.metadata.resourceVersion ?? "") !== "") {
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created");
  }
  fitNamespace(object, request.namespace);
  const prepared = prepareNew(backend, kind, object);
  if (request.namespace !== undefined) {
    await refuseClosedNamespace(backend, kind, request.namespace, prepared.metadata.name);
  }
  if (request.dryRun) {
    const { name } = prepared.metadata;
    if ((await backend.store(kind).get(request.namespace, name)) !== undefined) {
      throw alreadyExists(kind, name);
    }
    return prepared;
  }
  return kind.kind === "Service"
    ? createService(backend, kind, prepared)
    : backend.store(kind).create(prepared);
}

/** Takes the request's namespace; another one in the object is refused. */
export function fitNamespace(object: KubeObject, namespace: string | undefined): void {
  const given = object.metadata.namespace ?? "";
  if (given === "" && namespace !== undefined) {
    object.metadata.namespace = namespace;
  } else if (given !== (namespace ?? "")) {
    throw new ApiError(
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
}

function prepareNew(backend: Backend, kind: ResourceKind, object: KubeObject): KubeObject {
  initializeMeta(object, backend.clock.wallMs(), backend.random);
  kind.setDefaults(object);
  kind.prepareCreate(object);
  validateNew(kind, object);
  return canonicalCopy(kind, object);
}

async function createService(
  backend: Backend,
  kind: ResourceKind,
  service: KubeObject,
): Promise<KubeObject> {
  const { namespace, name } = service.metadata;
  if ((await backend.store(kind).get(namespace, name)) !== undefined) {
    throw alreadyExists(kind, name);
  }
  const allocation = await backend.allocator.allocate(service, undefined);
  try {
    return await backend.store(kind).create(canonicalCopy(kind, allocation.service));
  } catch (error) {
    await backend.allocator.release(allocation.keys);
    throw error;
  }
}

/** The namespace must exist and must not be on its way out. */
async function refuseClosedNamespace(
  backend: Backend,
  kind: ResourceKind,
  namespace: string,
  name: string,
): Promise<void> {
  const store = backend.store(namespaceKind);
  const found =
    (await store.getCached(undefined, namespace)) ?? (await store.get(undefined, namespace));
  if (found === undefined) {
    throw notFound(namespaceKind, namespace);
  }
  if (textAt(found, "status", "phase") === "Terminating") {
    throw new ApiError(
      403,
      "Forbidden",
      `${qualifiedResource(kind)} ${JSON.stringify(name)} is forbidden: unable to create new ` +
        `content in namespace ${namespace} because it is being terminated`,
      {
        name,
        ...(kind.group === "" ? {} : { group: kind.group }),
        kind: kind.resource,
        causes: [
          {
            reason: "NamespaceTerminating",
            message: `namespace ${namespace} is being terminated`,
            field: "metadata.namespace",
          },
        ],
      },
    );
  }
}
