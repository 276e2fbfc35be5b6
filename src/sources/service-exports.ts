// The ServiceExports of a cluster (multicluster.x-k8s.io, KEP-1645): each exports the Service of its name.
// Their definition may be missing, or installed later.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { objectKey } from "../kube/kinds/kind.ts";
import { type ServiceExport, serviceExportKind } from "../kube/kinds/service-export.ts";
import { MulticlusterWatch } from "./multicluster-watch.ts";

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
  readonly #watch: MulticlusterWatch<ServiceExport>;

  constructor({ onExport, ...options }: ServiceExportsOptions) {
    this.#watch = new MulticlusterWatch({
      ...options,
      resource: "serviceexports",
      kindOf: serviceExportKind,
      onChange: ({ object }) => onExport(objectKey(object.metadata)),
    });
  }

  /** Undefined while it is not known, be it for lack of permission. */
  isExported(namespace: string, name: string): boolean | undefined {
    if (this.#watch.isAbsent) return false;
    return this.#watch.listed && this.exportOf(namespace, name) !== undefined;
  }

  /** Undefined also while it is not known. */
  exportOf(namespace: string, name: string): ServiceExport | undefined {
    const found = this.#watch.listed?.get(namespace, name);
    return found?.metadata.deletionTimestamp === undefined ? found : undefined;
  }

  /** Whether more will not be known for now. */
  get settled(): boolean {
    return this.#watch.settled;
  }

  /** Of the API, as it is watched; undefined while it is not. */
  get version(): string | undefined {
    return this.#watch.version;
  }

  start(): void {
    this.#watch.start();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await this.#watch.stop();
  }
}
