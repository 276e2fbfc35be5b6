// The endpoints of a backend as ingress-nginx reads them (getEndpointsFromSlices in
// controller/endpointslices.go; getEndpoints before v1.4): what is published and not unready.
// Whether an endpoint is serving or terminating is not looked at. Pure.

import { type EndpointSlice, serviceNameOf } from "../../kube/kinds/endpoint-slice.ts";
import type { Endpoints } from "../../kube/kinds/endpoints.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import { endpointId } from "../../sources/endpoint-id.ts";
import type { StockEndpoint } from "./stock-configuration.ts";

/** The published endpoints of one service, in the watched form. */
export type Published =
  | { readonly form: "endpointslices"; readonly slices: readonly EndpointSlice[] }
  | { readonly form: "endpoints"; readonly endpoints: Endpoints | undefined };

export function endpointsOf(
  service: Service,
  port: number | string,
  published: Published,
): readonly StockEndpoint[] {
  const servicePort = service.ports.find((one) => isNamed(one, port));
  if (servicePort === undefined) return [];
  const found =
    published.form === "endpointslices"
      ? published.slices.filter((slice) => isSliceOf(slice, service)).flatMap(readyInSlice)
      : (published.endpoints?.subsets.flatMap(readyInSubset) ?? []);
  const endpoints = new Map<string, StockEndpoint>();
  for (const { addresses, ports } of found) {
    for (const number of targetPorts(servicePort, ports)) {
      for (const address of addresses) {
        endpoints.set(endpointId({ address, port: number }), { address, port: number });
      }
    }
  }
  return [...endpoints.keys()].sort().flatMap((key) => endpoints.get(key) ?? []);
}

/** An Ingress may name a service's port by its number, its name or its target. */
function isNamed({ name, port, targetPort }: ServicePort, wanted: number | string): boolean {
  const text = String(wanted);
  return String(port) === text || String(targetPort) === text || name === text;
}

/** MatchByKey in store/endpointslice.go: a slice with another kind of name is not seen. */
function isSliceOf(slice: EndpointSlice, { metadata }: Service): boolean {
  return serviceNameOf(slice) === metadata.name && slice.metadata.name.startsWith(metadata.name);
}

interface PublishedPort {
  readonly name: string;
  readonly port: number | undefined;
  readonly protocol: string;
}

interface Ready {
  readonly addresses: readonly string[];
  readonly ports: readonly PublishedPort[];
}

function readyInSlice({ endpoints, ports }: EndpointSlice): readonly Ready[] {
  const ready = endpoints.filter((endpoint) => endpoint.ready !== false);
  return [{ addresses: ready.flatMap(({ addresses }) => addresses), ports }];
}

function readyInSubset({ addresses, ports }: Endpoints["subsets"][number]): readonly Ready[] {
  return [{ addresses: addresses.map(({ ip }) => ip), ports }];
}

/** A number as target stands in for ports that are absent or have another name. */
function targetPorts(
  { name, targetPort }: ServicePort,
  ports: readonly PublishedPort[],
): readonly number[] {
  const fallback = typeof targetPort === "number" ? targetPort : undefined;
  if (ports.length === 0) return fallback === undefined ? [] : [fallback];
  return ports
    .filter(({ protocol }) => protocol === "TCP")
    .map((one) => (name === "" || name === one.name ? one.port : undefined) ?? fallback)
    .filter((number) => number !== undefined);
}
