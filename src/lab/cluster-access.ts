// A cluster with access control, compared with one where every user may do everything: its servers use
// RBAC and limit the requests in flight, its controllers manage accounts, and its components have the
// rights they need, as bindings in the API.
import { bindingObject } from "../apiserver/access/bootstrap-policy.ts";
import type { ApiServerOptions } from "../apiserver/api-server.ts";
import type { User } from "../apiserver/http/authentication.ts";
import { tokenKey } from "../components/service-account-tokens.ts";
import type { ClusterOptions } from "./cluster.ts";
import type { AccountOptions } from "./controllers/started-controllers.ts";

const controllerManagerUser = "User system:kube-controller-manager";

/**
 * The controllers act as the process they are in, as kube-controller-manager has it without
 * `--use-service-account-credentials`: then its own user is to be granted the roles of all.
 */
const controllerRoles = [
  "clusterrole-aggregation-controller",
  "deployment-controller",
  "endpoint-controller",
  "endpointslice-controller",
  "endpointslicemirroring-controller",
  "generic-garbage-collector",
  "namespace-controller",
  "node-controller",
  "pod-garbage-collector",
  "replicaset-controller",
  "root-ca-cert-publisher",
  "service-account-controller",
];

type AccessOptions = Pick<ClusterOptions, "accessControl">;

/** The access options of the API servers. `secret` is the cluster's own. */
export function serverAccess(
  { accessControl }: AccessOptions,
  tokens: ReadonlyMap<string, User>,
  secret: string,
): Pick<ApiServerOptions, "authentication" | "authorization" | "flowControl"> {
  if (accessControl !== true) return { authentication: { tokens } };
  return {
    authentication: { tokens, tokenKey: tokenKey(secret) },
    authorization: "RBAC",
    flowControl: {},
  };
}

/** Undefined where access is not controlled. */
export function accountOptions(
  { accessControl, tls }: AccessOptions & Pick<ClusterOptions, "tls">,
  secret: string,
): AccountOptions | undefined {
  return accessControl === true ? { tokenKey: tokenKey(secret), rootCa: tls?.ca } : undefined;
}

/** In the storage from the start. A real cluster has an authorizer of its own for its nodes. */
export function componentBindings({ accessControl }: AccessOptions): readonly object[] {
  if (accessControl !== true) return [];
  const ofControllers = controllerRoles.map((role) =>
    bindingObject({
      name: `lockstep-lab:${role}`,
      role: `system:controller:${role}`,
      subjects: [controllerManagerUser],
    }),
  );
  const subjects = ["Group system:nodes"];
  return [
    ...ofControllers,
    bindingObject({ name: "lockstep-lab:nodes", role: "system:node", subjects }),
  ];
}
