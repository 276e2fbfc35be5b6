// The endpoints a cluster's controllers have published, watched in the form the cluster uses. Which
// one that is has to be asked first, so until then there is nothing to read.
import type { Registry } from "prom-client";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import {
  type EndpointSlice,
  endpointSliceKind,
  importNameOf,
  serviceNameOf,
} from "../kube/kinds/endpoint-slice.ts";
import { type Endpoints, endpointsKind } from "../kube/kinds/endpoints.ts";
import { objectKey, type Projected } from "../kube/kinds/kind.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { KnownBefore } from "../kube/reflector/reflector-removals.ts";
import type { Change } from "../kube/store/store-change.ts";
import { type PublishedForm, publishedForm } from "./published-form.ts";
import { notStarted, type WatchStatus, watchStatus } from "./watch-status.ts";

export interface PublishedWatchOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  /** Called synchronously with each change and the `namespace/name` of the services it is about. */
  readonly onChange: (change: Change<Projected>, services: readonly string[]) => void;
  /** How many objects the watches of an earlier process showed; nothing when absent. */
  readonly knownBefore?: KnownBefore;
  readonly metrics?: Registry;
}

/** The published objects of one service; of the form that the cluster does not use there are none. */
export interface PublishedObjects {
  readonly form: PublishedForm;
  readonly slices: readonly EndpointSlice[];
  readonly endpoints: Endpoints | undefined;
}

type Watched =
  | {
      readonly form: "endpointslices";
      readonly reflector: Reflector<EndpointSlice, "service" | "import">;
    }
  | { readonly form: "endpoints"; readonly reflector: Reflector<Endpoints> };

export class PublishedWatch {
  readonly #options: PublishedWatchOptions;
  #watched: Watched | undefined;

  constructor(options: PublishedWatchOptions) {
    this.#options = options;
  }

  of(namespace: string, name: string): PublishedObjects {
    const watched = this.#watched;
    if (watched?.form === "endpoints") {
      const endpoints = watched.reflector.store.get(namespace, name);
      return { form: "endpoints", slices: [], endpoints };
    }
    const slices = watched?.reflector.store.byIndex("service", `${namespace}/${name}`) ?? [];
    return { form: "endpointslices", slices: [...slices], endpoints: undefined };
  }

  /** Of a ServiceImport; only slices can belong to one. */
  importedOf(namespace: string, name: string): PublishedObjects {
    const watched = this.#watched?.form === "endpointslices" ? this.#watched : undefined;
    const slices = watched?.reflector.store.byIndex("import", `${namespace}/${name}`) ?? [];
    return { form: "endpointslices", slices: [...slices], endpoints: undefined };
  }

  get status(): WatchStatus {
    const watched = this.#watched;
    if (watched === undefined) return notStarted;
    // The two kinds of reflector have one status; only the compiler has to see them apart.
    return watched.form === "endpoints"
      ? watchStatus(watched.reflector)
      : watchStatus(watched.reflector);
  }

  /** Whether it has been listed or refused: more will not be known for now. */
  get settled(): boolean {
    return this.#watched?.reflector.synced === true || this.status.state === "refused";
  }

  /** Asks for the form and begins to watch; rejects when the signal aborts before that. */
  async start(signal: AbortSignal): Promise<void> {
    const { log, cluster } = this.#options;
    const form = await publishedForm({ ...this.#options, log: log.child({ cluster }) }, signal);
    this.#watched ??= form === "endpoints" ? this.#endpoints() : this.#slices();
    this.#watched.reflector.start();
  }

  /** Resolves when it has been listed, when the time is over, or when the signal aborts. */
  async waitForSync(signal: AbortSignal, patienceMs: number): Promise<void> {
    const { timers, log, cluster } = this.#options;
    const patience = new AbortController();
    const cancel = timers.after(patienceMs, () => {
      patience.abort(new Error("the published endpoints are not listed yet"));
    });
    try {
      await this.#watched?.reflector.waitForSync(AbortSignal.any([signal, patience.signal]));
    } catch {
      // Stopped, or out of patience.
      if (signal.aborted) return;
      log.info("the published endpoints are not waited for any longer", { cluster });
    } finally {
      cancel();
    }
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await this.#watched?.reflector.stop();
  }

  #slices(): Watched {
    const onSlice = (change: Change<EndpointSlice>): void => {
      const versions =
        change.type === "updated" ? [change.previous, change.object] : [change.object];
      const named = versions.flatMap((one) => [serviceKeyOf(one), importKeyOf(one)]);
      const keys = new Set(named.filter((key) => key !== undefined));
      this.#options.onChange(change, [...keys]);
    };
    const reflector = new Reflector({
      ...this.#options,
      kind: endpointSliceKind,
      indexes: { service: serviceKeyOf, import: importKeyOf },
      handlers: [onSlice],
    });
    return { form: "endpointslices", reflector };
  }

  #endpoints(): Watched {
    const onEndpoints = (change: Change<Endpoints>): void =>
      this.#options.onChange(change, [objectKey(change.object.metadata)]);
    const reflector = new Reflector({
      ...this.#options,
      kind: endpointsKind,
      indexes: {},
      handlers: [onEndpoints],
    });
    return { form: "endpoints", reflector };
  }
}

function serviceKeyOf(slice: EndpointSlice): string | undefined {
  return keyOf(slice, serviceNameOf(slice));
}

function importKeyOf(slice: EndpointSlice): string | undefined {
  return keyOf(slice, importNameOf(slice));
}

function keyOf({ metadata }: EndpointSlice, name: string | undefined): string | undefined {
  return name === undefined ? undefined : `${metadata.namespace}/${name}`;
}
