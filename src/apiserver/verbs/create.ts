// Create: the server sets its own fields, checks the namespace and the object, and stores it once.
// Nothing is stored when anything is wrong.
import { ApiError } from "../api-error.ts";
import { textAt } from "../kinds/fields.ts";
import { namespaceKind } from "../kinds/namespace.ts";
import { initializeMeta, setManagedFields } from "../kinds/object-meta.ts";
import {
  type AllocationRules,
  qualifiedResource,
  type ResourceKind,
} from "../kinds/resource-kind.ts";
import type { KubeObject } from "../kube-object.ts";
import { alreadyExists, notFound } from "../listwatch/refusals.ts";
import { isRevision } from "../listwatch/resource-version.ts";
import { canonicalCopy, validateNew } from "./api-object.ts";
import type { Backend } from "./backend.ts";
import type { RequestContext } from "./request-context.ts";

export interface CreateRequest {
  readonly kind: ResourceKind;
  readonly namespace: string | undefined;
  /** The caller's own copy. */
  readonly object: KubeObject;
}

export async function createObject(
  backend: Backend,
  context: RequestContext,
  request: CreateRequest,
): Promise<KubeObject> {
  const { kind, object } = request;
  fitNamespace(object, request.namespace);
  initializeMeta(object, backend.clock.wallMs(), backend.random);
  kind.setDefaults(object);
  setManagedFields(object, context.managedFieldsAfter(object, undefined));
  if (request.namespace !== undefined) {
    await refuseClosedNamespace(backend, kind, request.namespace, object.metadata.name);
  }
  await kind.custom?.admitCreate(object.metadata.name);
  return kind.allocation !== undefined
    ? createWithAllocation(backend, context, request, kind.allocation)
    : storeNew(backend, context, request, prepareNew(context, kind, object));
}

/** Takes the request's namespace, or none; another one in the object is refused. */
export function fitNamespace(object: KubeObject, namespace: string | undefined): void {
  const given = object.metadata.namespace ?? "";
  if (namespace === undefined) {
    delete object.metadata.namespace;
  } else if (given === "") {
    object.metadata.namespace = namespace;
  } else if (given !== namespace) {
    throw new ApiError(
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  }
}

function prepareNew(context: RequestContext, kind: ResourceKind, object: KubeObject): KubeObject {
  context.admit(object, undefined);
  kind.prepareCreate(object);
  validateNew(kind, object);
  return canonicalCopy(kind, object);
}

async function storeNew(
  backend: Backend,
  { dryRun }: RequestContext,
  { kind, namespace }: CreateRequest,
  prepared: KubeObject,
): Promise<KubeObject> {
  const store = backend.store(kind);
  const { name } = prepared.metadata;
  if (dryRun) {
    const existing = await store.get(namespace, name);
    if (existing !== undefined) throw alreadyThere(alreadyExists(kind, name), existing);
    return prepared;
  }
  takeVersion(prepared);
  try {
    return await store.create(prepared);
  } catch (error) {
    const isTaken = error instanceof ApiError && error.reason === "AlreadyExists";
    throw isTaken ? alreadyThere(error, await store.get(namespace, name)) : error;
  }
}

/**
 * The real storage refuses a new object with a version. A dry run ends before the storage, so it
 * keeps the version. A version that is no number counts as none.
 */
function takeVersion({ metadata }: KubeObject): void {
  const { resourceVersion = "" } = metadata;
  if (isRevision(resourceVersion)) {
    throw new ApiError(500, "", "resourceVersion should not be set on objects to be created");
  }
  delete metadata.resourceVersion;
}

/**
 * The client may try again later if the existing object is being deleted, so the message says so.
 */
function alreadyThere(refusal: ApiError, existing: KubeObject | undefined): ApiError {
  if (existing?.metadata.deletionTimestamp === undefined) return refusal;
  const { code, reason, message, details } = refusal;
  return new ApiError(code, reason, `object is being deleted: ${message}`, details);
}

/** Validation sees the object with its numbers, so they are allocated first. */
async function createWithAllocation(
  backend: Backend,
  context: RequestContext,
  request: CreateRequest,
  rules: AllocationRules,
): Promise<KubeObject> {
  const { kind, object } = request;
  const { dryRun } = context;
  const allocation = await backend.allocator.allocate(rules, {
    object,
    previous: undefined,
    dryRun,
  });
  try {
    const prepared = prepareNew(context, kind, allocation.object);
    return await storeNew(backend, context, request, prepared);
  } catch (error) {
    await backend.allocator.release(allocation.keys);
    throw error;
  }
}

/** The namespace must exist and must not be terminating. */
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
