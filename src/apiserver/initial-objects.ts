// What a cluster holds from its first moment: the namespaces that are always there.
import { ApiError } from "./api-error.ts";
import { namespaceKind } from "./kinds/cluster.ts";
import { groupVersion } from "./kinds/resource-kind.ts";
import type { Backend } from "./verbs/backend.ts";
import { createObject } from "./verbs/create.ts";
import { serverContext } from "./verbs/request-context.ts";

const namespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Another server on the same storage may be doing the same. */
export async function ensureInitialObjects(backend: Backend): Promise<void> {
  for (const name of namespaces) {
    try {
      await createObject(backend, serverContext, {
        kind: namespaceKind,
        namespace: undefined,
        object: { apiVersion: groupVersion(namespaceKind), kind: "Namespace", metadata: { name } },
      });
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== "AlreadyExists") {
        throw error;
      }
    }
  }
}
