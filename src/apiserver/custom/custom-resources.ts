// The custom kinds of one server. They follow the definitions in storage, also those that other servers
// wrote. A change of a definition replaces its kinds and ends the watches on them, as on a real server.
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../environment/clock.ts";
import type { Log } from "../../environment/log.ts";
import type { Timers } from "../../environment/timers.ts";
import { ApiError } from "../api-error.ts";
import { qualifiedResource, type ResourceKind } from "../kinds/resource-kind.ts";
import type { ServedKinds } from "../kinds/served-kinds.ts";
import type { KubeObject } from "../kube-object.ts";
import type { CacheFaults } from "../listwatch/cache-faults.ts";
import { CacheFeed } from "../listwatch/cache-feed.ts";
import { emptyTally } from "../listwatch/cache-metrics.ts";
import { WatchCache } from "../listwatch/watch-cache.ts";
import type { Storage } from "../storage/storage.ts";
import type { Backend } from "../verbs/backend.ts";
import { customKind } from "./custom-kind.ts";
import { acceptedNames, compareVersions, conditionOf, isTrue, versionsOf } from "./definition.ts";
import { DefinitionController } from "./definition-controller.ts";
import { customResourceDefinitionKind } from "./definition-kind.ts";

export interface CustomResourcesOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly storage: Storage;
  readonly faults: CacheFaults;
  readonly backend: Backend;
  readonly kinds: ServedKinds;
  readonly establishingDelayMs: number;
  /** The kind was removed or replaced; its watches have to end. */
  readonly onRemoved: (kind: ResourceKind) => void;
}

/** Other servers may not know a new definition yet, so its first objects are delayed. */
const youthMs = 2000;

interface Served {
  readonly definition: KubeObject;
  /** Of all versions; those that are not served are needed to read stored objects. */
  readonly kinds: readonly ResourceKind[];
}

export class CustomResources {
  readonly #options: CustomResourcesOptions;
  readonly #cache: WatchCache;
  readonly #feed: CacheFeed;
  readonly #controller: DefinitionController;
  readonly #stopping = new AbortController();
  /** By uid. Invariant: `kinds` are those of the definition's spec and accepted names. */
  #served = new Map<string, Served>();
  #isSyncing = false;
  #isStale = false;

  constructor(options: CustomResourcesOptions) {
    this.#options = options;
    // Clients do not read this cache, so its metrics are not shown.
    this.#cache = new WatchCache({ clock: options.clock, tally: emptyTally() });
    const { prefix } = customResourceDefinitionKind;
    this.#feed = new CacheFeed({ ...options, prefix, cache: this.#cache });
    this.#controller = new DefinitionController(options);
  }

