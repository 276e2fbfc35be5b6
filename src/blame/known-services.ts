// Facts about services: their selectors, external names and own addresses. Deleted services stay,
// because requests to them may have to be explained.
import {
  isRecord,
  optionalBoolean,
  type RawRecord,
  recordAt,
  stringMapAt,
  stringsAt,
} from "../kube/kinds/fields.ts";
import type { StringMap } from "../kube/kinds/intern.ts";
import { optionalName, requiredName } from "../recording/metadata-text.ts";

interface ServiceFacts {
  /** Undefined without one, or where only its endpoints are known. */
  readonly selector: StringMap | undefined;
  /** The name outside the cluster that it refers to. */
  readonly externalName: string | undefined;
  /** It lists pods whether they are ready or not. */
  readonly publishesUnready: boolean;
}

const nothingKnown: ServiceFacts = {
  selector: undefined,
  externalName: undefined,
  publishesUnready: false,
};

/** One of each family, with room. */
const addressesMax = 8;

/** Ten times what the largest clusters have. */
const servicesMax = 100_000;

/** Services are named `namespace/name`. Those beyond the limit are left out and counted. */
export class KnownServices {
  /** By name and cluster. */
  readonly #services = new Map<string, Map<string, ServiceFacts>>();
  /** By the addresses that stand for them, which are no pod's. */
  readonly #byAddress = new Map<string, string>();
  #dropped = 0;

  get dropped(): number {
    return this.#dropped;
  }

  get size(): number {
    return this.#services.size;
  }

  /** Throws `MalformedObjectError`. */
  see(cluster: string, object: RawRecord): void {
    const metadata = recordAt(object, "metadata");
    const spec = recordAt(object, "spec");
    const service = `${optionalName(metadata, "namespace") ?? ""}/${requiredName(metadata, "name")}`;
    this.#note(cluster, service, {
      selector: isRecord(spec["selector"]) ? stringMapAt(spec, "selector") : undefined,
      externalName: optionalName(spec, "externalName"),
      publishesUnready: optionalBoolean(spec, "publishNotReadyAddresses") ?? false,
    });
    const listed = stringsAt(spec, "clusterIPs").slice(0, addressesMax);
    const own = [optionalName(spec, "clusterIP") ?? "", ...listed];
    for (const address of own) {
      const isAddress = address !== "" && address !== "None";
      if (isAddress && this.#services.has(service)) this.#byAddress.set(address, service);
    }
  }

  /** Only that there is one, by its endpoints. */
  hear(cluster: string, service: string): void {
    this.#note(cluster, service, this.#services.get(service)?.get(cluster) ?? nothingKnown);
  }

  /** Whether any cluster has or had a service of that name. */
  has(service: string): boolean {
    return this.#services.has(service);
  }

  /** The clusters that have or had this service. */
  clustersOf(service: string): readonly string[] {
    return [...(this.#services.get(service)?.keys() ?? [])];
  }

  /** Which pods it selects in the cluster, where that is known. */
  selector(service: string, cluster: string): StringMap | undefined {
    return this.#services.get(service)?.get(cluster)?.selector;
  }

  /** The name outside the cluster that it stands for, where it is such a one. */
  externalName(service: string): string | undefined {
    return this.#factsOf(service).find(({ externalName }) => externalName)?.externalName;
  }

  /** Whether it lists pods that are not ready, in any cluster. */
  publishesUnready(service: string): boolean {
    return this.#factsOf(service).some(({ publishesUnready }) => publishesUnready);
  }

  /** The service that owns the address; the node chose the endpoint of a request to it. */
  at(address: string): string | undefined {
    return this.#byAddress.get(address);
  }

  #factsOf(service: string): readonly ServiceFacts[] {
    return [...(this.#services.get(service)?.values() ?? [])];
  }

  #note(cluster: string, service: string, facts: ServiceFacts): void {
    if (!this.#services.has(service) && this.#services.size >= servicesMax) {
      this.#dropped += 1;
      return;
    }
    const known = this.#services.get(service) ?? new Map<string, ServiceFacts>();
    known.set(cluster, facts);
    this.#services.set(service, known);
  }
}
