// The effect of each permission that `lockstep assist` can lack, as its log reports it.
import type { PermissionEffects } from "../../kube/client/missing-permissions.ts";

export const assistPermissionEffects: PermissionEffects = {
  pods: "twins follow the EndpointSlices of their Services and are of no use",
  nodes: "endpoints that the Service's own slices do not list yet have no zone",
  namespaces: "the namespaces are unknown: nothing is written",
  "list services": "Services and twins are unknown: nothing is written",
  "watch services": "Services and twins are unknown: nothing is written",
  "list endpointslices": "the slices of twins are unknown: nothing is written",
  "watch endpointslices": "the slices of twins are unknown: nothing is written",
  "get services": "a write that met a newer version waits for a later retry",
  "get endpointslices": "a write that met a newer version waits for a later retry",
  "create services": "new Services get no twin",
  "create endpointslices": "new twins have no endpoints",
  "patch services": "changes of a Service do not reach its twin, and it cannot be handed back",
  "patch endpointslices": "twins keep endpoints that have left, and miss new ones",
  "delete services": "twins that are not wanted any more stay",
  "delete endpointslices": "slices that are not needed any more stay, also after a hand-back",
  "delete endpoints": "the Endpoints that Kubernetes made for a handed-back twin stay",
  leases: "no replica becomes or stays the leader: only a standby's late writes reach the twins",
  configmaps: "a new leader starts its counts for lockstep assist status from zero",
};
