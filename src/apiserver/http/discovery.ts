// Discovery: the groups, versions and resources of the server, in the legacy form that every client
// reads, and in one aggregated document.

import { createHash } from "node:crypto";
import { groupVersion, type ResourceKind, type Subresource } from "../kinds/resource-kind.ts";
import type { Answer } from "./answer.ts";

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
interface ApiResource {
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

function describeKind(kind: ResourceKind): ApiResource {
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

function describeSubresource(kind: ResourceKind, subresource: Subresource): ApiResource {
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
    case "proxy":
      return {
        ...base,
        kind: "PodProxyOptions",
        verbs: ["create", "delete", "get", "patch", "update"],
      };
    case "finalize":
      return { ...base, kind: kind.kind, verbs: ["update"] };
    case "status":
      return { ...base, kind: kind.kind, verbs: ["get", "patch", "update"] };
  }
}

// Aggregated discovery: all groups, versions and resources in one document. Clients since 1.26 ask
// for it first, and group by group only if a server does not have it.

/** The versions of the document that are written, in the order of preference; they are the same. */
const documentVersions = ["v2", "v2beta1"];

/** Undefined for other paths and for clients that did not ask for this form. */
export function aggregatedDiscovery(
  path: string,
  accept: string | undefined,
  kinds: readonly ResourceKind[],
): Answer | undefined {
  const version = askedVersion(accept ?? "");
  if (version === undefined || (path !== "/api" && path !== "/apis")) {
    return undefined;
  }
  const asked = kinds.filter((kind) => (kind.group === "") === (path === "/api"));
  const groups = [...new Set(asked.map((kind) => kind.group))];
  const body = Buffer.from(
    JSON.stringify({
      kind: "APIGroupDiscoveryList",
      apiVersion: `apidiscovery.k8s.io/${version}`,
      metadata: {},
      items: groups.map((group) => aggregatedGroup(group, asked)),
    }),
  );
  const hash = createHash("sha512").update(body).digest("hex").toUpperCase();
  return {
    status: 200,
    body,
    contentType: `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`,
    headers: { "cache-control": "public", etag: `"${hash}"`, vary: "Accept" },
  };
}

/** The first clause with this form or plain JSON decides. */
function askedVersion(accept: string): string | undefined {
  for (const clause of accept.split(",")) {
    const [type, ...parameters] = clause.split(";").map((part) => part.trim());
    const isJson = type === "application/json";
    if (isJson && parameters.includes("as=APIGroupDiscoveryList")) {
      const found = documentVersions.find((version) => parameters.includes(`v=${version}`));
      if (found !== undefined && parameters.includes("g=apidiscovery.k8s.io")) {
        return found;
      }
    } else if (isJson || type === "*/*") {
      return undefined;
    }
  }
  return undefined;
}

function aggregatedGroup(group: string, kinds: readonly ResourceKind[]): object {
  const own = kinds.filter((kind) => kind.group === group);
  const versions = [...new Set(own.map((kind) => kind.version))];
  return {
    metadata: group === "" ? {} : { name: group },
    versions: versions.map((version) => ({
      version,
      resources: own.filter((kind) => kind.version === version).map(describeResource),
      freshness: "Current",
    })),
  };
}

function describeResource(kind: ResourceKind): object {
  const { name, namespaced, singularName, verbs, shortNames, categories } = describeKind(kind);
  const subresources = kind.subresources.map((subresource) => {
    const described = describeSubresource(kind, subresource);
    return { subresource, responseKind: kindOf(described, kind), verbs: described.verbs };
  });
  return {
    resource: name,
    responseKind: kindOf(describeKind(kind), kind),
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singularName,
    verbs,
    ...(shortNames === undefined ? {} : { shortNames }),
    ...(categories === undefined ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Group and version are left out where they are those of a built-in resource itself. */
function kindOf(described: ApiResource, kind: ResourceKind): object {
  const isCustom = kind.custom !== undefined;
  const { group = isCustom ? kind.group : "", version = isCustom ? kind.version : "" } = described;
  return { group, version, kind: described.kind };
}
