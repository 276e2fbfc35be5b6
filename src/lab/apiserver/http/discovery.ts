// Discovery: which groups, versions and resources there are, in the legacy form every client reads.
import { allKinds } from "../kinds/all-kinds.ts";
import { groupVersion, type ResourceKind, type Subresource } from "../kinds/resource-kind.ts";

/** The document at a discovery path; undefined for any other path. */
export function discoveryDocument(path: string): object | undefined {
  const parts = path.split("/").filter((part) => part !== "");
  const [root, group, version, ...more] = parts;
  if (more.length > 0) {
    return undefined;
  }
  if (root === "api") {
    return version === undefined ? coreDocument(group) : undefined;
  }
  if (root !== "apis") {
    return undefined;
  }
  if (group === undefined) {
    return { kind: "APIGroupList", apiVersion: "v1", groups: groupNames().map(describeGroup) };
  }
  if (!groupNames().includes(group)) {
    return undefined;
  }
  return version === undefined
    ? { kind: "APIGroup", apiVersion: "v1", ...describeGroup(group) }
    : resourceList(group, version);
}

function coreDocument(version: string | undefined): object | undefined {
  if (version !== undefined) {
    return resourceList("", version);
  }
  return {
    kind: "APIVersions",
    versions: ["v1"],
    serverAddressByClientCIDRs: [],
  };
}

function groupNames(): readonly string[] {
  return [...new Set(allKinds.map((kind) => kind.group))].filter((group) => group !== "");
}

function describeGroup(group: string): object {
  const versions = [
    ...new Set(allKinds.filter((kind) => kind.group === group).map((kind) => kind.version)),
  ].map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions, preferredVersion: versions[0] };
}

function resourceList(group: string, version: string): object | undefined {
  const kinds = allKinds.filter((kind) => kind.group === group && kind.version === version);
  const [first] = kinds;
  if (first === undefined) {
    return undefined;
  }
  return {
    kind: "APIResourceList",
    apiVersion: "v1",
    groupVersion: groupVersion(first),
    resources: kinds.flatMap((kind) => [
      describeKind(kind),
      ...kind.subresources.map((subresource) => describeSubresource(kind, subresource)),
    ]),
  };
}

function describeKind(kind: ResourceKind): object {
  return {
    name: kind.resource,
    singularName: kind.singular,
    namespaced: kind.namespaced,
    kind: kind.kind,
    verbs: ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"],
    ...(kind.shortNames.length === 0 ? {} : { shortNames: kind.shortNames }),
    ...(kind.categories.length === 0 ? {} : { categories: kind.categories }),
  };
}

function describeSubresource(kind: ResourceKind, subresource: Subresource): object {
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