  /** Resolves when the definitions in storage are served. */
  async start(): Promise<void> {
    this.#feed.start();
    await new Promise<void>((resolve) => {
      this.#cache.whenAtLeast(0, resolve);
      this.#stopping.signal.addEventListener("abort", () => resolve(), { once: true });
    });
    if (this.#stopping.signal.aborted) return;
    this.#listen();
    this.#serve();
    this.#wake();
  }

  /** Idempotent. */
  stop(): void {
    if (this.#stopping.signal.aborted) return;
    this.#stopping.abort();
    this.#feed.stop();
    this.#controller.stop();
  }

  #listen(): void {
    this.#cache.listen(undefined, {
      onEvent: () => {
        this.#serve();
        this.#wake();
      },
      onEnd: () => {
        if (this.#stopping.signal.aborted) return;
        this.#cache.whenAtLeast(0, () => {
          this.#listen();
          this.#serve();
          this.#wake();
        });
      },
    });
  }

  get #definitions(): readonly KubeObject[] {
    const found = [...this.#cache.under(customResourceDefinitionKind.prefix)];
    return found.map(([, { object }]) => object);
  }

  /** Makes the served kinds match the definitions. */
  #serve(): void {
    const before = this.#served;
    const served = new Map<string, Served>();
    for (const definition of this.#definitions) {
      const uid = definition.metadata.uid ?? "";
      if (!isTrue(definition, "Established")) continue;
      const known = before.get(uid);
      const kinds =
        known !== undefined && hasSameShape(known.definition, definition)
          ? known.kinds
          : this.#kindsOf(definition);
      served.set(uid, { definition, kinds });
    }
    this.#served = served;
    const kept = new Set([...served.values()].flatMap(({ kinds }) => kinds));
    const gone = [...before.values()].flatMap(({ kinds }) => kinds.filter((one) => !kept.has(one)));
    const isSame = gone.length === 0 && before.size === served.size;
    if (!isSame || before.size === 0) this.#options.kinds.setCustom(servedKinds(served));
    for (const kind of gone) this.#options.onRemoved(kind);
  }

  #kindsOf(definition: KubeObject): readonly ResourceKind[] {
    const { uid = "" } = definition.metadata;
    const state = {
      admitCreate: (kind: { group: string; resource: string }, name: string) =>
        this.#admitCreate(uid, kind, name),
    };
    return versionsOf(definition).map((version) => customKind(definition, version, state));
  }

  async #admitCreate(
    uid: string,
    kind: { readonly group: string; readonly resource: string },
    name: string,
  ): Promise<void> {
    const { clock, timers } = this.#options;
    const definition = this.#served.get(uid)?.definition;
    if (definition === undefined) return;
    if (isTrue(definition, "Terminating")) throw refusedWhileTerminating(kind, name);
    const since = Date.parse(conditionOf(definition, "Established")?.lastTransitionTime ?? "");
    if (clock.wallMs() - since < youthMs) {
      await timers.sleep(youthMs, this.#stopping.signal);
    }
  }

  /** Runs the controllers again as long as definitions have changed. */
  #wake(): void {
    this.#isStale = true;
    if (this.#isSyncing) return;
    this.#isSyncing = true;
    // Never rejects: `#syncAll` catches.
    void this.#syncAll();
  }

  async #syncAll(): Promise<void> {
    while (this.#isStale && !this.#stopping.signal.aborted) {
      this.#isStale = false;
      try {
        await this.#controller.sync(this.#definitions, (definition) =>
          this.#storageKind(definition),
        );
      } catch (error) {
        // The next change of a definition, or the next start of the server, tries again.
        this.#options.log.warn("cannot update the status of definitions", { error });
      }
    }
    this.#isSyncing = false;
  }

  #storageKind(definition: KubeObject): ResourceKind | undefined {
    const storage = versionsOf(definition).find((version) => version.isStorage);
    const kinds = this.#served.get(definition.metadata.uid ?? "")?.kinds;
    return kinds?.find((kind) => kind.version === storage?.name);
  }
}

/** Whether both serve objects in the same way. */
function hasSameShape(a: KubeObject, b: KubeObject): boolean {
  return (
    isDeepStrictEqual(a["spec"], b["spec"]) && isDeepStrictEqual(acceptedNames(a), acceptedNames(b))
  );
}

/** In the order of discovery: by group, and the preferred version first. */
function servedKinds(served: ReadonlyMap<string, Served>): readonly ResourceKind[] {
  return [...served.values()]
    .flatMap(({ definition, kinds }) => {
      const names = new Set(
        versionsOf(definition).flatMap(({ isServed, name }) => (isServed ? [name] : [])),
      );
      return kinds.filter((kind) => names.has(kind.version));
    })
    .sort(
      (a, b) =>
        compareTexts(a.group, b.group) ||
        compareVersions(a.version, b.version) ||
        compareTexts(a.resource, b.resource),
    );
}

function compareTexts(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function refusedWhileTerminating(
  kind: { readonly group: string; readonly resource: string },
  name: string,
): ApiError {
  return new ApiError(
    403,
    "Forbidden",
    `${qualifiedResource(kind)} ${JSON.stringify(name)} is forbidden: create not allowed while ` +
      "custom resource definition is terminating",
    { name, group: kind.group, kind: kind.resource },
  );
}
