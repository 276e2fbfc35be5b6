// A gate between a witness and the journeys. While its watches are not listed, or are refused, the
// witness can show nothing: its hop is unknown and is not waited for. Once they are listed it is
// waited for.
import type { Observation, ObservationSink } from "../timeline/observation.ts";
import {
  type FollowedService,
  type ServiceRef,
  type UnfollowedService,
  type Witness,
  witnessId,
} from "../timeline/witness.ts";

export class FollowGate implements ObservationSink {
  readonly #sink: ObservationSink;
  /** The services that the witnesses follow, also while the gate is closed. */
  readonly #followed = new Map<
    string,
    { readonly witness: Witness; readonly service: FollowedService }
  >();
  #isOpen = false;

  constructor(sink: ObservationSink) {
    this.#sink = sink;
  }

  report(report: Observation): void {
    this.#sink.report(report);
  }

  follow(witness: Witness, service: FollowedService): void {
    this.#followed.set(followKey(witness, service), { witness, service });
    if (this.#isOpen) this.#sink.follow(witness, service);
  }

  unfollow(witness: Witness, service: UnfollowedService): void {
    const isFollowed = this.#followed.delete(followKey(witness, service));
    if (this.#isOpen && isFollowed) this.#sink.unfollow(witness, service);
  }

  /** Opens or closes, as its watches are now. */
  turn(watches: readonly { readonly isHeard: boolean }[]): void {
    const isOpen = watches.every(({ isHeard }) => isHeard);
    if (isOpen === this.#isOpen) return;
    this.#isOpen = isOpen;
    for (const { witness, service: followed } of this.#followed.values()) {
      const { cluster, service } = followed;
      if (isOpen) this.#sink.follow(witness, followed);
      else this.#sink.unfollow(witness, { cluster, service });
    }
  }
}

function followKey(witness: Witness, { cluster = "", service }: ServiceRef): string {
  return `${witnessId(witness)} ${cluster} ${service}`;
}
