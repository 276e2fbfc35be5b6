// Every kind a server of the lab can serve; an older version serves fewer.
import { eventKind, leaseKind, namespaceKind, nodeKind, serviceAccountKind } from "./cluster.ts";
import { configMapKind, secretKind } from "./config.ts";
import { endpointSliceKind } from "./endpoint-slice.ts";
import { endpointsKind } from "./endpoints.ts";
import { ingressClassKind, ingressKind } from "./ingress.ts";
import { podKind } from "./pod.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { serviceKind } from "./service.ts";
import {
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  replicationControllerKind,
} from "./workload.ts";

export const allKinds: readonly ResourceKind[] = [
  configMapKind,
  endpointsKind,
  eventKind,
  namespaceKind,
  nodeKind,
  podKind,
  replicationControllerKind,
  secretKind,
  serviceAccountKind,
  serviceKind,
  daemonSetKind,
  deploymentKind,
  replicaSetKind,
  leaseKind,
  endpointSliceKind,
  ingressClassKind,
  ingressKind,
];
