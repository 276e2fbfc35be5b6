// The sources of evidence, of which each cause names those that can show it.

/** An entry stands for all texts or samples of its kind. */
export type SourceName =
  | "access log"
  | "apiserver log"
  | "audit log"
  | "client log"
  | "copied changes"
  | "endpoints"
  | "etcd log"
  | "headless services"
  | "heartbeats"
  | "ingresses"
  | "kubelet log"
  | "kubernetes addresses"
  | "locks"
  | "locks and pods"
  | "manager log"
  | "manager metrics"
  | "proxy log"
  | "published changes"
  | "removed endpoints"
  | "routed changes"
  | "server caches"
  | "services and endpoints"
  | "version"
  | "version up to 1.7";
