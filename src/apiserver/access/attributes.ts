// The attributes of a request for authorization, read from its method and path alone. So they are
// known before the resource is looked up, and a refused client does not learn whether it exists.
import type { User } from "../http/authentication.ts";

export interface ResourceAttributes {
  readonly type: "resource";
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  /** "" at the cluster scope and across all namespaces. */
  readonly namespace: string;
  readonly name: string;
}

export interface PathAttributes {
  readonly type: "path";
  readonly verb: string;
  readonly path: string;
}

export type Attributes = ResourceAttributes | PathAttributes;

/** One request of a user, for a decision. */
export interface Access {
  readonly user: User;
  readonly attributes: Attributes;
}

const verbs: Readonly<Record<string, string>> = {
  POST: "create",
  GET: "get",
  HEAD: "get",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete",
};

/** apiserver pkg/endpoints/request/requestinfo.go: below a namespace these are not resources. */
const namespaceSubresources: ReadonlySet<string> = new Set(["status", "finalize"]);

export function attributesOf(method: string, target: string): Attributes {
  const mark = target.indexOf("?");
  const path = mark < 0 ? target : target.slice(0, mark);
  const place = placeOf(path.split("/").filter((part) => part !== ""));
  if (place === undefined) return { type: "path", verb: method.toLowerCase(), path };
  const verb = verbs[method] ?? "";
  if (place.name !== "") return { type: "resource", ...place, verb };
  const query = new URLSearchParams(mark < 0 ? "" : target.slice(mark + 1));
  const named = verb === "get" ? nameSelected(query) : "";
  return { type: "resource", ...place, name: named, verb: collectionVerb(verb, query) };
}

type ResourcePlace = Omit<ResourceAttributes, "type" | "verb">;

function placeOf(parts: readonly string[]): ResourcePlace | undefined {
  const [root, ...rest] = parts;
  if (root !== "api" && root !== "apis") return undefined;
  const [group = "", version = "", ...below] = root === "api" ? ["", ...rest] : rest;
  const [first, second = "", third] = below;
  if (first === undefined) return undefined;
  const at = { group: decoded(group), version: decoded(version) };
  if (first !== "namespaces" || second === "") return { ...at, ...named(below), namespace: "" };
  // A namespace is found in itself, as the real server has it: its own Role may speak of it.
  const namespace = decoded(second);
  const isContent = third !== undefined && !namespaceSubresources.has(third);
  return { ...at, ...named(isContent ? below.slice(2) : below), namespace };
}

function named(parts: readonly string[]): {
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
} {
  const [resource = "", name = "", subresource = ""] = parts.map(decoded);
  return { resource, name, subresource };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    // A name that cannot be decoded counts as none; the router refuses the path.
    return part;
  }
}

function collectionVerb(verb: string, query: URLSearchParams): string {
  if (verb === "delete") return "deletecollection";
  if (verb !== "get") return verb;
  const watch = query.get("watch");
  const isWatch = watch !== null && watch !== "false" && watch !== "0";
  return isWatch ? "watch" : "list";
}

/** A list of one object by its name is allowed to users who may read that object. */
function nameSelected(query: URLSearchParams): string {
  const match = /(?:^|,)metadata\.name==?([^,]+)(?:,|$)/.exec(query.get("fieldSelector") ?? "");
  return match?.[1] ?? "";
}
