// Limits the observation to some namespaces or services, or passes everything. Reports about other
// services are dropped, so a proxy may report everything it has.

import { splitObjectKey } from "../kube/kinds/kind.ts";
import type { Observation, ObservationSink } from "../timeline/observation.ts";
import type { FollowedService, UnfollowedService, Witness } from "../timeline/witness.ts";

export interface ServiceBounds {
  /** All when absent. */
  readonly namespaces?: readonly string[] | undefined;
  /** `namespace/name` each; all when absent. */
  readonly services?: readonly string[] | undefined;
}

export class ServiceFilter implements ObservationSink {
  readonly #sink: ObservationSink;
  readonly #bounds: {
    readonly namespaces?: ReadonlySet<string>;
    readonly services?: ReadonlySet<string>;
  };

  constructor(sink: ObservationSink, { namespaces, services }: ServiceBounds) {
    this.#sink = sink;
    this.#bounds = {
      ...(namespaces !== undefined && { namespaces: new Set(namespaces) }),
      ...(services !== undefined && { services: new Set(services) }),
    };
  }

  /** Whether the service, `namespace/name`, is observed. */
  has(service: string): boolean {
    const { namespaces, services } = this.#bounds;
    return (
      (namespaces?.has(splitObjectKey(service).namespace) ?? true) &&
      (services?.has(service) ?? true)
    );
  }

  report(report: Observation): void {
    if (this.has(report.endpoint.service)) this.#sink.report(report);
  }

  follow(witness: Witness, service: FollowedService): void {
    if (this.has(service.service)) this.#sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    if (this.has(service.service)) this.#sink.unfollow(witness, service);
  }
}

/** The namespaces to watch: those asked for, or those of the services asked for, or all. */
export function watchedNamespaces(bounds: ServiceBounds): readonly string[] | undefined {
  const { namespaces, services } = bounds;
  const ofServices = services?.map((service) => splitObjectKey(service).namespace);
  const asked = namespaces ?? ofServices;
  if (asked === undefined) return undefined;
  const needed = ofServices === undefined ? asked : asked.filter((one) => ofServices.includes(one));
  return [...new Set(needed)];
}
