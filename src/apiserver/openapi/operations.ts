// The operations of a kind, path by path, before they are written for either version of OpenAPI.
// Clients read them to learn whether a server validates fields and supports dry runs and apply.
import type { JsonObject } from "../kinds/fields.ts";
import type { ResourceKind, Subresource } from "../kinds/resource-kind.ts";
import {
  deleteOptionsName,
  type ExtraType,
  gvkOf,
  kindDefinitionName,
  listDefinitionName,
  patchName,
  statusName,
  typeDefinitionName,
} from "./definitions.ts";

type Method = "delete" | "get" | "patch" | "post" | "put";

export interface Operation {
  readonly method: Method;
  readonly operationId: string;
  readonly tag: string;
  /** The value of `x-kubernetes-action`: `list`, `post`, `deletecollection`. */
  readonly action: string;
  readonly gvk: JsonObject;
  readonly parameters: readonly Parameter[];
  readonly body?: { readonly types: readonly string[]; readonly definition: string };
  /** The definition of the answer; undefined for text. */
  readonly answer: string | undefined;
  readonly answerCodes: readonly number[];
  readonly isList: boolean;
}

export interface PathItem {
  readonly path: string;
  /** Those every operation has. */
  readonly parameters: readonly Parameter[];
  readonly operations: readonly Operation[];
}

/** Kinds that are sent to subresources and are no resources themselves. */
export const subresourceTypes: Readonly<Partial<Record<Subresource, ExtraType>>> = {
  binding: { type: "core.v1.Binding", gvk: { group: "", kind: "Binding", version: "v1" } },
  eviction: {
    type: "policy.v1.Eviction",
    gvk: { group: "policy", kind: "Eviction", version: "v1" },
  },
  scale: {
    type: "autoscaling.v1.Scale",
    gvk: { group: "autoscaling", kind: "Scale", version: "v1" },
  },
  token: {
    type: "authentication.v1.TokenRequest",
    gvk: { group: "authentication.k8s.io", kind: "TokenRequest", version: "v1" },
  },
};

export function pathItems(kind: ResourceKind): readonly PathItem[] {
  const root = `/${groupVersionPath(kind)}`;
  const scope = kind.namespaced ? `${root}/namespaces/{namespace}` : root;
  const collection = `${scope}/${kind.resource}`;
  const inScope = kind.namespaced ? [namespace, pretty] : [pretty];
  const make = operationMaker(kind);
  if (kind.createOnly === true) {
    return [{ path: collection, parameters: inScope, operations: [make.create()] }];
  }
  const items: PathItem[] = [
    {
      path: collection,
      parameters: inScope,
      operations: [
        make.list(""),
        make.create(),
        ...(kind.isDeletedSingly ? [] : [make.deleteCollection()]),
      ],
    },
    {
      path: `${collection}/{name}`,
      parameters: [objectName, ...inScope],
      operations: [make.get(""), make.replace(""), make.delete(), make.patch("")],
    },
    ...kind.subresources.filter(isDescribed).map((subresource) => ({
      path: `${collection}/{name}/${subresource}`,
      parameters: [objectName, ...inScope],
      operations: subresourceOperations(kind, subresource),
    })),
  ];
  const everywhere = {
    path: `${root}/${kind.resource}`,
    parameters: [pretty],
    operations: [make.list("ForAllNamespaces")],
  };
  return kind.namespaced ? [everywhere, ...items] : items;
}

/** A proxy passes on what its target answers, so there is nothing to describe. */
function isDescribed(subresource: Subresource): subresource is DescribedSubresource {
  return subresource !== "proxy";
}

type DescribedSubresource = Exclude<Subresource, "proxy">;

/** `api/v1`, `apis/apps/v1`. */
export function groupVersionPath({ group, version }: ResourceKind): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

const patchTypes = [
  "application/apply-patch+yaml",
  "application/json-patch+json",
  "application/merge-patch+json",
];
const anyType = ["*/*"];

function subresourceOperations(
  kind: ResourceKind,
  subresource: DescribedSubresource,
): readonly Operation[] {
  const type = subresourceTypes[subresource];
  const make = operationMaker(kind, type);
  const suffix = pascal(subresource);
  switch (subresource) {
    case "binding":
    case "eviction":
    case "token":
      return [make.create(suffix)];
    case "finalize":
      return [make.replace(suffix)];
    case "log":
      return [{ ...make.get(suffix), parameters: logging, answer: undefined }];
    case "scale":
    case "status":
      return [make.get(suffix), make.replace(suffix), make.patch(suffix)];
  }
}

