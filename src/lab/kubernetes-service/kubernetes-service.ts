// One API server's part in keeping the service `default/kubernetes`: every 10 s it sees to it that
// the service exists and that its Endpoints, and where the version has them its EndpointSlice, list
// this server. How that goes with other servers is the reconciler's rule. It talks to its own server
// as any client does, so its requests are logged, counted and slowed like all others.

import type { Klog } from "../../components/klog.ts";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Timers } from "../../environment/timers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import { endpointsGoText, endpointsText, type PrintedEndpoints } from "./endpoints-text.ts";
import type { MasterLeases } from "./master-leases.ts";
import {
  byLeases,
  byMasterCount,
  type Reconciliation,
  type ServicePort,
  type ServiceSubset,
  subsetsOf,
} from "./service-endpoints.ts";
import { ServiceObjects, serviceName } from "./service-objects.ts";
import type { KubernetesServiceRules, ReconcilerType } from "./versions.ts";

export interface KubernetesServiceOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** At the server's own address. */
  readonly client: KubeClient;
  readonly leases: MasterLeases;
  readonly klog: Klog;
  readonly rules: KubernetesServiceRules;
  readonly type: ReconcilerType;
  /** `--apiserver-count`; matters only to `master-count`. */
  readonly count: number;
  /** Where others reach this server. */
  readonly ip: string;
  readonly port: number;
  /** Until the first round: servers of one cluster are not started in the same instant. */
  readonly startDelayMs: number;
  /** Whether the server has EndpointSlices. */
  readonly hasSlices: boolean;
}

/** DefaultEndpointReconcilerInterval in pkg/controlplane/apiserver/config.go. */
export const reconcileEveryMs = 10_000;

/** The first address of the services' range, as the real server takes it. */
const clusterIp = "10.96.0.1";

const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";

export class KubernetesService {
  readonly #options: KubernetesServiceOptions;
  readonly #objects: ServiceObjects;
  readonly #ports: readonly ServicePort[];
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: KubernetesServiceOptions) {
    this.#options = options;
    this.#objects = new ServiceObjects(options);
    this.#ports = [{ name: "https", port: options.port, protocol: "TCP" }];
  }

  /** A second call does nothing. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Resolves when nothing of it goes on any more. Idempotent. */
  stop(): Promise<void> {
    this.#stopping.abort(new Error("the API server is stopping"));
    this.#stopped ??= this.#leave();
    return this.#stopped;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, timers, rules, startDelayMs } = this.#options;
    await timers.sleep(startDelayMs, signal).catch(() => undefined);
    let setPorts = rules.firstSetsPorts;
    while (!signal.aborted) {
      const begunAt = clock.monotonicMs();
      await this.#round({ setPorts });
      setPorts = false;
      const tookMs = elapsedMs(begunAt, clock.monotonicMs());
      const ahead = rules.spacing === "fixed" ? tookMs % reconcileEveryMs : 0;
      // Only the stop ends the sleep early, and the loop sees it.
      await timers.sleep(reconcileEveryMs - ahead, signal).catch(() => undefined);
    }
  }

  async #round(options: { readonly setPorts: boolean }): Promise<void> {
    const { klog, leases, rules, type, ip, port } = this.#options;
    try {
      await this.#objects.ensureService(clusterIp, port);
      if (type === "lease") await leases.renew(ip);
      await this.#reconcile(options);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      klog.write("E", rules.sources.failed, `unable to sync kubernetes service: ${textOf(error)}`);
    }
  }

  /**
   * A server with a lease takes itself off the list. One that counts tries and fails, as measured
   * with the real binaries: its address stays until another server displaces it.
   */
  async #leave(): Promise<void> {
    await this.#running;
    const { klog, leases, rules, type, ip } = this.#options;
    const { stopping, removalFailed } = rules.sources;
    if (stopping === undefined || this.#running === undefined) return;
    klog.write("I", stopping, "Shutting down kubernetes service endpoint reconciler");
    if (type !== "lease") return;
    try {
      await leases.remove(ip);
      await this.#reconcile({ setPorts: true });
    } catch (error) {
      klog.write("E", removalFailed, textOf(error));
    }
  }

  async #reconcile(options: { readonly setPorts: boolean }): Promise<void> {
    if (this.#options.type === "none") return;
    const current = await this.#objects.endpoints();
    const next = this.#labelled(current ?? newEndpoints());
    const before = subsetsOf(next);
    const wanted = await this.#wanted(before, options);
    const subsets = wanted?.subsets ?? before;
    if (wanted !== undefined || next !== current) {
      const printed = { metadata: recordAt(next, "metadata"), subsets };
      const how = current === undefined ? "create" : "update";
      this.#logReset(printed, { how, isRemade: wanted?.remade === true });
      await this.#objects.writeEndpoints(next, subsets, how);
    }
    if (this.#options.hasSlices) await this.#objects.ensureSlice(subsets);
  }

  /** What the Endpoints should list; undefined when they do. */
  async #wanted(
    subsets: readonly ServiceSubset[],
    options: { readonly setPorts: boolean },
  ): Promise<Reconciliation | undefined> {
    const { type, leases, rules, count, ip } = this.#options;
    const own = { ip, ports: this.#ports };
    if (type === "master-count") return byMasterCount(subsets, own, { ...options, count });
    const addresses = await leases.list();
    const mayBeEmpty = this.#stopping.signal.aborted && !rules.keepsLastAddress;
    if (addresses.length === 0 && !mayBeEmpty) throw new Error(rules.noLeases);
    return byLeases(subsets, addresses, own, options);
  }

  /** A server that counts says nothing of the first time, when there is nothing to reset. */
  #logReset(
    endpoints: PrintedEndpoints,
    { how, isRemade }: { readonly how: "create" | "update"; readonly isRemade: boolean },
  ): void {
    const { klog, rules, type } = this.#options;
    const { lease, remade, masterCount } = rules.sources;
    const reset = `Resetting endpoints for master service ${JSON.stringify(serviceName)} to `;
    if (type === "lease") {
      const addresses = endpoints.subsets.flatMap((subset) => subset.addresses);
      klog.write("W", lease, `${reset}[${addresses.join(" ")}]`);
    } else if (how === "update") {
      const text = isRemade ? endpointsGoText : endpointsText;
      klog.write("W", isRemade ? remade : masterCount, reset + text(endpoints, rules.printed));
    }
  }

  /** The same object when it has the label already, or the version knows none. */
  #labelled(endpoints: RawRecord): RawRecord {
    if (!this.#options.rules.skipMirrorLabel) return endpoints;
    const metadata = recordAt(endpoints, "metadata");
    const labels = recordAt(metadata, "labels");
    if (labels[skipMirrorLabel] === "true") return endpoints;
    return {
      ...endpoints,
      metadata: { ...metadata, labels: { ...labels, [skipMirrorLabel]: "true" } },
    };
  }
}

function newEndpoints(): RawRecord {
  const metadata = { name: serviceName, namespace: "default" };
  return { apiVersion: "v1", kind: "Endpoints", metadata };
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
