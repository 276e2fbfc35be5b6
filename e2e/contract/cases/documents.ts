// The server's description of itself: versions, groups, resources, health. Real servers serve more
// kinds; only kinds of the embedded server are compared.
import type { CallOptions, ContractCase } from "../contract-case.ts";
import { allSubjects } from "../objects/all-subjects.ts";

const groups = [...new Set(allSubjects.map(({ apiVersion }) => apiVersion))];
const resources = new Set(allSubjects.map(({ resource }) => resource));

/** Parts of a resource that the lab acts on. */
const subresources = new Set(["", "status", "scale", "log", "binding", "eviction", "finalize"]);

type Sent = readonly [name: string, path: string, options?: CallOptions];

const documents: readonly Sent[] = [
  ["the versions of the core", "/api", { project: without("serverAddressByClientCIDRs") }],
  ...groups.map(
    (version): Sent => [
      `the resources of ${version}`,
      version.includes("/") ? `/apis/${version}` : `/api/${version}`,
      { project: knownResources },
    ],
  ),
  ...groups
    .filter((version) => version.includes("/"))
    .map((version): Sent => [`the group ${version}`, `/apis/${version.split("/")[0]}`]),
  ["the fields of the version", "/version", { project: fieldNames }],
  ["health", "/healthz"],
  ["liveness", "/livez"],
  ["readiness", "/readyz"],
  ["one check of readiness", "/readyz/ping"],
  ["an unknown check", "/readyz/nothing"],
];

export const documentCases: readonly ContractCase[] = documents.map(([name, path, options]) => ({
  area: "documents",
  name,
  run: async ({ call }) => {
    await call("GET", path, undefined, options);
  },
}));

function without(field: string): (body: unknown) => unknown {
  return (body) =>
    Object.fromEntries(Object.entries(body as object).filter(([name]) => name !== field));
}

function fieldNames(body: unknown): unknown {
  return Object.keys(body as object).sort();
}

/** By name, without the hash of the stored form. */
function knownResources(body: unknown): unknown {
  const { resources: all = [], ...rest } = body as { resources?: Record<string, unknown>[] };
  const known = all
    .filter(({ name }) => {
      const [resource = "", part = ""] = String(name).split("/");
      return resources.has(resource) && subresources.has(part);
    })
    .map((resource) => {
      const { name, storageVersionHash: _, ...shown } = resource;
      return [String(name), shown] as const;
    });
  return { ...rest, resources: Object.fromEntries(known) };
}
