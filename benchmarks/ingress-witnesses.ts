// Report to the meter what each place shows: a watch of the pods and, where it is asked for, one of the
// slices, both independent of those that are measured, and the acknowledgements of the two proxies.
import type { Clock, MonotonicMs } from "../src/environment/clock.ts";
import type { Environment } from "../src/environment/environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { type EndpointSlice, endpointSliceKind } from "../src/kube/kinds/endpoint-slice.ts";
import { type Pod, podKind } from "../src/kube/kinds/pod.ts";
import { Reflector } from "../src/kube/reflector/reflector.ts";
import type { Change } from "../src/kube/store/store-change.ts";
import type { StockBackend } from "../src/lab/stock/stock-configuration.ts";
import type { ChangeMeter, MeteredHop } from "./ingress-meter.ts";

export interface WitnessesOptions extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly meter: ChangeMeter;
  /** Slices of a hostile tenant are large: reading them would delay the meter. */
  readonly witnessed: WitnessedKinds;
}

export type WitnessedKinds = "pods" | "pods and slices";

export class Witnesses {
  readonly #clock: Clock;
  readonly #meter: ChangeMeter;
  readonly #pods: Reflector<Pod>;
  readonly #slices: Reflector<EndpointSlice> | undefined;
  readonly #published = new Set<string>();
  #stockRoutes: ReadonlySet<string> = new Set();

  constructor(options: WitnessesOptions) {
    this.#clock = options.clock;
    this.#meter = options.meter;
    this.#pods = new Reflector({
      ...options,
      kind: podKind,
      indexes: {},
      handlers: [(change) => this.#podChanged(change)],
    });
    this.#slices =
      options.witnessed === "pods"
        ? undefined
        : new Reflector({
            ...options,
            kind: endpointSliceKind,
            indexes: {},
            handlers: [(change) => this.#sliceChanged(change)],
          });
  }

  /** Resolves when the watches have listed. */
  async start(signal: AbortSignal): Promise<void> {
    this.#pods.start();
    this.#slices?.start();
    await Promise.all([this.#pods.waitForSync(signal), this.#slices?.waitForSync(signal)]);
  }

  /** How many endpoints the slices show, and how many of them stock routes to. */
  get counts(): { readonly published: number; readonly stock: number } {
    return { published: this.#published.size, stock: this.#stockRoutes.size };
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all([this.#pods.stop(), this.#slices?.stop()]);
  }

  stockRouted(backends: readonly StockBackend[]): void {
    const endpoints = backends.flatMap((backend) => backend.endpoints);
    const routes = new Set(endpoints.map(({ address }) => address));
    this.#tell("stock", this.#stockRoutes, routes, this.#clock.monotonicMs());
    this.#stockRoutes = routes;
  }

  #podChanged(change: Change<Pod>): void {
    if (change.type !== "updated" || change.previous.ready === change.object.ready) return;
    const { podIP, ready } = change.object;
    this.#meter.accepted(podIP, ready === "True" ? "join" : "leave", this.#clock.monotonicMs());
  }

  #sliceChanged(change: Change<EndpointSlice>): void {
    const before = change.type === "updated" ? readyIn(change.previous) : new Set<string>();
    const after = change.type === "deleted" ? new Set<string>() : readyIn(change.object);
    for (const address of before) this.#published.delete(address);
    for (const address of after) this.#published.add(address);
    this.#tell("published", before, after, this.#clock.monotonicMs());
  }

  #tell(
    hop: MeteredHop,
    before: ReadonlySet<string>,
    after: ReadonlySet<string>,
    at: MonotonicMs,
  ): void {
    for (const address of after) {
      if (!before.has(address)) this.#meter.seen(hop, address, "join", at);
    }
    for (const address of before) {
      if (!after.has(address)) this.#meter.seen(hop, address, "leave", at);
    }
  }
}

function readyIn({ endpoints }: EndpointSlice): ReadonlySet<string> {
  const ready = endpoints.filter((endpoint) => endpoint.ready !== false);
  return new Set(ready.flatMap(({ addresses }) => addresses));
}
