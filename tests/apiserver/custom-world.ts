// A definition for tests, and its installation in a simulated world.
import type { ApiWorld } from "./api-world.ts";

type Json = Record<string, unknown>;

export const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
export const shops = "/apis/example.com/v1/namespaces/default/shops";

/** Longer than the delay of a new definition: then objects are created without one. */
const settleMs = 3000;

const spec = {
  type: "object",
  properties: {
    size: { type: "integer", minimum: 1, default: 1 },
    owner: { type: "string", maxLength: 20 },
  },
};

export interface DefinitionChange {
  readonly spec?: Json;
  readonly names?: Json;
  /** Of its one version. */
  readonly version?: Json;
  /** Of `spec` in its objects. */
  readonly schema?: Json;
}

/** A namespaced kind Shop with a spec and a status; `change` replaces parts of it. */
export function shopDefinition(change: DefinitionChange = {}): Json {
  const names = { plural: "shops", kind: "Shop", ...change.names };
  const properties = { spec: change.schema ?? spec, status: { type: "object", properties: {} } };
  const version = {
    name: "v1",
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: "object", properties } },
    subresources: { status: {} },
    ...change.version,
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.example.com` },
    spec: { group: "example.com", scope: "Namespaced", names, versions: [version], ...change.spec },
  };
}

export function shop(name: string, own: Json = {}): Json {
  return { apiVersion: "example.com/v1", kind: "Shop", metadata: { name }, spec: own };
}

/** Makes the definition and waits until its kind is in use. */
export async function install(world: ApiWorld, definition: Json): Promise<void> {
  const { status, text } = await world.call("POST", definitions, definition);
  if (status !== 201) throw new Error(text);
  await world.client.timers.sleep(settleMs);
}
