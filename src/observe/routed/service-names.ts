// Which service each of a proxy's backends leads to: by its name where that names a service, and else
// by the pods that it leads to. The answer stays the same while the backend exists: a list of
// services that is missing for a while must not look like a change of routes.
import type { IsService } from "../../access-log/backend-name.ts";
import type { RoutedEndpoint } from "../routed-witness.ts";
import type { Backend, Backends } from "./polled-format.ts";

/** The services as the clusters have them. */
export interface KnownServices {
  /** Says which service is meant by a name that could mean several. */
  readonly isService?: IsService | undefined;
  /** Whether it is the address of the service itself: then the proxy follows no pods. */
  readonly isServiceAddress?: ((service: string, address: string) => boolean) | undefined;
  /** The services that have this endpoint. */
  readonly servicesAt?: ((endpoint: RoutedEndpoint) => readonly string[]) | undefined;
}

export interface ServiceNamesOptions extends KnownServices {
  readonly servicesNamed: (backend: string) => readonly string[];
}

export class ServiceNames {
  readonly #options: ServiceNamesOptions;
  #services: ReadonlyMap<string, string> = new Map();
  #ambiguous: readonly string[] = [];

  constructor(options: ServiceNamesOptions) {
    this.#options = options;
  }

  /** By backend. */
  get services(): ReadonlyMap<string, string> {
    return this.#services;
  }

  /** Backends that could lead to several services, and so count for none. */
  get ambiguous(): readonly string[] {
    return this.#ambiguous;
  }

  /** Whether a backend that had no service has one now, or one is gone. */
  learn(backends: Backends): boolean {
    const named = new Map<string, string>();
    const ambiguous: string[] = [];
    let isNew = false;
    for (const [name, backend] of backends) {
      const known = this.#services.get(name);
      const meant = known === undefined ? this.#meant(name, backend) : [known];
      const [service] = meant;
      if (meant.length > 1) ambiguous.push(name);
      else if (service !== undefined && !this.#isOwn(service, backend)) named.set(name, service);
      isNew ||= known === undefined && named.has(name);
    }
    const isOther = isNew || named.size !== this.#services.size;
    this.#services = named;
    this.#ambiguous = ambiguous;
    return isOther;
  }

  #isOwn(service: string, { endpoints }: Backend): boolean {
    const { isServiceAddress } = this.#options;
    return endpoints.some(({ address }) => isServiceAddress?.(service, address) === true);
  }

  /** Its pods decide between the services that the name can mean, or name one when it means none. */
  #meant(name: string, { alias, endpoints }: Backend): readonly string[] {
    const { servicesNamed, isService, servicesAt } = this.#options;
    const named = servicesNamed(alias ?? name);
    const existing = isService === undefined ? named : named.filter((one) => isService(one));
    if (existing.length === 1 || servicesAt === undefined) return existing;
    const found = new Set(endpoints.flatMap((one) => servicesAt(one)));
    if (existing.length === 0) return [...found];
    const both = existing.filter((one) => found.has(one));
    return both.length === 0 ? existing : both;
  }
}
