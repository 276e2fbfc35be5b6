// The services that ServiceImports stand for, as sources of snapshots. Such a service is in the clusters
// that export it, with the ports of the ServiceImport. If none of the watched clusters exports it, its
// endpoints are those of the slices that a controller of the Multi-Cluster Services API wrote beside it.
import { isRecord } from "../kube/kinds/fields.ts";
import type { Projected } from "../kube/kinds/kind.ts";
import type { Service, ServicePort } from "../kube/kinds/service.ts";
import type { ServiceImport } from "../kube/kinds/service-import.ts";
import type { ClusterSource } from "../sources/cluster-source.ts";
import type { PublishedObjects } from "../sources/published-watch.ts";
import type { ServiceExports } from "../sources/service-exports.ts";
import type { ServiceImports } from "../sources/service-imports.ts";
import type { SnapshotSource } from "./service-snapshot.ts";

export interface ImportedServicesOptions {
  readonly imports: Pick<ServiceImports, "get" | "isAbsent" | "settled">;
  /** Where the ServiceImports are. */
  readonly accessCluster: string;
  readonly clusters: readonly ExportingCluster[];
}

export interface ExportingCluster {
  readonly source: SnapshotSource & Pick<ClusterSource, "importedOf">;
  readonly exports: Pick<ServiceExports, "isExported" | "settled">;
}

/** As far as routes depend on it. */
export interface ImportedService {
  readonly isThere: boolean;
  /** By port. */
  readonly appProtocols: ReadonlyMap<number, string> | undefined;
}

export class ImportedServices {
  /** Each knows only imported services. */
  readonly sources: readonly SnapshotSource[];
  readonly #options: ImportedServicesOptions;

  constructor(options: ImportedServicesOptions) {
    this.#options = options;
    this.sources = options.clusters.map((one) => new ImportedInCluster(one, options));
  }

  /** Undefined where the cluster has no ServiceImports. One that is not listed yet may be there. */
  find(namespace: string, name: string): ImportedService | undefined {
    const { imports } = this.#options;
    if (imports.isAbsent) return undefined;
    const found = imports.get(namespace, name);
    if (found === undefined) return { isThere: !imports.settled, appProtocols: undefined };
    const appProtocols = new Map<number, string>();
    for (const { port, protocol, appProtocol } of portsOf(found)) {
      if (appProtocol !== undefined && protocol === "TCP") appProtocols.set(port, appProtocol);
    }
    return { isThere: true, appProtocols };
  }
}

class ImportedInCluster implements SnapshotSource {
  readonly #cluster: ExportingCluster;
  readonly #options: ImportedServicesOptions;
  /** Of each service that is shown, the object that it was made of. */
  readonly #origins = new WeakMap<Projected, Projected>();

  constructor(cluster: ExportingCluster, options: ImportedServicesOptions) {
    this.#cluster = cluster;
    this.#options = options;
  }

  get cluster(): string {
    return this.#cluster.source.cluster;
  }

  get isListed(): boolean {
    return this.#cluster.source.isListed && this.#cluster.exports.settled;
  }

  get isUnreachable(): boolean {
    return this.#cluster.source.isUnreachable;
  }

  service(namespace: string, name: string): Service | undefined {
    const found = this.#options.imports.get(namespace, name);
    if (found === undefined) return undefined;
    if (this.#hasSlices(namespace, name)) return this.#shown(importAsService(found), found);
    const { source, exports } = this.#cluster;
    if (exports.isExported(namespace, name) !== true) return undefined;
    const service = source.service(namespace, name);
    // The API cannot export an external name.
    if (service === undefined || service.type === "ExternalName") return undefined;
    return this.#shown({ ...service, ports: importedPorts(service, found) }, service);
  }

  publishedOf(namespace: string, name: string): PublishedObjects {
    const { source } = this.#cluster;
    const hasSlices = this.#hasSlices(namespace, name);
    return hasSlices ? source.importedOf(namespace, name) : source.publishedOf(namespace, name);
  }

  podsOf(service: Service) {
    return this.#cluster.source.podsOf(service);
  }

  pod(namespace: string, name: string) {
    return this.#cluster.source.pod(namespace, name);
  }

  departed(uid: string) {
    return this.#cluster.source.departed(uid);
  }

  claimantsAt(address: string, uid: string) {
    return this.#cluster.source.claimantsAt(address, uid);
  }

  watch(...[name]: Parameters<SnapshotSource["watch"]>) {
    return this.#cluster.source.watch(name);
  }

  seenAtMs(object: Projected) {
    return this.#cluster.source.seenAtMs(this.#origins.get(object) ?? object);
  }

  /** Whether the endpoints are those of slices: it is known that no watched cluster exports this. */
  #hasSlices(namespace: string, name: string): boolean {
    const { accessCluster, clusters } = this.#options;
    if (this.cluster !== accessCluster) return false;
    const isExported = clusters.some(
      ({ exports }) => !exports.settled || exports.isExported(namespace, name) === true,
    );
    return !isExported && this.#cluster.source.importedOf(namespace, name).slices.length > 0;
  }

  #shown(service: Service, origin: Projected): Service {
    this.#origins.set(service, origin);
    return service;
  }
}

type ImportPort = Omit<ServicePort, "targetPort">;

/** It has no selector: another controller publishes its endpoints. */
function importAsService(found: ServiceImport): Service {
  const { metadata, annotations, spec } = found;
  return {
    metadata,
    annotations,
    type: "ClusterIP",
    clusterIP: "None",
    clusterIPs: [],
    ipFamilies: listOf(spec["ipFamilies"]).filter((one) => typeof one === "string"),
    externalName: undefined,
    selector: undefined,
    ports: portsOf(found).map((one) => ({ ...one, targetPort: one.port })),
    publishNotReadyAddresses: false,
    sessionAffinity: "None",
  };
}

/** Ports of the clusters belong together by name; routes name the number in the ServiceImport. */
function importedPorts({ ports }: Service, found: ServiceImport): readonly ServicePort[] {
  return portsOf(found).flatMap(({ name, port, protocol }) => {
    const own = ports.find((one) => one.name === name && one.protocol === protocol);
    return own === undefined ? [] : [{ ...own, port }];
  });
}

/** Others can write the object, under a definition that checks nothing: an odd port is left out. */
function portsOf({ spec }: ServiceImport): readonly ImportPort[] {
  return listOf(spec["ports"]).flatMap((one) => {
    const { name = "", port, protocol = "TCP", appProtocol } = isRecord(one) ? one : {};
    const isPort =
      typeof name === "string" && typeof port === "number" && typeof protocol === "string";
    if (!isPort) return [];
    const asked = typeof appProtocol === "string" ? appProtocol : undefined;
    return [{ name, port, protocol, appProtocol: asked }];
  });
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
