// The effect of each permission that `lockstep ingress` can lack, as its log reports it.
import type { PermissionEffects } from "../kube/client/missing-permissions.ts";

export const ingressPermissionEffects: PermissionEffects = {
  services:
    "the services of this cluster are unknown; an ingress with no other cluster is not ready and " +
    "serves nothing new",
  pods: "routing follows the EndpointSlices: a removed pod gets requests until its slice changes",
  "namespaced list pods": "a leader whose pod does not exist is not detected",
  endpointslices: "endpoints without a pod are unknown, and pods cannot be compared with slices",
  "get endpoints":
    "only the configured address of the API server is used, also when it is silent or lags",
  endpoints: "a cluster without EndpointSlices has no published endpoints",
  ingresses: "Ingresses and their changes are not served",
  ingressclasses: "it is not checked that the IngressClass names Lockstep as its controller",
  namespaces: "Ingresses of a namespace that is being deleted keep their hosts until they are gone",
  "ingresses/status": "Ingresses show no address",
  gatewayclasses: "Gateways and their routes are not served",
  gateways: "Gateways and their routes are not served",
  httproutes: "HTTPRoutes and their changes are not served",
  grpcroutes: "GRPCRoutes and their changes are not served",
  referencegrants: "references of Gateways and routes to other namespaces are refused",
  backendtlspolicies: "Services of a BackendTLSPolicy get plain HTTP instead of nothing",
  serviceimports: "routes to ServiceImports are answered with 500",
  serviceexports: "this cluster counts as one that exports no service to routes of ServiceImports",
  "gatewayclasses/status": "GatewayClasses show no status",
  "gateways/status": "Gateways show no status and no address",
  "httproutes/status": "HTTPRoutes show no status, also not why one is refused",
  "grpcroutes/status": "GRPCRoutes show no status, also not why one is refused",
  "backendtlspolicies/status": "BackendTLSPolicies do not show that they are not supported",
  secrets: "TLS uses the fallback certificate, and routes with a password are closed",
  events: "problems of Ingresses are in the log and in /state, but in no Event",
  leases: "no replica becomes or stays the leader, so Ingresses show no address",
  configmaps: "this lock is not checked for a leader whose pod does not exist",
};
