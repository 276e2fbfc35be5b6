// The definitions of the Gateway API's kinds as far as tests of Lockstep need them: any fields, and a
// status of its own. The real ones are the judge in e2e/real.
const group = "gateway.networking.k8s.io";

const kinds = [
  ["GatewayClass", "gatewayclasses", "v1", "Cluster"],
  ["Gateway", "gateways", "v1", "Namespaced"],
  ["HTTPRoute", "httproutes", "v1", "Namespaced"],
  ["ReferenceGrant", "referencegrants", "v1beta1", "Namespaced"],
] as const;

export const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export function gatewayDefinitions(): readonly object[] {
  return kinds.map(([kind, plural, version, scope]) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: {
      name: `${plural}.${group}`,
      annotations: { "api-approved.kubernetes.io": "unapproved, for tests only" },
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
