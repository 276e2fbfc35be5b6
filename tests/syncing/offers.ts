// Offers and targets in few words, and an access cluster that carries out a plan's writes as an API
// server would.

import { syncNames } from "../../src/decide/syncing/copy-names.ts";
import type { CopyForm } from "../../src/decide/syncing/plan-endpoints.ts";
import type { SyncInput, TargetState } from "../../src/decide/syncing/plan-sync.ts";
import { planSync } from "../../src/decide/syncing/plan-sync.ts";
import type { ServiceOffer } from "../../src/decide/syncing/service-offer.ts";
import type { SyncWrite } from "../../src/decide/syncing/sync-write.ts";
import type { SyncedEndpoint } from "../../src/decide/syncing/synced-endpoint.ts";
import type { MonotonicMs, WallMs } from "../../src/environment/clock.ts";
import { type EndpointSlice, endpointSliceKind } from "../../src/kube/kinds/endpoint-slice.ts";
import { endpointsKind } from "../../src/kube/kinds/endpoints.ts";
import { isRecord, type RawRecord, recordAt } from "../../src/kube/kinds/fields.ts";
import { type Namespace, namespaceKind } from "../../src/kube/kinds/namespace.ts";
import { type Service, serviceKind } from "../../src/kube/kinds/service.ts";

export const httpPort = { name: "http", port: 8080, protocol: "TCP", appProtocol: undefined };

export const originTime = Date.parse("2026-01-02T03:04:05.678Z") as WallMs;

export function endpoint(address: string, fields: Partial<SyncedEndpoint> = {}): SyncedEndpoint {
  return {
    addressType: "IPv4",
    address,
    ports: [httpPort],
    ready: true,
    serving: true,
    terminating: false,
    hostname: undefined,
    zone: undefined,
    nodeName: undefined,
    targetRef: undefined,
    ...fields,
  };
}

export function sourceService(fields: { labels?: object; spec?: object } = {}): Service {
  return serviceKind.project({
    metadata: {
      namespace: "shop",
      name: "web",
      uid: "web-uid",
      resourceVersion: "7",
      labels: fields.labels,
    },
    spec: {
      clusterIP: "10.0.0.1",
      selector: { app: "web" },
      ports: [{ name: "http", port: 80, targetPort: "web" }],
      ...fields.spec,
    },
  });
}

/** A cluster that offers shop/web with these endpoints. */
export function offer(
  cluster: string,
  endpoints: readonly SyncedEndpoint[],
  service: Service = sourceService(),
): ServiceOffer {
  const changedAt = { origin: originTime, readAt: originTime, seenAtMs: 1000 as MonotonicMs };
  return { cluster, isKnown: true, service, endpoints, changedAt, version: "web@7" };
}

export function silent(cluster: string, isKnown: boolean): ServiceOffer {
  const nothing = { service: undefined, changedAt: undefined, version: undefined };
  return { cluster, isKnown, endpoints: [], ...nothing };
}

/** Holds objects as an API server does, and refuses what one would refuse. */
export class PretendedTarget {
  readonly objects = new Map<string, RawRecord>();
  form: CopyForm = "slices";
  #version = 100;

  constructor(...namespaces: readonly string[]) {
    for (const name of namespaces) this.put("Namespace", "", name, { metadata: { name } });
  }

  put(kind: SyncWrite["kind"], namespace: string, name: string, object: RawRecord): void {
    this.#version += 1;
    const resourceVersion = String(this.#version);
    const known = this.objects.get(`${kind} ${namespace}/${name}`);
    const uid = known === undefined ? `uid-${resourceVersion}` : recordAt(known, "metadata")["uid"];
    const metadata = { ...recordAt(object, "metadata"), namespace, name, uid, resourceVersion };
    this.objects.set(`${kind} ${namespace}/${name}`, { ...object, metadata });
  }

  apply(write: SyncWrite): void {
    const { kind, namespace, name } = write;
    const known = this.objects.get(`${kind} ${namespace}/${name}`);
    if (write.type === "create") {
      if (known !== undefined) throw new Error(`${kind} ${name} exists`);
      this.put(kind, namespace, name, write.object);
      return;
    }
    if (known === undefined) throw new Error(`${kind} ${name} does not exist`);
    const { uid, resourceVersion } = recordAt(known, "metadata");
    if (resourceVersion !== write.resourceVersion) throw new Error(`${kind} ${name} has changed`);
    if (write.type === "delete") {
      if (uid !== write.uid) throw new Error(`${kind} ${name} is another`);
      this.objects.delete(`${kind} ${namespace}/${name}`);
      return;
    }
    const next = merged(known, write.patch);
    if (JSON.stringify(next) === JSON.stringify(known)) throw new Error(`${name}: nothing new`);
    this.put(kind, namespace, name, isRecord(next) ? next : {});
  }

  /** The present objects of shop/web. */
  state(): TargetState {
    const slices = this.#all("EndpointSlice").map((raw) => endpointSliceKind.project(raw));
    return {
      namespace: this.#all("Namespace").map((raw): Namespace => namespaceKind.project(raw))[0],
      service: this.#all("Service").map((raw): Service => serviceKind.project(raw))[0],
      slices: slices.filter(isOfWeb),
      endpoints: this.#all("Endpoints").map((raw) => endpointsKind.project(raw))[0],
      form: this.form,
      isTaken: (name) => this.objects.has(`EndpointSlice shop/${name}`),
    };
  }

  plan(offers: readonly ServiceOffer[], fields: Partial<SyncInput["policy"]> = {}) {
    const policy = { createNamespaces: false, names: syncNames, ...fields };
    return planSync({ namespace: "shop", name: "web", offers, target: this.state(), policy });
  }

  /** Plans, writes, and returns the writes. */
  sync(...offers: readonly ServiceOffer[]): readonly SyncWrite[] {
    const { writes } = this.plan(offers);
    for (const write of writes) this.apply(write);
    return writes;
  }

  #all(kind: SyncWrite["kind"]): readonly RawRecord[] {
    return [...this.objects].flatMap(([key, raw]) => (key.startsWith(`${kind} `) ? [raw] : []));
  }
}

function isOfWeb({ metadata }: EndpointSlice): boolean {
  return metadata.labels["kubernetes.io/service-name"] === "web";
}

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const result: Record<string, unknown> = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}
