// Every kind a server of the lab can serve; an older version serves fewer.
import { customResourceDefinitionKind } from "../custom/definition-kind.ts";
import { leaseKind, namespaceKind, serviceAccountKind } from "./cluster.ts";
import { configMapKind, secretKind } from "./config.ts";
import { endpointSliceKind } from "./endpoint-slice.ts";
import { endpointsKind } from "./endpoints.ts";
import { coreEventKind, eventKind } from "./event.ts";
import { ingressKind } from "./ingress.ts";
import { ingressClassKind } from "./ingress-class.ts";
import { nodeKind } from "./node.ts";
import { podKind } from "./pod.ts";
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./rbac.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { reviewKinds } from "./reviews.ts";
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
  coreEventKind,
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
  eventKind,
  ingressClassKind,
  ingressKind,
  clusterRoleBindingKind,
  clusterRoleKind,
  roleBindingKind,
  roleKind,
  ...reviewKinds,
  customResourceDefinitionKind,
];
