// The definitions of the Multi-Cluster Services API, as far as their schemas decide which fields an
// API server stores.
import type { ClusterName, SyncWorld } from "./sync-world.ts";

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export const multiclusterPath = "/apis/multicluster.x-k8s.io/v1beta1/namespaces/shop";

const text = { type: "string" };
const texts = { type: "array", items: text };
const map = { type: "object", additionalProperties: text };
const object = (properties: object) => ({ type: "object", properties });

const conditions = {
  type: "array",
  items: object({
    type: text,
    status: text,
    reason: text,
    message: text,
    lastTransitionTime: { type: "string", format: "date-time" },
  }),
};

const port = object({
  name: text,
  port: { type: "integer", format: "int32" },
  protocol: text,
  appProtocol: text,
});

const clientIP = object({ timeoutSeconds: { type: "integer", format: "int32" } });

/** The first version of the API. */
const firstSpec = {
  type: text,
  ports: { type: "array", items: port },
  ips: texts,
  sessionAffinity: text,
  sessionAffinityConfig: object({ clientIP }),
};

const presentSpec = {
  ...firstSpec,
  ipFamilies: texts,
  internalTrafficPolicy: text,
  trafficDistribution: text,
};

const clusters = { type: "array", items: object({ cluster: text }) };

const imports = {
  first: object({ spec: object(firstSpec), status: object({ clusters }) }),
  present: object({
    spec: object(presentSpec),
    status: object({ clusters, conditions, endpointSliceObjects: text }),
  }),
};

const exported = object({
  spec: object({ exportedLabels: map, exportedAnnotations: map }),
  status: object({ conditions }),
});

export const exportDefinition = definition("ServiceExport", exported);
export const importDefinition = definition("ServiceImport", imports.present);

export async function installExports(world: SyncWorld, cluster: ClusterName): Promise<void> {
  await world.call(cluster, "POST", definitionsPath, exportDefinition);
}

export async function installImports(
  world: SyncWorld,
  cluster: ClusterName,
  age: keyof typeof imports = "present",
): Promise<void> {
  await world.call(cluster, "POST", definitionsPath, definition("ServiceImport", imports[age]));
}

function definition(kind: string, openAPIV3Schema: object) {
  const plural = `${kind.toLowerCase()}s`;
  const version = { name: "v1beta1", served: true, storage: true, subresources: { status: {} } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.multicluster.x-k8s.io` },
    spec: {
      group: "multicluster.x-k8s.io",
      scope: "Namespaced",
      names: { plural, kind },
      versions: [{ ...version, schema: { openAPIV3Schema } }],
    },
  };
}

export async function exportService(
  world: SyncWorld,
  cluster: ClusterName,
  name: string,
  spec: object = {},
): Promise<void> {
  await world.call(cluster, "POST", `${multiclusterPath}/serviceexports`, {
    apiVersion: "multicluster.x-k8s.io/v1beta1",
    kind: "ServiceExport",
    metadata: { name },
    spec,
  });
}
