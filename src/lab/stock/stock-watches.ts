// The watches of stock: Ingresses, Services, and the published endpoints; no pods and no nodes. From these
// the whole configuration is built at every sync.
import type { Registry } from "prom-client";
import type { Environment } from "../../environment/environment.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import {
  type EndpointSlice,
  endpointSliceKind,
  serviceNameOf,
} from "../../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../../kube/kinds/endpoints.ts";
import { type Ingress, ingressKind } from "../../kube/kinds/ingress.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import { type Service, serviceKind } from "../../kube/kinds/service.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import type { Change } from "../../kube/store/store-change.ts";
import { endpointsOf, type Published } from "./stock-backends.ts";
import type { StockBackend, StockConfiguration } from "./stock-configuration.ts";
import { type BackendReference, routesOf } from "./stock-servers.ts";

export interface StockWatchesOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Endpoints were read up to v1.3, EndpointSlices since. */
  readonly published: Published["form"];
  /** The class whose Ingresses are served; all of them when absent. */
  readonly ingressClass?: string;
  /** Called synchronously: a sync is due. */
  readonly onChange: () => void;
  readonly metrics?: Registry;
}

type PublishedReflector =
  | { readonly form: "endpointslices"; readonly reflector: Reflector<EndpointSlice, "service"> }
  | { readonly form: "endpoints"; readonly reflector: Reflector<Endpoints> };

/** The older way to name a class, which ingress-nginx still reads. */
const classAnnotation = "kubernetes.io/ingress.class";

export class StockWatches {
  readonly #options: StockWatchesOptions;
  readonly #ingresses: Reflector<Ingress>;
  readonly #services: Reflector<Service>;
  readonly #published: PublishedReflector;

  constructor(options: StockWatchesOptions) {
    this.#options = options;
    const all = { ...options, checks: noChecks, indexes: {}, handlers: [() => options.onChange()] };
    this.#ingresses = new Reflector({ ...all, kind: ingressKind });
    this.#services = new Reflector({ ...all, kind: serviceKind });
    this.#published = publishedReflector(options);
  }

  start(): void {
    for (const reflector of this.#all()) reflector.start();
  }

  async waitForSync(signal: AbortSignal): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.waitForSync(signal)));
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#all().map((reflector) => reflector.stop()));
  }

  /** The desired configuration, from everything that is known now. */
  configuration(): StockConfiguration {
    const { servers, references } = routesOf(this.ingresses());
    return { servers, backends: references.map((reference) => this.#backend(reference)) };
  }

  /** Those of its class. */
  ingresses(): readonly Ingress[] {
    return this.#ingresses.store.snapshot().filter((ingress) => this.#isServed(ingress));
  }

  #isServed({ ingressClassName, annotations }: Ingress): boolean {
    const { ingressClass } = this.#options;
    if (ingressClass === undefined) return true;
    return (ingressClassName ?? annotations[classAnnotation]) === ingressClass;
  }

  /** A service that does not exist has no endpoints, which is answered with 503. */
  #backend({ name, namespace, service: serviceName, port }: BackendReference): StockBackend {
    const service = this.#services.store.get(namespace, serviceName);
    if (service === undefined) return { name, endpoints: [] };
    return { name, endpoints: endpointsOf(service, port, this.#publishedOf(service)) };
  }

  #publishedOf({ metadata: { namespace, name } }: Service): Published {
    const { form, reflector } = this.#published;
    return form === "endpointslices"
      ? { form, slices: [...reflector.store.byIndex("service", `${namespace}/${name}`)] }
      : { form, endpoints: reflector.store.get(namespace, name) };
  }

  #all(): readonly Pick<Reflector<Projected>, "start" | "stop" | "waitForSync">[] {
    return [this.#ingresses, this.#services, this.#published.reflector];
  }
}

/** A change of anything but the endpoints themselves goes unnoticed (epsEventHandler in store.go). */
function publishedReflector(options: StockWatchesOptions): PublishedReflector {
  const hearing =
    <T extends Projected>(part: (object: T) => unknown) =>
    (change: Change<T>): void => {
      const isSame =
        change.type === "updated" &&
        JSON.stringify(part(change.previous)) === JSON.stringify(part(change.object));
      if (!isSame) options.onChange();
    };
  if (options.published === "endpoints") {
    const handlers = [hearing<Endpoints>(({ subsets }) => subsets)];
    const all = { ...options, checks: noChecks };
    const reflector = new Reflector({ ...all, kind: endpointsKind, indexes: {}, handlers });
    return { form: "endpoints", reflector };
  }
  const reflector = new Reflector({
    ...options,
    checks: noChecks,
    kind: endpointSliceKind,
    indexes: {
      service: (slice) => `${slice.metadata.namespace}/${serviceNameOf(slice) ?? ""}`,
    },
    handlers: [hearing<EndpointSlice>(({ endpoints }) => endpoints)],
  });
  return { form: "endpointslices", reflector };
}
