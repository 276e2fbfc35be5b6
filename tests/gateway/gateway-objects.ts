// Objects of the Gateway API as small as tests can have them, read as those of an API server are.
import { backendTlsPolicyKind } from "../../src/kube/kinds/backend-tls-policy.ts";
import { type Gateway, gatewayKind } from "../../src/kube/kinds/gateway.ts";
import { type GatewayClass, gatewayClassKind } from "../../src/kube/kinds/gateway-class.ts";
import { grpcRouteKind } from "../../src/kube/kinds/grpc-route.ts";
import { type HttpRoute, httpRouteKind } from "../../src/kube/kinds/http-route.ts";
import { type ReferenceGrant, referenceGrantKind } from "../../src/kube/kinds/reference-grant.ts";

export interface Named {
  readonly namespace?: string;
  readonly name: string;
  /** Seconds since 1970. */
  readonly createdAt?: number;
}

export const gatewayClassName = "lockstep";

export function gatewayClass(controllerName = "lockstep.dev/gateway"): GatewayClass {
  const metadata = metadataOf({ name: gatewayClassName });
  return gatewayClassKind("v1").project({ metadata, spec: { controllerName } });
}

export function gateway(named: Named, listeners: readonly object[], spec: object = {}): Gateway {
  return gatewayKind("v1").project({
    metadata: metadataOf(named),
    spec: { gatewayClassName, listeners, ...spec },
  });
}

export function httpRoute(named: Named, spec: object): HttpRoute {
  return httpRouteKind("v1").project({ metadata: metadataOf(named), spec });
}

export function grpcRoute(named: Named, spec: object): HttpRoute {
  return grpcRouteKind("v1").project({ metadata: metadataOf(named), spec });
}

export function backendTlsPolicy(named: Named, spec: object, status: object = {}) {
  return backendTlsPolicyKind("v1").project({ metadata: metadataOf(named), spec, status });
}

export function referenceGrant(named: Named, spec: object): ReferenceGrant {
  return referenceGrantKind("v1beta1").project({ metadata: metadataOf(named), spec });
}

function metadataOf({ namespace = "infra", name, createdAt = 0 }: Named): object {
  return {
    namespace,
    name,
    uid: `${namespace}/${name}`,
    resourceVersion: "1",
    generation: 1,
    creationTimestamp: new Date(createdAt * 1000).toISOString(),
  };
}
