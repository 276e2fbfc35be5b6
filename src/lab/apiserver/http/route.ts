// What a request's method and path ask for: a verb on a resource, or some other path. Unknown
// resources are 404 and impossible methods 405, before anything else is looked at.
import { ApiError } from "../api-error.ts";
import type { ResourceKind, Subresource } from "../kinds/resource-kind.ts";

export type ApiVerb =
  | "get"
  | "list"
  | "watch"
  | "create"
  | "update"
  | "patch"
  | "delete"
  | "deletecollection";

export interface ResourceRoute {
  readonly type: "resource";
  readonly verb: ApiVerb;
  readonly kind: ResourceKind;
  /** Absent for cluster-scoped kinds and for requests across all namespaces. */
  readonly namespace: string | undefined;
  readonly name: string | undefined;
  readonly subresource: Subresource | undefined;
  readonly query: URLSearchParams;
}

export interface OtherRoute {
  readonly type: "other";
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Route = ResourceRoute | OtherRoute;

/** `kinds` are those the server has. */
export function parseRoute(method: string, target: string, kinds: readonly ResourceKind[]): Route {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  const place = locate(path.split("/").filter((part) => part !== ""));
  if (place === undefined) {
    return { type: "other", path, query };
  }
  const { group, version, resource } = place;
  const kind = kinds.find(
    (one) => one.group === group && one.version === version && one.resource === resource,
  );
  const subresource = kind?.subresources.find((name) => name === place.subresource);
  const isMisplaced = kind !== undefined && !kind.namespaced && place.namespace !== undefined;
  if (kind === undefined || isMisplaced || (place.subresource !== undefined && !subresource)) {
    throw notFoundPath();
  }
  const { namespace, name } = place;
  const verb = verbOf(method, query, { kind, namespace, name, subresource });
  return { type: "resource", verb, kind, namespace, name, subresource, query };
}

export function notFoundPath(): ApiError {
  const message = "the server could not find the requested resource";
  return new ApiError(404, "NotFound", message, {});
}

export function methodNotAllowed(): ApiError {
  const message = "the server does not allow this method on the requested resource";
  return new ApiError(405, "MethodNotAllowed", message, {});
}

interface Place {
  readonly group: string;
  readonly version: string;
  readonly namespace: string | undefined;
  readonly resource: string;
  readonly name: string | undefined;
  readonly subresource: string | undefined;
}

/** Undefined for paths that are not below a group and version. */
function locate(parts: readonly string[]): Place | undefined {
  const [root, ...rest] = parts.map(decode);
  if (root === "api") {
    const [version = "", ...below] = rest;
    return locateBelow("", version, below);
  }
  if (root === "apis") {
    const [group = "", version = "", ...below] = rest;
    return locateBelow(group, version, below);
  }
  return undefined;
}

function locateBelow(group: string, version: string, parts: readonly string[]): Place | undefined {
  const [first, second, third] = parts;
  if (first === undefined) {
    return undefined;
  }
  const isInNamespace =
    first === "namespaces" && third !== undefined && third !== "finalize" && third !== "status";
  const below = isInNamespace ? parts.slice(2) : parts;
  const [resource = "", name, subresource, ...more] = below;
  if (more.length > 0) {
    throw notFoundPath();
  }
  const namespace = isInNamespace ? second : undefined;
  return { group, version, namespace, resource, name, subresource };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new ApiError(400, "BadRequest", `malformed path segment ${JSON.stringify(part)}`);
  }
}

function verbOf(
  method: string,
  query: URLSearchParams,
  place: Pick<ResourceRoute, "kind" | "namespace" | "name" | "subresource">,
): ApiVerb {
  const { kind, namespace, name, subresource } = place;
  const needsNamespace = kind.namespaced && namespace === undefined;
  if (needsNamespace && (name !== undefined || method !== "GET")) {
    throw name === undefined ? methodNotAllowed() : notFoundPath();
  }
  const verb =
    subresource === undefined
      ? (name === undefined ? collectionVerbs : objectVerbs)[method]
      : subresourceVerbs[subresource][method];
  if (verb === undefined) {
    throw methodNotAllowed();
  }
  return verb === "list" && isTrue(query.get("watch")) ? "watch" : verb;
}

export function isTrue(value: string | null): boolean {
  return value === "true" || value === "1";
}

type VerbTable = Readonly<Record<string, ApiVerb>>;

const collectionVerbs: VerbTable = { GET: "list", POST: "create", DELETE: "deletecollection" };
const objectVerbs: VerbTable = { GET: "get", PUT: "update", PATCH: "patch", DELETE: "delete" };
const readWriteVerbs: VerbTable = { GET: "get", PUT: "update", PATCH: "patch" };
const subresourceVerbs: Readonly<Record<Subresource, VerbTable>> = {
  status: readWriteVerbs,
  scale: readWriteVerbs,
  log: { GET: "get" },
  binding: { POST: "create" },
  finalize: { PUT: "update" },
};
