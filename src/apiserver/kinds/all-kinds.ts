// Every kind that a server can serve; an older version serves fewer.
import { customResourceDefinitionKind } from "../custom/definition-kind.ts";
import { configMapKind } from "./config-map.ts";
import { daemonSetKind } from "./daemon-set.ts";
import { deploymentKind } from "./deployment.ts";
import { endpointSliceKind } from "./endpoint-slice.ts";
import { endpointsKind } from "./endpoints.ts";
import { coreEventKind, eventKind } from "./event.ts";
import { ingressKind } from "./ingress.ts";
import { ingressClassKind } from "./ingress-class.ts";
import { leaseKind } from "./lease.ts";
import { namespaceKind } from "./namespace.ts";
import { nodeKind } from "./node.ts";
import { podKind } from "./pod.ts";
import { clusterRoleBindingKind, clusterRoleKind, roleBindingKind, roleKind } from "./rbac.ts";
import { replicaSetKind, replicationControllerKind } from "./replica-set.ts";
import type { ResourceKind } from "./resource-kind.ts";
import { reviewKinds } from "./reviews.ts";
import { secretKind } from "./secret.ts";
import { serviceKind } from "./service.ts";
import { serviceAccountKind } from "./service-account.ts";

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
