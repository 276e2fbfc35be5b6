// How the proxies that have no journal of their own are asked which endpoints they route to: one GET
// to their admin listener, and an answer that names backends with their endpoints. A backend is the
// proxy's own word for a port of a service.
import { servicesNamed } from "../../access-log/backend-name.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import { envoyPath, readEnvoyClusters, servicesOfEnvoyCluster } from "./envoy-clusters.ts";
import { haproxyPath, readHaproxyServers, servicesOfHaproxyBackend } from "./haproxy-servers.ts";
import { backendsPath, readBackends } from "./ingress-nginx-backends.ts";
import { readTraefikServices, traefikPath } from "./traefik-services.ts";

export interface Backend {
  readonly endpoints: readonly RoutedEndpoint[];
  /** Another name of it, which says more about the service. */
  readonly alias?: string;
  /** The backend that this one is a part of: while that exists, this one may be empty. */
  readonly partOf?: string;
}

/** By the proxy's name. */
export type Backends = ReadonlyMap<string, Backend>;

export type PolledKind = "ingress-nginx" | "envoy" | "traefik" | "haproxy";

export interface PolledFormat {
  readonly kind: PolledKind;
  /** As people write it. */
  readonly product: string;
  /** After the address of the listener. */
  readonly path: (base: string) => string;
  /** Undefined when the answer is not of this kind. */
  readonly read: (body: string) => Backends | undefined;
  /** The content of an answer of this kind, for the error message. */
  readonly expected: string;
  /** `namespace/name` of each service that the name can mean. */
  readonly servicesNamed: (backend: string) => readonly string[];
  /** So long after an answer, all workers of the proxy route by it. */
  readonly settleMs: number;
  /** How its listener is opened for an observer. */
  readonly howToOpen: string;
}

/** BACKENDS_SYNC_INTERVAL in rootfs/etc/nginx/lua/balancer.lua of ingress-nginx. */
const nginxWorkersLookEveryMs = 1_000;

const below = (path: string) => (base: string) => `${base}${path}`;

export const polledFormats: Readonly<Record<PolledKind, PolledFormat>> = {
  "ingress-nginx": {
    kind: "ingress-nginx",
    product: "ingress-nginx",
    path: below(backendsPath),
    read: readBackends,
    expected: "a list of backends with names",
    servicesNamed,
    settleMs: nginxWorkersLookEveryMs,
    howToOpen: "it listens at 127.0.0.1:10246 in its pod: use kubectl port-forward POD 10246",
  },
  envoy: {
    kind: "envoy",
    product: "Envoy",
    path: below(envoyPath),
    read: readEnvoyClusters,
    expected: "cluster_statuses",
    servicesNamed: servicesOfEnvoyCluster,
    // Its main thread answers, and hands every change to the workers at once.
    settleMs: 0,
    howToOpen:
      "the admin listener is at 127.0.0.1 in its pod (Contour 9001, Envoy Gateway 19000, Istio " +
      "15000): use kubectl port-forward POD PORT",
  },
  traefik: {
    kind: "traefik",
    product: "Traefik",
    path: below(traefikPath),
    read: readTraefikServices,
    expected: "a list of services with names",
    servicesNamed,
    // The API is built from the configuration that the routers are built from.
    settleMs: 0,
    howToOpen:
      "set --api.insecure=true (api.insecure in the chart), which opens the API at port 8080 of " +
      "the pod, and use kubectl port-forward POD 8080",
  },
  haproxy: {
    kind: "haproxy",
    product: "HAProxy",
    path: haproxyPath,
    read: readHaproxyServers,
    expected: "its statistics as CSV, with the address of each server (stats show-legends)",
    servicesNamed: servicesOfHaproxyBackend,
    settleMs: 0,
    howToOpen:
      "it needs the statistics page with stats show-legends (HAProxy Kubernetes Ingress " +
      "Controller: port 1024, HAProxy Ingress: port 1936, both by default): use kubectl " +
      "port-forward POD PORT",
  },
};

export function isPolledKind(kind: string): kind is PolledKind {
  return Object.hasOwn(polledFormats, kind);
}
