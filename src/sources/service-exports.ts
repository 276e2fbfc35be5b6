// The ServiceExports of a cluster (multicluster.x-k8s.io, KEP-1645): each exports the Service of its name.
// Their definition may be missing, or installed later.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import { type ServiceExport, serviceExportKind } from "../kube/kinds/service-export.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import { lookAgainMs, servedVersion } from "./multicluster-api.ts";

export interface ServiceExportsOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called with `namespace/name` when it begins or ceases to be exported. */
  readonly onExport: (key: string) => void;
  /** Called when it becomes known what is exported. */
  readonly onKnown: () => void;
  readonly metrics?: Registry;
}

export class ServiceExports {
  readonly #options: ServiceExportsOptions;
  readonly #abort = new AbortController();
  #exports: Reflector<ServiceExport> | undefined;
  #version: string | undefined;
  /** The API server has no such kind. */
  #isAbsent = false;
  #cancelLook: CancelTimer | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: ServiceExportsOptions) {
    this.#options = options;
  }

  /** Undefined while it is not known, be it for lack of permission. */
  isExported(namespace: string, name: string): boolean | undefined {
    const exports = this.#exports;
    if (exports?.synced !== true)
      return exports === undefined && this.#isAbsent ? false : undefined;
    const found = exports.store.get(namespace, name);
    return found !== undefined && found.metadata.deletionTimestamp === undefined;
  }

  /** Undefined also while it is not known. */
  exportOf(namespace: string, name: string): ServiceExport | undefined {
    const found =
      this.#exports?.synced === true ? this.#exports.store.get(namespace, name) : undefined;
    return found?.metadata.deletionTimestamp === undefined ? found : undefined;
  }

  /** Of the API, as it is watched; undefined while it is not. */
  get version(): string | undefined {
    return this.#version;
  }

  start(): void {
    this.#looking ??= this.#look();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the exports are not needed any more"));
    this.#cancelLook?.();
    await this.#looking;
    await this.#exports?.stop();
  }

  async #look(): Promise<void> {
    const { timers, log, cluster } = this.#options;
    try {
      const { client } = this.#options;
      const version = await servedVersion(client, "serviceexports", this.#abort.signal);
      if (version !== undefined) {
        await this.#watch(version);
        return;
      }
      const isNew = !this.#isAbsent;
      this.#isAbsent = true;
      if (isNew) this.#options.onKnown();
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      log.warn("cannot read whether the cluster has ServiceExports", { cluster, error });
    }
    if (this.#abort.signal.aborted) return;
    this.#cancelLook = timers.after(lookAgainMs, () => {
      this.#looking = this.#look();
    });
  }

  async #watch(version: string): Promise<void> {
    const { onExport, onKnown } = this.#options;
    this.#version = version;
    this.#exports = new Reflector<ServiceExport>({
      ...this.#options,
      kind: serviceExportKind(version),
      indexes: {},
      handlers: [({ object }) => onExport(objectKey(object.metadata))],
    });
    this.#exports.start();
    await this.#exports.waitForSync(this.#abort.signal);
    onKnown();
  }
}
