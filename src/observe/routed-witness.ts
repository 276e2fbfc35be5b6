// The witness at `routed`: one proxy replica. It says which endpoints of a service the replica
// routes to, each time the proxy has acknowledged a new version of them; the differences are what
// is reported.
import type { MonotonicMs } from "../environment/clock.ts";
import { shareItems } from "../kube/kinds/intern.ts";
import type { Observation, ObservationSink } from "../timeline/observation.ts";
import {
  type Direction,
  isSameEndpoint,
  type Witness,
  type WitnessedEndpoint,
} from "../timeline/witness.ts";
import { listDifference } from "./list-difference.ts";

/** An endpoint as the replica knows it: its own model of a proxy may know only the address. */
export interface RoutedEndpoint {
  readonly address: string;
  readonly port: number;
  readonly cluster?: string | undefined;
  readonly podUid?: string | undefined;
}

/** Everything that a replica can report. */
export type RoutedInput =
  | {
      readonly type: "began";
      readonly services: Readonly<Record<string, readonly RoutedEndpoint[]>>;
      readonly at: MonotonicMs;
    }
  | {
      readonly type: "routed";
      readonly service: string;
      readonly endpoints: readonly RoutedEndpoint[];
      readonly at: MonotonicMs;
      readonly notBefore: MonotonicMs | undefined;
    }
  | {
      readonly type: "dropped";
      readonly service: string;
      readonly at: MonotonicMs;
      readonly notBefore: MonotonicMs | undefined;
    }
  | { readonly type: "gaveUp"; readonly service: string; readonly ports: readonly number[] }
  | { readonly type: "lost" | "found" | "stop" };

export interface RoutedWitnessOptions {
  readonly replica: string;
  readonly sink: ObservationSink;
  /** The only cluster whose endpoints the replica can route to; without it, any. */
  readonly cluster?: string | undefined;
  /** Called with each input before it is taken in. */
  readonly onInput?: (input: RoutedInput) => void;
}

type RoutedList = readonly WitnessedEndpoint[];

type When = Pick<Observation, "at" | "notBefore" | "baseline">;

const nothing: RoutedList = [];

export class RoutedWitness {
  readonly #sink: ObservationSink;
  readonly #witness: Witness;
  readonly #cluster: string | undefined;
  readonly #onInput: ((input: RoutedInput) => void) | undefined;
  /** By service. */
  readonly #routed = new Map<string, RoutedList>();
  /** It is not known at present what the replica routes to. */
  #isLost = false;

  constructor(options: RoutedWitnessOptions) {
    this.#sink = options.sink;
    this.#cluster = options.cluster;
    this.#onInput = options.onInput;
    this.#witness = { hop: "routed", name: options.replica };
  }

  /** The current routes, by service. */
  get services(): ReadonlyMap<string, readonly RoutedEndpoint[]> {
    return this.#routed;
  }

  get isLost(): boolean {
    return this.#isLost;
  }

  /** Takes in what was reported before, as a recording has it. */
  take(input: RoutedInput): void {
    switch (input.type) {
      case "began":
        this.began(new Map(Object.entries(input.services)), input.at);
        break;
      case "routed":
        this.routed(input.service, input.endpoints, input.at, input.notBefore);
        break;
      case "dropped":
        this.dropped(input.service, input.at, input.notBefore);
        break;
      case "gaveUp":
        this.gaveUp(input.service, input.ports);
        break;
      case "lost":
      case "found":
      case "stop":
        this[input.type]();
        break;
    }
  }

  /** The routes at the start of the observation: a state, not changes. */
  began(services: ReadonlyMap<string, readonly RoutedEndpoint[]>, at: MonotonicMs): void {
    this.#onInput?.({ type: "began", services: Object.fromEntries(services), at });
    for (const [service, endpoints] of services) {
      this.#replace(service, endpoints, { at, baseline: true });
    }
  }

