// The witness at `traffic`: one access log. It speaks for the services that it has been seen to name, for
// as long as it is read, and may yet name one of which an endpoint changed a moment ago: where no log
// speaks, the hop is unknown.
import type { Environment } from "../../environment/environment.ts";
import type { CancelTimer } from "../../environment/timers.ts";
import type { JourneyEvent } from "../../timeline/journey-event.ts";
import { trafficQuietMs } from "../../timeline/journey-limits.ts";
import type { ObservationSink } from "../../timeline/observation.ts";
import type { TrafficReport, Witness } from "../../timeline/witness.ts";

/** The receiver of requests and services: the observer. */
export interface TrafficTarget {
  readonly sink: Pick<ObservationSink, "follow" | "unfollow">;
  traffic(report: TrafficReport): void;
}

/** Everything that a log can report. */
export type TrafficInput =
  /** Whether the log can be read at present. */
  | { readonly type: "heard"; readonly isHeard: boolean }
  | { readonly type: "named"; readonly service: string }
  | { readonly type: "request"; readonly request: Omit<TrafficReport, "witness"> };

export interface TrafficWitnessOptions extends Pick<Environment, "timers"> {
  /** The log's, as people know it. */
  readonly name: string;
  readonly target: TrafficTarget;
}

/** Services a log may make us follow: more than any proxy has, less than rubbish could name. */
const servicesMax = 50_000;

/**
 * How long a log may take to name a service after a change there. This is less than the wait for
 * requests: for a service that the log never names, "no request came" would be wrong.
 */
const expectedForMs = trafficQuietMs - 5_000;

export class TrafficWitness {
  readonly #options: TrafficWitnessOptions;
  readonly #witness: Witness;
  /** Services that the log has named. */
  readonly #followed = new Set<string>();
  /** Services that it may name yet, none of which it has; and how to end the wait. */
  readonly #expected = new Map<string, CancelTimer>();
  #isHeard = false;

  constructor(options: TrafficWitnessOptions) {
    this.#options = options;
    this.#witness = { hop: "traffic", name: options.name };
  }

  take(input: TrafficInput): void {
    switch (input.type) {
      case "heard":
        this.#isHeard = input.isHeard;
        if (!input.isHeard) this.#silent();
        break;
      case "named":
        this.#follow(input.service);
        break;
      case "request":
        this.#options.target.traffic({ witness: this.#witness, ...input.request });
        break;
    }
  }

  /** Must receive every step of every change before other listeners do. */
  onEvent(event: JourneyEvent): void {
    // A request in the log may be the last event of a change that is ending: it must not be waited
    // for again.
    if (event.type !== "shown" || event.hop.hop === "traffic") return;
    const { cluster, service } = event.journey.endpoint;
    // If no cluster has reported the address, the owner of its requests is unknown.
    if (cluster !== undefined) this.expect(service);
  }

  /**
   * An endpoint of the service has changed. A log that was quiet until then names the service only
   * with the first request afterwards, and the change must not be over by then.
   */
  expect(service: string): void {
    if (!this.#isHeard || !this.isNew(service) || this.#expected.has(service)) return;
    const { timers, target } = this.#options;
    const unnamed = { cluster: undefined, service };
    const giveUp = (): void => {
      this.#expected.delete(service);
      target.sink.unfollow(this.#witness, unnamed);
    };
    this.#expected.set(service, timers.after(expectedForMs, giveUp));
    target.sink.follow(this.#witness, unnamed);
  }

  /** It is not followed for good yet, and there is room for it. */
  isNew(service: string): boolean {
    if (this.#followed.has(service)) return false;
    return this.#expected.has(service) || this.#followed.size + this.#expected.size < servicesMax;
  }

  /** The log cannot be read at present; its next entries end this. */
  #silent(): void {
    const { sink } = this.#options.target;
    const services = [...this.#followed, ...this.#expected.keys()];
    for (const cancel of this.#expected.values()) cancel();
    this.#followed.clear();
    this.#expected.clear();
    for (const service of services) {
      sink.unfollow(this.#witness, { cluster: undefined, service });
    }
  }

  #follow(service: string): void {
    if (!this.isNew(service)) return;
    this.#expected.get(service)?.();
    this.#expected.delete(service);
    this.#followed.add(service);
    this.#options.target.sink.follow(this.#witness, { cluster: undefined, service });
  }
}
