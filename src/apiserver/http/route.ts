// A request's method and path: a verb on a resource, or some other path. Unknown resources are 404
// and impossible methods 405, before anything else is checked.
import { ApiError } from "../api-error.ts";
import { pathSegmentName } from "../kinds/names.ts";
import type { ResourceKind, Subresource } from "../kinds/resource-kind.ts";
import type { ServedKinds } from "../kinds/served-kinds.ts";

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
  /** Of a proxy: the path at its target, without the first slash. */
  readonly proxiedPath?: string;
  readonly query: URLSearchParams;
}

export interface OtherRoute {
  readonly type: "other";
  readonly path: string;
  readonly query: URLSearchParams;
}

export type Route = ResourceRoute | OtherRoute;

/** `kinds` are those the server has. */
export function parseRoute(method: string, target: string, kinds: ServedKinds): Route {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  const place = locate(path.split("/").filter((part) => part !== ""));
  if (place === undefined || !kinds.hasGroup(place.group)) {
    return { type: "other", path, query };
  }
  const { group, version, resource } = place;
  const kind = kinds.find(group, version, resource);
  const subresource = kind?.subresources.find((name) => name === place.subresource);
  const isMisplaced = kind !== undefined && !kind.namespaced && place.namespace !== undefined;
  if (kind === undefined || isMisplaced || (place.subresource !== undefined && !subresource)) {
    throw notFoundPath();
  }
  refuseBadName(place.name);
  if (place.isWatch) {
    return watchRoute(method, query, kind, place);
  }
  const { namespace, name } = place;
  const verb = verbOf(method, query, { kind, namespace, name, subresource });
  const { proxiedPath } = place;
  const route = { type: "resource", verb, kind, namespace, name, subresource, query } as const;
  return proxiedPath === undefined ? route : { ...route, proxiedPath };
}

/** The way to watch before it was a parameter; still served. One object is selected by its name. */
function watchRoute(
  method: string,
  query: URLSearchParams,
  kind: ResourceKind,
  { namespace, name }: Place,
): ResourceRoute {
  if (method !== "GET") {
    throw methodNotAllowed();
  }
  if (name !== undefined) {
    query.set("fieldSelector", `metadata.name=${name}`);
  }
  const subresource = undefined;
  return { type: "resource", verb: "watch", kind, namespace, name: undefined, subresource, query };
}

function refuseBadName(name: string | undefined): void {
  const [problem] = name === undefined ? [] : pathSegmentName(name);
  if (problem !== undefined) {
    const message = `Name parameter invalid: ${JSON.stringify(name)}: ${problem}`;
    throw new ApiError(400, "BadRequest", message);
  }
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
  readonly proxiedPath: string | undefined;
  readonly isWatch: boolean;
}

/** Undefined for paths that are not below a group and version. */
function locate(parts: readonly string[]): Place | undefined {
  // A slash counts as one however it is written.
  const [root, ...rest] = parts.flatMap((part) => decode(part).split("/"));
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

function locateBelow(group: string, version: string, path: readonly string[]): Place | undefined {
  const isWatch = path[0] === "watch" && path.length > 1;
  const parts = isWatch ? path.slice(1) : path;
  const [first, second, third] = parts;
  if (first === undefined) {
    return undefined;
  }
  const isInNamespace =
    first === "namespaces" && third !== undefined && third !== "finalize" && third !== "status";
  const below = isInNamespace ? parts.slice(2) : parts;
  const [resource = "", name, subresource, ...more] = below;
  const proxiedPath = subresource === "proxy" ? more.join("/") : undefined;
  if (more.length > 0 && proxiedPath === undefined) {
    throw notFoundPath();
  }
  const namespace = isInNamespace ? second : undefined;
  return { group, version, namespace, resource, name, subresource, proxiedPath, isWatch };
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
  if (kind.createOnly) {
    if (name !== undefined) throw notFoundPath();
    if (method !== "POST") throw methodNotAllowed();
  }
  const needsNamespace = kind.namespaced && namespace === undefined;
  if (needsNamespace && (name !== undefined || method !== "GET")) {
    throw name === undefined ? methodNotAllowed() : notFoundPath();
  }
  const verb =
    subresource === undefined
      ? (name === undefined ? collectionVerbs : objectVerbs)[method]
      : subresourceVerbs[subresource][method];
  if (verb === undefined || (verb === "deletecollection" && kind.isDeletedSingly)) {
    throw methodNotAllowed();
  }
  return verb === "list" && isTrue(query.get("watch")) ? "watch" : verb;
}

/** Any value counts as true, except those that Go reads as false. */
export function isTrue(value: string | null): boolean {
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

type VerbTable = Readonly<Record<string, ApiVerb>>;

const collectionVerbs: VerbTable = { GET: "list", POST: "create", DELETE: "deletecollection" };
const objectVerbs: VerbTable = { GET: "get", PUT: "update", PATCH: "patch", DELETE: "delete" };
const readWriteVerbs: VerbTable = { GET: "get", PUT: "update", PATCH: "patch" };
const subresourceVerbs: Readonly<Record<Subresource, VerbTable>> = {
  status: readWriteVerbs,
  scale: readWriteVerbs,
  log: { GET: "get" },
  proxy: { GET: "get", POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" },
  binding: { POST: "create" },
  eviction: { POST: "create" },
  token: { POST: "create" },
  finalize: { PUT: "update" },
};
