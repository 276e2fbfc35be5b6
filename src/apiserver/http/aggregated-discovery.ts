// Aggregated discovery: all groups, versions and resources in one document, which clients since 1.26
// ask for before they ask group by group.
import { createHash } from "node:crypto";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import type { Answer } from "./answer.ts";
import { type ApiResource, describeKind, describeSubresource } from "./discovery.ts";

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
      items: groups.map((group) => describeGroup(group, asked)),
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

/** The first clause decides that asks for this form or for plain JSON. */
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

function describeGroup(group: string, kinds: readonly ResourceKind[]): object {
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
