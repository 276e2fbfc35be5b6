// Reports when a change of a pod is published: a watch of Endpoints, or of EndpointSlices where the version
// has them, like that of every ingress and proxy. Only timed services are watched.
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type EndpointSlice, endpointSliceKind } from "../../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../../kube/kinds/endpoints.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import { probedLabel } from "./population.ts";

export interface PublishedWatchOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly form: "endpoints" | "slices";
  /** An address was published as ready or as not, for the first time or again. */
  readonly onPublished: (address: string, isReady: boolean, nodeName: string) => void;
}

export class PublishedWatch {
  readonly #reflector: Pick<Reflector<Endpoints>, "start" | "stop" | "waitForSync">;

  constructor(options: PublishedWatchOptions) {
    const { form, onPublished } = options;
    const shared = {
      ...options,
      cluster: "whatif",
      labelSelector: `${probedLabel.name}=${probedLabel.value}`,
      indexes: {},
      checks: noChecks,
    };
    this.#reflector =
      form === "endpoints"
        ? new Reflector({
            ...shared,
            kind: endpointsKind,
            handlers: [({ object }) => tellEndpoints(object, onPublished)],
          })
        : new Reflector({
            ...shared,
            kind: endpointSliceKind,
            handlers: [({ object }) => tellSlice(object, onPublished)],
          });
  }

  async start(): Promise<void> {
    this.#reflector.start();
    await this.#reflector.waitForSync();
  }

  async stop(): Promise<void> {
    await this.#reflector.stop();
  }
}

function tellEndpoints(
  { subsets }: Endpoints,
  onPublished: PublishedWatchOptions["onPublished"],
): void {
  for (const { addresses, notReadyAddresses } of subsets) {
    for (const { ip, nodeName = "" } of addresses) onPublished(ip, true, nodeName);
    for (const { ip, nodeName = "" } of notReadyAddresses) onPublished(ip, false, nodeName);
  }
}

function tellSlice(
  { endpoints }: EndpointSlice,
  onPublished: PublishedWatchOptions["onPublished"],
): void {
  for (const { addresses, ready, nodeName = "" } of endpoints) {
    for (const address of addresses) onPublished(address, ready !== false, nodeName);
  }
}
