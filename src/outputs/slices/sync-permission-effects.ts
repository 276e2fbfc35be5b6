// The effect of each permission that `lockstep sync` can lack, as its log reports it.
import type { PermissionEffects } from "../../kube/client/missing-permissions.ts";

export const sourcePermissionEffects: PermissionEffects = {
  services: "the services of this cluster are unknown: its copies stay as they are",
  pods: "copies follow the EndpointSlices: a removed pod stays in a copy until its slice changes",
  endpointslices: "endpoints without a pod are unknown: their copies stay as they are",
  endpoints: "a cluster without EndpointSlices has no published endpoints",
  nodes: "an endpoint has the zone that its EndpointSlice names, or none",
  serviceexports: "services are not selected by their ServiceExport",
  "serviceexports/status": "ServiceExports get no conditions",
  ingresses: "new Ingresses of this cluster are not delivered, copies stay as they are",
  secrets: "a TLS secret of this cluster is not copied",
};

export const targetPermissionEffects: PermissionEffects = {
  "get services": "a write that met a newer version waits for a later retry",
  "get endpointslices": "a write that met a newer version waits for a later retry",
  "list services": "the copies are unknown: nothing is written",
  "watch services": "the copies are unknown: nothing is written",
  "list endpointslices": "the copies are unknown: nothing is written",
  "watch endpointslices": "the copies are unknown: nothing is written",
  "create services": "new services get no copy",
  "create endpointslices": "new services have no endpoints in the access cluster",
  "patch services": "changes of a service do not reach its copy",
  "patch endpointslices": "copies keep endpoints that have left, and miss new ones",
  "delete services": "copies of deleted services stay",
  "delete endpointslices": "slices that are not needed any more stay",
  serviceimports: "exported services get no ServiceImport, or keep an old one",
  "serviceimports/status": "exported services get no ServiceImport, or keep an old one",
  // Where clusters import from each other.
  "serviceexports/status": "ServiceExports get no conditions",
  "create namespaces": "services of a missing namespace get no copy",
  namespaces: "the namespaces are unknown: nothing is written",
  endpoints: "with copyAs, Endpoints are not written",
  "patch ingresses": "changes of an Ingress do not reach its copy",
  "delete ingresses": "copies of deleted Ingresses stay, and so do their routes",
  ingresses: "Ingresses are not delivered",
  "patch secrets": "a renewed certificate does not reach its copy, which then expires",
  "delete secrets": "copies of TLS secrets that are not used any more stay",
  secrets: "TLS secrets are not copied",
  "delete leases": "the Leases of sources stay when their copies are pruned",
  leases: "no instance becomes or stays the writer: copies stay as they are",
};
