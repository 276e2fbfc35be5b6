// The definitions of the Gateway API's kinds as far as the lab needs them: any fields, and a status of
// its own. The published ones check every field; e2e/real uses them.
import type { Timers } from "../environment/timers.ts";
import { type KubeClient, StatusError } from "../kube/client/client.ts";

const group = "gateway.networking.k8s.io";

const kinds = [
  ["GatewayClass", "gatewayclasses", "v1", "Cluster"],
  ["Gateway", "gateways", "v1", "Namespaced"],
  ["HTTPRoute", "httproutes", "v1", "Namespaced"],
  ["GRPCRoute", "grpcroutes", "v1", "Namespaced"],
  ["BackendTLSPolicy", "backendtlspolicies", "v1", "Namespaced"],
  ["ReferenceGrant", "referencegrants", "v1beta1", "Namespaced"],
] as const;

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export function gatewayDefinitions(): readonly object[] {
  return kinds.map(([kind, plural, version, scope]) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, for the lab only" },
    },
    spec: {
      group,
      names: { kind, plural, singular: kind.toLowerCase() },
      scope,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      ],
    },
  }));
}

const requestDeadlineMs = 10_000;

/** An API server serves a new kind within milliseconds. */
const servedPollMs = 20;
const servedLongestMs = 30_000;

/** Installs the definitions, and resolves when the kinds are served. */
export async function installGatewayApi(
  client: KubeClient,
  { timers, signal }: { readonly timers: Pick<Timers, "sleep">; readonly signal: AbortSignal },
): Promise<void> {
  const limits = { deadlineMs: requestDeadlineMs };
  for (const body of gatewayDefinitions()) {
    const request = { verb: "create", method: "POST", path: definitionsPath, body } as const;
    await client.request({ ...request, ...limits });
  }
  for (const [, plural, version] of kinds) {
    const path = `/apis/${group}/${version}/${plural}`;
    for (let waitedMs = 0; ; waitedMs += servedPollMs) {
      try {
        await client.request({ verb: "list", method: "GET", path, ...limits });
        break;
      } catch (error) {
        const isMissing = error instanceof StatusError && error.code === 404;
        if (!isMissing || waitedMs >= servedLongestMs) throw error;
        await timers.sleep(servedPollMs, signal);
      }
    }
  }
}
