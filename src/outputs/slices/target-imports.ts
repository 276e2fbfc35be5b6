// The ServiceImports of the access cluster, where their definition is installed and may be written.
// Copies do not depend on them: without the kind, or without permission, only the imports are missing.
import type { ImportSupport } from "../../decide/syncing/plan-import.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import { objectKey } from "../../kube/kinds/kind.ts";
import { type ServiceImport, serviceImportKind } from "../../kube/kinds/service-import.ts";
import { lookAgainMs, servedVersion, storedFields } from "../../sources/multicluster-api.ts";
import { TargetCollection, type TargetCollectionOptions } from "./target-collection.ts";

export interface TargetImportsOptions
  extends Omit<TargetCollectionOptions<ServiceImport>, "kind" | "groupOf"> {
  /** Called when it becomes known or changes whether there can be imports. */
  readonly onKnown: () => void;
}

/** No event says that a watch has been listed or refused. */
const listedCheckMs = 100;

/** After a request that failed. */
const retryMs = 5_000;

/** So long no write is tried after one was forbidden. */
const forbiddenMs = 10 * 60_000;

export class TargetImports {
  readonly #options: TargetImportsOptions;
  readonly #abort = new AbortController();
  readonly #timers = new Set<CancelTimer>();
  #collection: TargetCollection<ServiceImport> | undefined;
  #support: ImportSupport | undefined;
  #isSettled = false;
  #isForbidden = false;
  #looking: Promise<void> | undefined;

  constructor(options: TargetImportsOptions) {
    this.#options = options;
  }

  get collection(): TargetCollection<ServiceImport> | undefined {
    return this.#collection;
  }

  /** Undefined while there can be none. */
  get support(): ImportSupport | undefined {
    const collection = this.#collection;
    if (collection?.synced !== true || this.#isForbidden) return undefined;
    // Its definition or the permission to watch it has been taken away.
    return collection.condition().type === "refused" ? undefined : this.#support;
  }

  /** Whether it is known what there is. */
  get isSettled(): boolean {
    return this.#isSettled;
  }

  find(key: string): ServiceImport | undefined {
    return this.#collection?.group(key)[0];
  }

  /** The API server has refused to write one. */
  noteForbidden(): void {
    this.#isForbidden = true;
    const again = this.#options.timers.after(forbiddenMs, () => {
      this.#timers.delete(again);
      this.#isForbidden = false;
      this.#options.onKnown();
    });
    this.#timers.add(again);
  }

  start(): void {
    this.#looking ??= this.#look();
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the imports are not needed any more"));
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    await this.#looking;
    await this.#collection?.stop();
  }

  async #look(): Promise<void> {
    const { client, timers, log, cluster } = this.#options;
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const version = await servedVersion(client, "serviceimports", signal);
        if (version !== undefined) {
          await this.#watch(version);
          return;
        }
        this.#isSettled = true;
        await timers.sleep(lookAgainMs, signal).catch(() => undefined);
      } catch (error) {
        if (signal.aborted) return;
        this.#isSettled = true;
        log.warn("cannot read whether the cluster has ServiceImports", { cluster, error });
        await timers.sleep(retryMs, signal).catch(() => undefined);
      }
    }
  }

  async #watch(version: string): Promise<void> {
    const { client, timers, onKnown } = this.#options;
    const { signal } = this.#abort;
    const fields = await storedFields(client, version, "ServiceImport", signal);
    this.#support = { version, spec: fields("spec"), status: fields("status") };
    const collection = new TargetCollection({
      ...this.#options,
      kind: serviceImportKind(version),
      groupOf: ({ metadata }) => objectKey(metadata),
    });
    this.#collection = collection;
    collection.start();
    while (!collection.synced && !signal.aborted) {
      if (collection.condition().type === "refused") this.#isSettled = true;
      await timers.sleep(listedCheckMs, signal).catch(() => undefined);
    }
    this.#isSettled = true;
    if (!signal.aborted) onKnown();
  }
}