/** The operations on a kind, or on a subresource of it that is of another type. */
function operationMaker(kind: ResourceKind, subresource?: ExtraType) {
  const definition =
    subresource === undefined ? kindDefinitionName(kind) : typeDefinitionName(subresource.type);
  const gvk = subresource?.gvk ?? gvkOf(kind);
  const group = groupName(kind.group);
  const owner = pascal(group) + pascal(kind.version);
  const scoped = `${kind.namespaced ? "Namespaced" : ""}${kind.kind}`;
  const base = {
    tag: `${group}_${kind.version}`,
    gvk,
    answer: definition,
    answerCodes: [200],
    isList: false,
    parameters: [],
  };
  const body = { types: anyType, definition };
  const types =
    kind.custom === undefined
      ? [...patchTypes, "application/strategic-merge-patch+json"]
      : patchTypes;
  return {
    list: (suffix: string): Operation => ({
      ...base,
      method: "get",
      action: "list",
      operationId: `list${owner}${suffix === "" ? scoped : kind.kind}${suffix}`,
      parameters: byName([...selecting, ...watching]),
      answer: listDefinitionName(kind),
      isList: true,
    }),
    create: (suffix = ""): Operation => ({
      ...base,
      method: "post",
      action: "post",
      operationId: `create${owner}${scoped}${suffix}`,
      parameters: writing,
      body,
      answerCodes: [200, 201, 202],
    }),
    deleteCollection: (): Operation => ({
      ...base,
      method: "delete",
      action: "deletecollection",
      operationId: `delete${owner}Collection${scoped}`,
      parameters: byName([...selecting, ...deleting]),
      body: { types: anyType, definition: deleteOptionsName },
      answer: statusName,
    }),
    get: (suffix: string): Operation => ({
      ...base,
      method: "get",
      action: "get",
      operationId: `read${owner}${scoped}${suffix}`,
    }),
    replace: (suffix: string): Operation => ({
      ...base,
      method: "put",
      action: "put",
      operationId: `replace${owner}${scoped}${suffix}`,
      parameters: writing,
      body,
      answerCodes: [200, 201],
    }),
    delete: (): Operation => ({
      ...base,
      method: "delete",
      action: "delete",
      operationId: `delete${owner}${scoped}`,
      parameters: deleting,
      body: { types: anyType, definition: deleteOptionsName },
      answer: kind.returnsDeleted ? definition : statusName,
      answerCodes: [200, 202],
    }),
    patch: (suffix: string): Operation => ({
      ...base,
      method: "patch",
      action: "patch",
      operationId: `patch${owner}${scoped}${suffix}`,
      parameters: [...writing, query("force", "boolean")],
      body: { types, definition: patchName },
      answerCodes: [200, 201],
    }),
  };
}

function byName(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** `rbac.authorization.k8s.io` → `rbacAuthorization`. */
function groupName(group: string): string {
  const [first = "", ...rest] = group.replace(/\.k8s\.io$/, "").split(".");
  return group === "" ? "core" : first + rest.map(pascal).join("");
}

function pascal(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1);
}

// The parameters of operations. Clients read their names to learn which features a server has.

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "boolean" | "integer" | "string";
}

const objectName: Parameter = { name: "name", in: "path", type: "string" };
const namespace: Parameter = { name: "namespace", in: "path", type: "string" };
const pretty = query("pretty");
const writing = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
const deleting = [
  query("dryRun"),
  query("gracePeriodSeconds", "integer"),
  query("orphanDependents", "boolean"),
  query("propagationPolicy"),
];
const selecting = [
  query("continue"),
  query("fieldSelector"),
  query("labelSelector"),
  query("limit", "integer"),
  query("resourceVersion"),
  query("resourceVersionMatch"),
  query("sendInitialEvents", "boolean"),
  query("timeoutSeconds", "integer"),
];
const watching = [query("allowWatchBookmarks", "boolean"), query("watch", "boolean")];
const logging = [
  query("container"),
  query("follow", "boolean"),
  query("limitBytes", "integer"),
  query("previous", "boolean"),
  query("sinceSeconds", "integer"),
  query("tailLines", "integer"),
  query("timestamps", "boolean"),
];

function query(name: string, type: Parameter["type"] = "string"): Parameter {
  return { name, in: "query", type };
}
