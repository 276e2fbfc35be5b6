// Every kind this server serves.
import { eventKind, leaseKind, namespaceKind, nodeKind, serviceAccountKind } from "./cluster.ts";
import { configMapKind, secretKind } from "./config.ts";
import { endpointSliceKind } from "./endpoint-slice.ts";
import { endpointsKind } from "./endpoints.ts";
import { ingressClassKind, ingressKind } from "./ingress.ts";
import { podKind } from "./pod.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { serviceKind } from "./service.ts";
import { deploymentKind, replicaSetKind } from "./workload.ts";

export const allKinds: readonly ResourceKind[] = [
  configMapKind,
  endpointsKind,
  eventKind,
  namespaceKind,
  nodeKind,
  podKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  deploymentKind,
  replicaSetKind,
  leaseKind,
  endpointSliceKind,
  ingressClassKind,
  ingressKind,
];

export function findKind(
  group: string,
  version: string,
  resource: string,
): ResourceKind | undefined {
  return allKinds.find(
    (kind) => kind.group === group && kind.version === version && kind.resource === resource,
  );
}
