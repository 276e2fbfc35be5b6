// The command line of an API server of the lab, in the real flags' names: what an operator reads off
// its pod.
import type { KubernetesServiceFlags } from "./kubernetes-service/kubernetes-service-reconciler.ts";

export interface ApiServerCommandOptions {
  /** Where others reach it. */
  readonly address: string;
  readonly port: string;
  readonly kubernetesService: KubernetesServiceFlags;
  readonly verbosity: number;
  readonly isAudited: boolean;
}

/** verbs/service-allocator.ts takes the addresses of services from it. */
const serviceRange = "10.96.0.0/16";

export function apiServerCommand(options: ApiServerCommandOptions): readonly string[] {
  const { address, port, kubernetesService, verbosity, isAudited } = options;
  const { reconcilerType, apiserverCount } = kubernetesService;
  return [
    "kube-apiserver",
    `--advertise-address=${address}`,
    `--secure-port=${port}`,
    `--service-cluster-ip-range=${serviceRange}`,
    ...(apiserverCount === undefined ? [] : [`--apiserver-count=${apiserverCount}`]),
    ...(reconcilerType === undefined ? [] : [`--endpoint-reconciler-type=${reconcilerType}`]),
    ...(isAudited ? ["--audit-log-path=/var/log/kubernetes/audit.log"] : []),
    `--v=${verbosity}`,
  ];
}
