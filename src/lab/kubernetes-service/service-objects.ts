// The objects of `default/kubernetes` as an API server reads and writes them, over HTTP like any client:
// the Service, its Endpoints, and the EndpointSlice that the server copies from them.

import { isIpv6 } from "../../environment/ip-address.ts";
import {
  type KubeClient,
  type KubeRequest,
  type KubeResponse,
  parseJson,
  StatusError,
} from "../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";
import { sameJson } from "../../kube/kinds/same-json.ts";
import type { ServiceSubset } from "./service-endpoints.ts";

export const serviceName = "kubernetes";

const servicesPath = "/api/v1/namespaces/default/services";
export const endpointsPath = "/api/v1/namespaces/default/endpoints";
const slicesPath = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";

/** Twice the interval of the rounds: a stopping server gives up after this time. */
const requestDeadlineMs = 20_000;

/** DefaultAPIServerServicePort of the real server. */
const servicePort = 443;

export class ServiceObjects {
  readonly #client: KubeClient;

  constructor(options: { readonly client: KubeClient }) {
    this.#client = options.client;
  }

  async ensureService(clusterIp: string, targetPort: number): Promise<void> {
    if ((await this.#get(`${servicesPath}/${serviceName}`)) !== undefined) return;
    const labels = { component: "apiserver", provider: "kubernetes" };
    await this.#create(servicesPath, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: serviceName, namespace: "default", labels },
      spec: {
        type: "ClusterIP",
        clusterIP: clusterIp,
        sessionAffinity: "None",
        ports: [{ name: "https", protocol: "TCP", port: servicePort, targetPort }],
      },
    });
  }

  /** Undefined when there are none. */
  endpoints(): Promise<RawRecord | undefined> {
    return this.#get(`${endpointsPath}/${serviceName}`);
  }

  /** With the version it was read at, if it was: a conflict rejects. */
  async writeEndpoints(
    endpoints: RawRecord,
    subsets: readonly ServiceSubset[],
    how: "create" | "update",
  ): Promise<void> {
    const body = { ...endpoints, subsets: subsets.map(rawSubset) };
    if (how === "create") await this.#create(endpointsPath, body);
    else await this.#put(`${endpointsPath}/${serviceName}`, body);
  }

  /** EnsureEndpointSliceFromEndpoints: a copy of the first subset. */
  async ensureSlice(subsets: readonly ServiceSubset[]): Promise<void> {
    const wanted = sliceOf(subsets[0]);
    const current = await this.#get(`${slicesPath}/${serviceName}`);
    if (current === undefined) {
      await this.#create(slicesPath, wanted);
      return;
    }
    const isSame = ["endpoints", "ports"].every((field) => sameJson(current[field], wanted[field]));
    if (isSame) return;
    const metadata = { ...recordAt(wanted, "metadata"), ...recordAt(current, "metadata") };
    await this.#put(`${slicesPath}/${serviceName}`, { ...wanted, metadata });
  }

  async #get(path: string): Promise<RawRecord | undefined> {
    try {
      return objectRecord(parseJson(await this.#request({ verb: "get", method: "GET", path })));
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  /** Another server may have created it already; the next round compares. */
  async #create(path: string, body: object): Promise<void> {
    try {
      await this.#request({ verb: "create", method: "POST", path, body });
    } catch (error) {
      if (!(error instanceof StatusError && error.reason === "AlreadyExists")) throw error;
    }
  }

  async #put(path: string, body: object): Promise<void> {
    await this.#request({ verb: "update", method: "PUT", path, body });
  }

  #request(request: Omit<KubeRequest, "deadlineMs">): Promise<KubeResponse> {
    return this.#client.request({ ...request, deadlineMs: requestDeadlineMs });
  }
}

function rawSubset({ addresses, ports }: ServiceSubset): object {
  return { addresses: addresses.map((ip) => ({ ip })), ports };
}

function sliceOf(subset: ServiceSubset | undefined): RawRecord {
  const addresses = subset?.addresses ?? [];
  const isV6 = addresses.length > 0 && addresses.every(isIpv6);
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: serviceName,
      namespace: "default",
      labels: { "kubernetes.io/service-name": serviceName },
    },
    addressType: isV6 ? "IPv6" : "IPv4",
    endpoints: addresses.map((ip) => ({ addresses: [ip], conditions: { ready: true } })),
    ports: (subset?.ports ?? []).map(({ name, port, protocol }) => ({ name, protocol, port })),
  };
}
