// The ServiceImports of the access cluster (multicluster.x-k8s.io, KEP-1645): services that other clusters
// export, as routes may name them. Their definition may be missing, or installed later.
import { isDeepStrictEqual } from "node:util";
import { objectKey } from "../kube/kinds/kind.ts";
import { type ServiceImport, serviceImportKind } from "../kube/kinds/service-import.ts";
import type { Change } from "../kube/store/store-change.ts";
import { MulticlusterWatch, type MulticlusterWatchOptions } from "./multicluster-watch.ts";

export interface ServiceImportsOptions
  extends Omit<MulticlusterWatchOptions<ServiceImport>, "resource" | "kindOf" | "onChange"> {
  /** Called with `namespace/name` when its fields changed, or when it came or went. */
  readonly onImport: (key: string) => void;
}

export class ServiceImports {
  readonly #watch: MulticlusterWatch<ServiceImport>;

  constructor({ onImport, ...options }: ServiceImportsOptions) {
    this.#watch = new MulticlusterWatch({
      ...options,
      resource: "serviceimports",
      kindOf: serviceImportKind,
      onChange: (change) => {
        if (isNews(change)) onImport(objectKey(change.object.metadata));
      },
    });
  }

  get(namespace: string, name: string): ServiceImport | undefined {
    const found = this.#watch.listed?.get(namespace, name);
    return found?.metadata.deletionTimestamp === undefined ? found : undefined;
  }

  /** The cluster has no such kind. */
  get isAbsent(): boolean {
    return this.#watch.isAbsent;
  }

  /** Whether more will not be known for now. */
  get settled(): boolean {
    return this.#watch.settled;
  }

  start(): void {
    this.#watch.start();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    await this.#watch.stop();
  }
}

/** Whether more than its status or its metadata changed. */
function isNews(change: Change<ServiceImport>): boolean {
  if (change.type !== "updated") return true;
  return !isDeepStrictEqual(fieldsOf(change.previous), fieldsOf(change.object));
}

function fieldsOf({ metadata, annotations, spec }: ServiceImport): object {
  return { deletionTimestamp: metadata.deletionTimestamp, annotations, spec };
}
