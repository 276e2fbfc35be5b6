// The reconciler of one API server for the service `default/kubernetes`. Every 10 s it makes sure that
// the service exists and that its Endpoints list this server; so does its EndpointSlice where the
// version has slices. The type of the reconciler decides about the addresses of other servers. Its
// requests go to its own server over HTTP, so they are logged, counted and delayed like all others.

import type { User } from "../../apiserver/http/authentication.ts";
import type { Storage } from "../../apiserver/storage/storage.ts";
import type { Klog } from "../../components/klog.ts";
import { type Clock, elapsedMs } from "../../environment/clock.ts";
import type { Environment } from "../../environment/environment.ts";
import { NetworkError } from "../../environment/network.ts";
import { randomBetween } from "../../environment/random.ts";
import type { Timers } from "../../environment/timers.ts";
import type { KubeClient } from "../../kube/client/client.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import { type RawRecord, recordAt } from "../../kube/kinds/fields.ts";
import { type ProfileName, profileNamed, userAgentOf } from "../versions/profiles.ts";
import { endpointsGoText, endpointsText, type PrintedEndpoints } from "./endpoints-text.ts";
import type { KubernetesServiceRules, ReconcilerType } from "./kubernetes-service-rules.ts";
import { MasterLeases, MissingLeaseError } from "./master-leases.ts";
import {
  byLeases,
  byMasterCount,
  type Reconciliation,
  type ServicePort,
  type ServiceSubset,
  subsetsOf,
  withoutAddress,
} from "./service-endpoints.ts";
import { endpointsPath, ServiceObjects, serviceName } from "./service-objects.ts";

/** Flags of kube-apiserver; the defaults of the version unless given. */
export interface KubernetesServiceFlags {
  /** `--endpoint-reconciler-type`. */
  readonly reconcilerType?: ReconcilerType;
  /** `--apiserver-count`. */
  readonly apiserverCount?: number;
}

export interface KubernetesServiceOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "network" | "log"> {
  readonly storage: Storage;
  readonly klog: Klog;
  readonly profile: ProfileName;
  readonly flags: KubernetesServiceFlags;
  /** Of the server: `https://127.0.0.1:6443`. */
  readonly url: string;
  /** Of `loopbackUser`. */
  readonly token: string;
  /** `spread` delays the first round at random, for servers that the lab starts all at once. */
  readonly begins: "at-once" | "spread";
}

/** The user that a server is to itself, as in the real one. */
export const loopbackUser: User = { name: "system:apiserver", groups: ["system:masters"] };

/** MasterCount in cmd/kube-apiserver/app/options/options.go. */
const defaultApiserverCount = 1;

export function startKubernetesServiceReconciler(
  options: KubernetesServiceOptions,
): KubernetesServiceReconciler {
  const { storage, clock, random, profile, flags, url, token } = options;
  const { hostname, port } = new URL(url);
  const rules = profileNamed(profile).kubernetesService;
  // A server need not verify its own certificate.
  const tls = url.startsWith("https:") ? { insecureSkipVerify: true } : {};
  const cluster = fixedAccess({ name: url, server: url, token, tls });
  const userAgent = userAgentOf("kube-apiserver", profileNamed(profile));
  const reconciler = new KubernetesServiceReconciler({
    ...options,
    client: new HttpKubeClient({ ...options, cluster, userAgent }),
    leases: new MasterLeases({ storage, clock }),
    rules,
    type: flags.reconcilerType ?? rules.defaultType,
    count: flags.apiserverCount ?? defaultApiserverCount,
    ip: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port),
    startDelayMs: options.begins === "at-once" ? 0 : randomBetween(random, 0, reconcileEveryMs),
    hasSlices: profileNamed(profile).endpointSlices !== undefined,
  });
  reconciler.start();
  return reconciler;
}

interface ReconcilerOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  /** At the server's own address. */
  readonly client: KubeClient;
  readonly leases: MasterLeases;
  readonly klog: Klog;
  readonly rules: KubernetesServiceRules;
  readonly type: ReconcilerType;
  /** `--apiserver-count`; only `master-count` uses it. */
  readonly count: number;
  /** The address at which clients reach this server. */
  readonly ip: string;
  readonly port: number;
  /** Until the first round. */
  readonly startDelayMs: number;
  /** Whether the server has EndpointSlices. */
  readonly hasSlices: boolean;
}

/** DefaultEndpointReconcilerInterval in pkg/controlplane/apiserver/config.go. */
export const reconcileEveryMs = 10_000;

/** The first address of the services' range, as the real server takes it. */
const clusterIp = "10.96.0.1";

const skipMirrorLabel = "endpointslice.kubernetes.io/skip-mirror";

