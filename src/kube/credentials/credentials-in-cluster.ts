// Access to the cluster this process runs in as a pod: the service account's files, which the
// kubelet renews, and the address every pod finds in its variables.
import type { Clock } from "../../environment/clock.ts";
import type { Files } from "../../environment/files.ts";
import type { Log } from "../../environment/log.ts";
import type { Processes } from "../../environment/processes.ts";
import { type ClusterAccess, CredentialsError } from "./credentials.ts";
import { AssembledAccess, storedIdentity } from "./credentials-identity.ts";
import { FileText } from "./credentials-text.ts";

export interface InClusterOptions {
  readonly files: Files;
  readonly processes: Processes;
  readonly clock: Clock;
  readonly log: Log;
  /** Where the service account is mounted, if not in the usual place. */
  readonly serviceAccountDirectory?: string;
}

const usualDirectory = "/var/run/secrets/kubernetes.io/serviceaccount";

/** True in a pod, where `inClusterAccess` can be expected to work. */
export function isInCluster(processes: Processes): boolean {
  return Boolean(processes.variables["KUBERNETES_SERVICE_HOST"]);
}

/** Throws a `CredentialsError` outside of a pod. */
export function inClusterAccess(options: InClusterOptions): ClusterAccess {
  const { variables } = options.processes;
  const host = variables["KUBERNETES_SERVICE_HOST"];
  const port = variables["KUBERNETES_SERVICE_PORT"];
  if (!host || !port) {
    throw new CredentialsError(
      "NOT_FOUND",
      "this is not a pod: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set",
    );
  }
  const directory = options.serviceAccountDirectory ?? usualDirectory;
  const file = (name: string, what: string): FileText =>
    new FileText({ ...options, path: `${directory}/${name}`, what });
  return new AssembledAccess({
    name: "in-cluster",
    server: `https://${host.includes(":") ? `[${host}]` : host}:${port}`,
    ca: file("ca.crt", "the service account's certificate authority"),
    serverName: undefined,
    insecureSkipVerify: false,
    identity: storedIdentity({ token: file("token", "the service account's token") }),
  });
}
