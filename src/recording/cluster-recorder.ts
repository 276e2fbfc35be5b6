// Records one cluster: watches pods, services, nodes and what is published, and hands over every
// change as a line. It only reads. Where something is refused the rest is recorded all the same.
import { elapsedMs } from "../environment/clock.ts";
import type { Environment } from "../environment/environment.ts";
import type { KubeClient } from "../kube/client/client.ts";
import { Reflector } from "../kube/reflector/reflector.ts";
import type { ChangeHandler } from "../kube/reflector/reflector-delivery.ts";
import { ToldSince } from "../kube/reflector/told-since.ts";
import type { Change } from "../kube/store/store-change.ts";
import type { PublishedForm } from "../sources/published-form.ts";
import { type Recorded, type RecordedKind, recordedKinds } from "./recorded-kinds.ts";
import { changeLine, listedLine } from "./recording-line.ts";

export interface ClusterRecorderOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly form: PublishedForm;
  /** Every namespace when undefined. */
  readonly namespaces: readonly string[] | undefined;
  /** Takes each line. */
  readonly write: (line: string) => void;
}

/** How a watch stands, for whoever runs it. */
export interface RecordedWatch {
  readonly cluster: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly isListed: boolean;
  readonly isFresh: boolean;
  readonly objects: number;
  /** Why it does not go on; undefined while it does. */
  readonly problem: string | undefined;
}

interface Watch {
  readonly kind: RecordedKind;
  readonly namespace: string | undefined;
  readonly reflector: Reflector<Recorded>;
  readonly told: ToldSince;
  isListed: boolean;
}

export class ClusterRecorder {
  readonly #options: ClusterRecorderOptions;
  readonly #watches: readonly Watch[];
  readonly #abort = new AbortController();
  readonly #listing: Promise<void>[] = [];

  constructor(options: ClusterRecorderOptions) {
    this.#options = options;
    const published = options.form === "endpoints" ? "Endpoints" : "EndpointSlice";
    const kinds = (["Service", "Node", published, "Pod"] as const).map(
      (name) => recordedKinds[name],
    );
    this.#watches = kinds.flatMap((kind) => {
      const { namespaces } = options;
      const places = kind.namespaced && namespaces !== undefined ? namespaces : [undefined];
      return places.map((namespace) => this.#watch(kind, namespace));
    });
  }

  /** Begins to list and watch; a second call does nothing. */
  start(): void {
    if (this.#listing.length > 0) return;
    for (const watch of this.#watches) {
      watch.reflector.start();
      this.#listing.push(this.#noteListed(watch));
    }
  }

  /** Idempotent; it cannot be started again. */
  async stop(): Promise<void> {
    this.#abort.abort(new Error("the recorder was stopped"));
    await Promise.all(this.#watches.map(({ reflector }) => reflector.stop()));
    await Promise.all(this.#listing);
  }

  watches(): readonly RecordedWatch[] {
    const { cluster } = this.#options;
    return this.#watches.map(({ kind, namespace, reflector, told, isListed }) => {
      told.note();
      const { type, message } = reflector.condition();
      return {
        cluster,
        resource: kind.resource,
        namespace,
        isListed,
        isFresh: reflector.freshness().fresh,
        objects: reflector.store.size,
        problem: type === "ok" ? undefined : message,
      };
    });
  }

  /**
   * All that is known now, as lines; also of a list that is still being told, whose end would else
   * say that what was told before is gone.
   */
  baseline(): readonly string[] {
    return this.#watches.flatMap((watch) => {
      const objects = [...watch.reflector.store];
      const lines = objects.map((object) => this.#line(watch, "added", object, undefined));
      return watch.isListed ? [...lines, this.#listedLine(watch)] : lines;
    });
  }

  #watch(kind: RecordedKind, namespace: string | undefined): Watch {
    const handler: ChangeHandler<Recorded> = (change) => this.#changed(watch, change);
    const reflector = new Reflector<Recorded>({
      ...this.#options,
      kind,
      ...(namespace !== undefined && { namespace }),
      indexes: {},
      handlers: [handler],
    });
    const told = new ToldSince({ reflector, clock: this.#options.clock });
    const watch: Watch = { kind, namespace, reflector, told, isListed: false };
    return watch;
  }

  async #noteListed(watch: Watch): Promise<void> {
    const { signal } = this.#abort;
    try {
      await watch.reflector.waitForSync(signal);
    } catch (error) {
      if (!signal.aborted) throw error;
      return;
    }
    watch.told.noteListed();
    watch.isListed = true;
    this.#options.write(this.#listedLine(watch));
  }

  #changed(watch: Watch, change: Change<Recorded>): void {
    const { object, type, learntBy } = change;
    const isNews = type !== "updated" || change.previous.json !== object.json;
    const afterMs = watch.isListed ? this.#afterMs(watch, change) : undefined;
    if (isNews) this.#options.write(this.#line(watch, type, object, afterMs, learntBy));
  }

  /** When the watch was last proved to be current, where it happened some time since. */
  #afterMs({ told }: Watch, change: Change<Recorded>): number | undefined {
    const { clock } = this.#options;
    const notBefore = told.notBefore(change);
    if (notBefore === undefined) return undefined;
    return clock.wallMs() - elapsedMs(notBefore, clock.monotonicMs());
  }

  #line(
    { kind }: Watch,
    change: Change<Recorded>["type"],
    { json }: Recorded,
    afterMs: number | undefined,
    by: Change<Recorded>["learntBy"] = "list",
  ): string {
    const { cluster, clock } = this.#options;
    return changeLine({
      atMs: clock.wallMs(),
      cluster,
      kind: kind.kind,
      change,
      by,
      afterMs,
      json,
    });
  }

  #listedLine({ kind, namespace }: Watch): string {
    const { clock, cluster } = this.#options;
    return listedLine({ atMs: clock.wallMs(), cluster, kind: kind.kind, namespace });
  }
}
