// Which columns a kind has: those it brings itself (custom resources), those kubectl users know of
// the built-in kinds, or the two that every object can fill.

import { textAt } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import {
  configMapColumns,
  disruptionBudgetColumns,
  leaseColumns,
  namespaceColumns,
  nodeColumns,
  roleBindingColumns,
  secretColumns,
  serviceAccountColumns,
} from "./cluster-columns.ts";
import { type KindColumns, nameColumn, nameOf, textColumn } from "./columns.ts";
import { eventColumns } from "./event-columns.ts";
import { podColumns } from "./pod-columns.ts";
import {
  endpointSliceColumns,
  endpointsColumns,
  ingressClassColumns,
  ingressColumns,
  serviceColumns,
} from "./service-columns.ts";
import {
  daemonSetColumns,
  deploymentColumns,
  replicaSetColumns,
  replicationControllerColumns,
  statefulSetColumns,
} from "./workload-columns.ts";

export function columnsOf(kind: Pick<ResourceKind, "group" | "kind" | "columns">): KindColumns {
  return kind.columns ?? usualColumns[`${kind.group}/${kind.kind}`] ?? defaultColumns;
}

/** k8s.io/apiserver/pkg/registry/rest table.go: roles and CustomResourceDefinitions have these. */
export const defaultColumns: KindColumns = {
  columns: [
    nameColumn,
    { ...textColumn("Created At", "When the server created the object."), type: "date" },
  ],
  cells: (object) => [
    nameOf(object),
    textAt(object, "metadata", "creationTimestamp") || "0001-01-01T00:00:00Z",
  ],
};

const usualColumns: Readonly<Record<string, KindColumns>> = {
  "/ConfigMap": configMapColumns,
  "/Endpoints": endpointsColumns,
  "/Event": eventColumns,
  "/Namespace": namespaceColumns,
  "/Node": nodeColumns,
  "/Pod": podColumns,
  "/ReplicationController": replicationControllerColumns,
  "/Secret": secretColumns,
  "/Service": serviceColumns,
  "/ServiceAccount": serviceAccountColumns,
  "apps/DaemonSet": daemonSetColumns,
  "apps/Deployment": deploymentColumns,
  "apps/ReplicaSet": replicaSetColumns,
  "apps/StatefulSet": statefulSetColumns,
  "coordination.k8s.io/Lease": leaseColumns,
  "discovery.k8s.io/EndpointSlice": endpointSliceColumns,
  "events.k8s.io/Event": eventColumns,
  "networking.k8s.io/Ingress": ingressColumns,
  "networking.k8s.io/IngressClass": ingressClassColumns,
  "policy/PodDisruptionBudget": disruptionBudgetColumns,
  "rbac.authorization.k8s.io/ClusterRoleBinding": roleBindingColumns,
  "rbac.authorization.k8s.io/RoleBinding": roleBindingColumns,
};
