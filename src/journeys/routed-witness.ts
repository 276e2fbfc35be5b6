// The witness at `routed`: one proxy replica. It says which endpoints of a service the replica
// routes to, each time the proxy has acknowledged a new version of them; the differences are what
// is reported.
import type { MonotonicMs } from "../environment/clock.ts";
import {
  endpointKey,
  type Witness,
  type WitnessedEndpoint,
  type WitnessReport,
  type WitnessSink,
} from "./witness.ts";

/** An endpoint as the replica knows it: its own model of a proxy may know only the address. */
export interface RoutedEndpoint {
  readonly address: string;
  readonly port: number;
  readonly cluster?: string | undefined;
  readonly podUid?: string | undefined;
}

export interface RoutedWitnessOptions {
  readonly replica: string;
  readonly sink: WitnessSink;
}

type RoutedSet = ReadonlyMap<string, WitnessedEndpoint>;

const nothing: RoutedSet = new Map();

export class RoutedWitness {
  readonly #sink: WitnessSink;
  readonly #witness: Witness;
  /** By service. */
  readonly #routed = new Map<string, RoutedSet>();

  constructor(options: RoutedWitnessOptions) {
    this.#sink = options.sink;
    this.#witness = { hop: "routed", name: options.replica };
  }

  /** What the replica routes to when the observation begins: a state, not changes. */
  began(services: ReadonlyMap<string, readonly RoutedEndpoint[]>, at: MonotonicMs): void {
    for (const [service, endpoints] of services) {
      this.#replace(service, endpoints, { at, baseline: true });
    }
  }

  /** From `at` on the replica routes the service's requests to exactly these. */
  routed(service: string, endpoints: readonly RoutedEndpoint[], at: MonotonicMs): void {
    this.#replace(service, endpoints, { at });
  }

  /** The replica no longer routes to the service, so it is not waited for either. */
  dropped(service: string, at: MonotonicMs): void {
    this.#replace(service, [], { at });
    this.#routed.delete(service);
    this.#sink.unfollow(this.#witness, { cluster: undefined, service });
  }

  /** The replica is gone and shows nothing any more. */
  stop(): void {
    for (const service of this.#routed.keys()) {
      this.#sink.unfollow(this.#witness, { cluster: undefined, service });
    }
    this.#routed.clear();
  }

  #replace(
    service: string,
    endpoints: readonly RoutedEndpoint[],
    when: Pick<WitnessReport, "at" | "baseline">,
  ): void {
    const before = this.#routed.get(service);
    const after = new Map<string, WitnessedEndpoint>();
    for (const { address, port, cluster, podUid } of endpoints) {
      const endpoint = { cluster, service, address, port, podUid };
      after.set(endpointKey(endpoint), endpoint);
    }
    this.#routed.set(service, after);
    if (before === undefined) {
      this.#sink.follow(this.#witness, { cluster: undefined, service });
    }
    this.#reportMissing("leave", before ?? nothing, after, when);
    this.#reportMissing("join", after, before ?? nothing, when);
  }

  #reportMissing(
    direction: WitnessReport["direction"],
    from: RoutedSet,
    others: RoutedSet,
    when: Pick<WitnessReport, "at" | "baseline">,
  ): void {
    for (const [key, endpoint] of from) {
      if (others.has(key)) continue;
      this.#sink.report({ witness: this.#witness, endpoint, direction, ...when });
    }
  }
}