export class KubernetesServiceReconciler {
  readonly #options: ReconcilerOptions;
  readonly #objects: ServiceObjects;
  readonly #ports: readonly ServicePort[];
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #stopped: Promise<void> | undefined;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.#objects = new ServiceObjects(options);
    this.#ports = [{ name: "https", port: options.port, protocol: "TCP" }];
  }

  /** A second call does nothing. */
  start(): void {
    this.#running ??= this.#run(this.#stopping.signal);
  }

  /** Resolves after the last request. Idempotent. */
  stop(): Promise<void> {
    this.#stopping.abort(new Error("the API server is stopping"));
    this.#stopped ??= this.#leave();
    return this.#stopped;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, timers, rules, startDelayMs } = this.#options;
    await timers.sleep(startDelayMs, signal).catch(() => undefined);
    if (!signal.aborted) await this.#removeStale();
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
      const text = `unable to sync kubernetes service: ${this.#textOf(error)}`;
      klog.write("E", rules.sources.failed, text);
    }
  }

  /**
   * Start: a process that was killed may have left its address behind. It is removed until this
   * process is ready, which it is here.
   */
  async #removeStale(): Promise<void> {
    const { klog, rules } = this.#options;
    if (rules.staleRemoval === undefined) return;
    const { source, found, failed, ignoresMissing } = rules.staleRemoval;
    try {
      await this.#removeSelf();
      if (found !== undefined) klog.write("E", source.found, found);
    } catch (error) {
      if (ignoresMissing && error instanceof MissingLeaseError) return;
      klog.write("E", source.failed, `${failed}${this.#textOf(error)}`);
    }
  }

  /**
   * Stop: the server removes its address. Where the version closes the listener first, the request
   * is refused. Then the lease is gone, and the address stays until the next round of another server.
   */
  async #leave(): Promise<void> {
    await this.#running;
    const { klog, rules } = this.#options;
    const { stopping, removalFailed } = rules.sources;
    if (stopping === undefined || this.#running === undefined) return;
    klog.write("I", stopping, "Shutting down kubernetes service endpoint reconciler");
    try {
      await this.#removeSelf();
    } catch (error) {
      klog.write("E", removalFailed, `${rules.removalFailedPrefix}${this.#textOf(error)}`);
    }
  }

  /** RemoveEndpoints of the three reconcilers. */
  async #removeSelf(): Promise<void> {
    const { type, leases, ip } = this.#options;
    if (type === "lease") {
      await leases.remove(ip);
      await this.#reconcile({ setPorts: true });
    } else if (type === "master-count") {
      const current = await this.#objects.endpoints();
      if (current === undefined) return;
      const subsets = subsetsOf(current);
      if (subsets.length === 0) return;
      await this.#write(current, withoutAddress(subsets, ip), "update");
    }
  }

  async #reconcile(options: { readonly setPorts: boolean }): Promise<void> {
    if (this.#options.type === "none") return;
    const current = await this.#objects.endpoints();
    const { rules } = this.#options;
    if (current === undefined && this.#stopping.signal.aborted && !rules.keepsLastAddress) return;
    const next = this.#labelled(current ?? newEndpoints());
    const before = subsetsOf(next);
    const wanted = await this.#wanted(before, options);
    const subsets = wanted?.subsets ?? before;
    if (wanted !== undefined || next !== current) {
      const printed = { metadata: recordAt(next, "metadata"), subsets };
      const how = current === undefined ? "create" : "update";
      this.#logReset(printed, { how, isRemade: wanted?.remade === true });
      await this.#write(next, subsets, how);
    } else if (this.#options.hasSlices) {
      await this.#objects.ensureSlice(subsets);
    }
  }

  /** Update and Create of the EndpointsAdapter: the slice follows the Endpoints. */
  async #write(
    endpoints: RawRecord,
    subsets: readonly ServiceSubset[],
    how: "create" | "update",
  ): Promise<void> {
    await this.#objects.writeEndpoints(endpoints, subsets, how);
    if (this.#options.hasSlices) await this.#objects.ensureSlice(subsets);
  }

  /** The wanted subsets; undefined when the Endpoints have them. */
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

  /** `master-count` logs nothing when it creates the Endpoints. */
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

  /** The same object when it has the label already, or the version has no such label. */
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

  /** As Go prints it. The reconciler reads the Endpoints first, so that is the refused request. */
  #textOf(error: unknown): string {
    if (error instanceof NetworkError && error.code === "REFUSED") {
      const { ip, port, rules } = this.#options;
      const host = ip.includes(":") ? `[${ip}]:${port}` : `${ip}:${port}`;
      const url = `https://${host}${endpointsPath}/${serviceName}`;
      const shown = rules.quotesUrls ? JSON.stringify(url) : url;
      return `Get ${shown}: dial tcp ${host}: connect: connection refused`;
    }
    return error instanceof Error ? error.message : String(error);
  }
}

function newEndpoints(): RawRecord {
  const metadata = { name: serviceName, namespace: "default" };
  return { apiVersion: "v1", kind: "Endpoints", metadata };
}