  /**
   * From `at` on the replica routes the service's requests to exactly these. Of a replica that is
   * asked now and then it is only known that it began to after `notBefore`.
   */
  routed(
    service: string,
    endpoints: readonly RoutedEndpoint[],
    at: MonotonicMs,
    notBefore?: MonotonicMs,
  ): void {
    this.#onInput?.({ type: "routed", service, endpoints, at, notBefore });
    this.#routes(service, endpoints, at, notBefore);
  }

  /** The replica no longer routes to the service, so it is not waited for either. */
  dropped(service: string, at: MonotonicMs, notBefore?: MonotonicMs): void {
    if (!this.#routed.has(service)) return;
    this.#onInput?.({ type: "dropped", service, at, notBefore });
    this.#routes(service, [], at, notBefore);
    this.#routed.delete(service);
    this.#sink.unfollow(this.#witness, { cluster: this.#cluster, service, forGood: true });
  }

  /** Where pods listen, of the ports of the service to which it routes no more, though to others. */
  gaveUp(service: string, ports: readonly number[]): void {
    if (ports.length === 0 || !this.#routed.has(service)) return;
    this.#onInput?.({ type: "gaveUp", service, ports });
    this.#sink.unfollow(this.#witness, { cluster: this.#cluster, service, ports, forGood: true });
  }

  /** The replica does not say any more what it routes to, so nothing is waited for until it does. */
  lost(): void {
    if (this.#isLost) return;
    this.#onInput?.({ type: "lost" });
    this.#isLost = true;
    for (const service of this.#routed.keys()) {
      this.#sink.unfollow(this.#witness, { cluster: this.#cluster, service });
    }
  }

  /** It is reachable again; differences since then are reported as changes. */
  found(): void {
    if (!this.#isLost) return;
    this.#onInput?.({ type: "found" });
    this.#isLost = false;
    for (const [service, endpoints] of this.#routed) this.#follow(service, endpoints);
  }

  /** The replica is gone and shows nothing any more. */
  stop(): void {
    this.#onInput?.({ type: "stop" });
    for (const service of this.#routed.keys()) {
      this.#sink.unfollow(this.#witness, { cluster: this.#cluster, service, forGood: true });
    }
    this.#routed.clear();
  }

  #routes(
    service: string,
    endpoints: readonly RoutedEndpoint[],
    at: MonotonicMs,
    notBefore: MonotonicMs | undefined,
  ): void {
    this.#replace(service, endpoints, { at, ...(notBefore !== undefined && { notBefore }) });
  }

  #replace(service: string, endpoints: readonly RoutedEndpoint[], when: When): void {
    const known = this.#routed.get(service);
    const before = known ?? nothing;
    const named = endpoints.map(({ address, port, cluster = this.#cluster, podUid }) => {
      return { cluster, service, address, port, podUid };
    });
    // Keeps the earlier equal values, which saves memory.
    const after = shareItems(named, before, isSameEndpoint);
    this.#routed.set(service, after);
    // Before the words on them, so that who shows one port is not waited for at another by chance.
    const isOfNewPorts = after.some(({ port }) => before.every((one) => one.port !== port));
    if ((known === undefined || isOfNewPorts) && !this.#isLost) {
      this.#follow(service, after, when.at);
    }
    const { gone, come } = listDifference(before, after);
    for (const endpoint of gone) this.#report(endpoint, "leave", when);
    for (const endpoint of come) this.#report(endpoint, "join", when);
  }

  #follow(service: string, endpoints: RoutedList, since?: MonotonicMs): void {
    const ports = [...new Set(endpoints.map(({ port }) => port))];
    const followed = { cluster: this.#cluster, service, ports, ...(since && { since }) };
    this.#sink.follow(this.#witness, followed);
  }

  #report(endpoint: WitnessedEndpoint, direction: Direction, when: When): void {
    this.#sink.report({ witness: this.#witness, endpoint, direction, ...when });
  }
}
