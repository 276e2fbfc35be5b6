// The ServiceExports of a cluster (multicluster.x-k8s.io, KEP-1645): each exports the Service of its name.
// Their definition may be missing, or installed later.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { CancelTimer } from "../environment/timers.ts";
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import { isRecord, listAt } from "../kube/kinds/fields.ts";
import { type Kind, objectKey, type Projected } from "../kube/kinds/kind.ts";
import { objectRecord, projectMetadata } from "../kube/kinds/metadata.ts";
import { Reflector } from "../kube/reflector/reflector.ts";

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

const group = "multicluster.x-k8s.io";

/** The API has had two, with the same fields as far as they matter here. */
const knownVersions: readonly string[] = ["v1beta1", "v1alpha1"];

/** So long an installed definition may stay unnoticed. */
const lookAgainMs = 30_000;

const requestDeadlineMs = 10_000;

export class ServiceExports {
  readonly #options: ServiceExportsOptions;
  readonly #abort = new AbortController();
  #exports: Reflector<Projected> | undefined;
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
      const version = await this.#servedVersion();
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

  async #servedVersion(): Promise<string | undefined> {
    const limits = { deadlineMs: requestDeadlineMs, signal: this.#abort.signal };
    try {
      const path = `/apis/${group}`;
      const request = { verb: "get", method: "GET", path, ...limits } as const;
      const answer = parseJson(await this.#options.client.request(request));
      const versions = isRecord(answer) ? listAt(answer, "versions").filter(isRecord) : [];
      const served = versions.map((one) => one["version"]);
      return knownVersions.find((version) => served.includes(version));
    } catch (error) {
      if (error instanceof StatusError && error.code === 404) return undefined;
      throw error;
    }
  }

  async #watch(version: string): Promise<void> {
    const { onExport, onKnown } = this.#options;
    this.#exports = new Reflector<Projected>({
      ...this.#options,
      kind: exportKind(version),
      indexes: {},
      handlers: [({ object }) => onExport(objectKey(object.metadata))],
    });
    this.#exports.start();
    await this.#exports.waitForSync(this.#abort.signal);
    onKnown();
  }
}

function exportKind(version: string): Kind<Projected> {
  const kind: Kind<Projected> = {
    group,
    version,
    kind: "ServiceExport",
    resource: "serviceexports",
    namespaced: true,
    project: (raw, similar) => ({
      metadata: projectMetadata(objectRecord(raw), kind, similar?.metadata),
    }),
  };
  return kind;
}
