// Discovery: which groups, versions and resources there are, in the legacy form every client reads.
import { groupVersion, type ResourceKind, type Subresource } from "../kinds/resource-kind.ts";

/** The document at a discovery path; undefined for any other path. */
export function discoveryDocument(
  path: string,
  kinds: readonly ResourceKind[],
): object | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, group, version, ...more] = parts;
  if (more.length > 0) {
    return undefined;
  }
  if (root === "api") {
    return version === undefined ? coreDocument(group, kinds) : undefined;
  }
  if (root !== "apis") {
    return undefined;
  }
  if (group === undefined) {
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: groupNames(kinds).map((name) => describeGroup(name, kinds)),
    };
  }
  if (!groupNames(kinds).includes(group)) {
    return undefined;
  }
  return version === undefined
    ? { kind: "APIGroup", apiVersion: "v1", ...describeGroup(group, kinds) }
    : resourceList(group, version, kinds);
}

function coreDocument(
  version: string | undefined,
  kinds: readonly ResourceKind[],
): object | undefined {
  if (version !== undefined) {
    return resourceList("", version, kinds);
  }
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [],
  };
}

function groupNames(kinds: readonly ResourceKind[]): readonly string[] {
  return [...new Set(kinds.map((kind) => kind.group))].filter((group) => group !== "");
}

function describeGroup(group: string, kinds: readonly ResourceKind[]): object {
  const versions = [
    ...new Set(kinds.filter((kind) => kind.group === group).map((kind) => kind.version)),
  ].map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function resourceList(
  group: string,
  version: string,
  served: readonly ResourceKind[],
): object | undefined {
  const kinds = served.filter((kind) => kind.group === group && kind.version === version);
  const [first] = kinds;
  if (first === undefined) {
    return undefined;
  }
  return {
    kind: "APIResourceList",
    ...(group === "" ? {} : { apiVersion: "v1" }),
    groupVersion: groupVersion(first),
    resources: kinds.flatMap((kind) => [
      describeKind(kind),
      ...kind.subresources.map((subresource) => describeSubresource(kind, subresource)),
    ]),
  };
}

function verbsOf({ createOnly, isDeletedSingly, custom }: ResourceKind): readonly string[] {
  if (createOnly) return ["create"];
  if (custom !== undefined) return customVerbs;
  return isDeletedSingly ? allVerbs.filter((verb) => verb !== "deletecollection") : allVerbs;
}

/** In the order the server of custom kinds has them. */
const customVerbs = [
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "create",
  "update",
  "watch",
];

const allVerbs = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** One entry of a resource list. */
export interface ApiResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** With the version, where the kind is of another group than the list. */
  readonly group?: string;
  readonly version?: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

export function describeKind(kind: ResourceKind): ApiResource {
  return {
    name: kind.resource,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: verbsOf(kind),
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
  };
}

export function describeSubresource(kind: ResourceKind, subresource: Subresource): ApiResource {
  const base = {
    name: `${kind.resource}/${subresource}`,
    singularName: "",
    namespaced: kind.namespaced,
  };
  switch (subresource) {
    case "scale":
      return {
        ...base,
        group: "autoscaling",
        version: "v1",
        kind: "Scale",
        verbs: ["get", "patch", "update"],
      };
    case "token":
      return {
        ...base,
        group: "authentication.k8s.io",
        version: "v1",
        kind: "TokenRequest",
        verbs: ["create"],
      };
    case "eviction":
      return { ...base, group: "policy", version: "v1", kind: "Eviction", verbs: ["create"] };
    case "binding":
      return { ...base, kind: "Binding", verbs: ["create"] };
    case "log":
      return { ...base, kind: kind.kind, verbs: ["get"] };
    case "finalize":
      return { ...base, kind: kind.kind, verbs: ["update"] };
    case "status":
      return { ...base, kind: kind.kind, verbs: ["get", "patch", "update"] };
  }
}
