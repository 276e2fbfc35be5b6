// Observations that came late: from a list, or from a watch that was cut off. One of them may be half of
// what happened: a list reports object by object, and a service and its pods are reported by two watches.
// So they wait until the watermark of their hop has passed their arrival, which says that all has been
// reported; then two opposite ones of the same gap are nothing, and the rest is taken in order.
import { assert } from "../environment/assert.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import type { Observation } from "./observation.ts";
import { endpointKey, type UnfollowedService, type Witness, witnessId } from "./witness.ts";

/** Of one witness on one endpoint, oldest first. */
interface Waiting {
  readonly observations: Observation[];
}

/** Invariant: some observations of the witness on the service wait. */
interface WaitingService {
  count: number;
  unfollowed: readonly UnfollowedService[];
}

export class LateObservations {
  /** By witness and endpoint. */
  readonly #waiting = new Map<string, Waiting>();
  /** By witness and service. */
  readonly #services = new Map<string, WaitingService>();

  get size(): number {
    return this.#waiting.size;
  }

  has(observation: Pick<Observation, "witness" | "endpoint">): boolean {
    return this.#waiting.size > 0 && this.#waiting.has(waitingKey(observation));
  }

  /** Whether some of the witness on the service wait. */
  hasOf(witness: Witness, service: string): boolean {
    return this.#services.size > 0 && this.#services.has(serviceKey(witness, service));
  }

  add(observation: Observation): void {
    const key = waitingKey(observation);
    const known = this.#waiting.get(key);
    if (known === undefined) this.#waiting.set(key, { observations: [observation] });
    else known.observations.push(observation);
    const ofService = serviceKey(observation.witness, observation.endpoint.service);
    const service = this.#services.get(ofService) ?? { count: 0, unfollowed: [] };
    service.count += 1;
    this.#services.set(ofService, service);
  }

  /** To be unfollowed when none wait any more. */
  unfollowLater(witness: Witness, service: UnfollowedService): void {
    const waiting = this.#services.get(serviceKey(witness, service.service));
    if (waiting !== undefined) waiting.unfollowed = [...waiting.unfollowed, service];
  }

  /** It is followed again, so it is not unfollowed later. */
  keepFollowing(witness: Witness, { service, cluster }: UnfollowedService): void {
    const waiting = this.#services.get(serviceKey(witness, service));
    if (waiting === undefined) return;
    waiting.unfollowed = waiting.unfollowed.filter((one) => one.cluster !== cluster);
  }

  /** The observations that no longer have to wait, in order, and the witnesses to unfollow then. */
  *release(
    watermark: (witness: Witness, service: string) => MonotonicMs,
  ): Generator<Released, void, undefined> {
    for (const [key, { observations }] of this.#waiting) {
      const last = observations.findLast(({ notBefore }) => notBefore !== undefined);
      const [first] = observations;
      if (last === undefined || first === undefined) continue;
      const { witness, endpoint } = first;
      if (watermark(witness, endpoint.service) <= last.at) continue;
      this.#waiting.delete(key);
      const ofService = serviceKey(witness, endpoint.service);
      const service = this.#services.get(ofService);
      assert(service !== undefined, "the service of what waits is known");
      service.count -= observations.length;
      assert(service.count >= 0, "what waits is counted once for its service");
      const isLast = service.count === 0;
      if (isLast) this.#services.delete(ofService);
      const rest = withoutOpposites(observations);
      const cancelled = observations.length - rest.length;
      yield {
        witness,
        observations: rest,
        cancelled,
        unfollowed: isLast ? service.unfollowed : [],
      };
    }
  }
}

export interface Released {
  readonly witness: Witness;
  readonly observations: readonly Observation[];
  /** How many were half of nothing. */
  readonly cancelled: number;
  readonly unfollowed: readonly UnfollowedService[];
}

/**
 * Opposite late ones of one instant are halves of one list, which moves an endpoint from object to object.
 * Of one gap they are nothing as well; of an odd number, the first is left.
 */
export function withoutOpposites(all: readonly Observation[]): readonly Observation[] {
  const gaps: Observation[][] = [];
  for (const one of withoutHalves(all)) {
    const gap = gaps.at(-1);
    const before = gap?.at(-1);
    if (gap !== undefined && before !== undefined && isSameGap(before, one)) gap.push(one);
    else gaps.push([one]);
  }
  return gaps.flatMap((gap) => (gap.length % 2 === 0 ? [] : gap.slice(0, 1)));
}

function withoutHalves(all: readonly Observation[]): readonly Observation[] {
  const left: Observation[] = [];
  for (const one of all) {
    const before = left.at(-1);
    const isHalf = before?.at === one.at && before.notBefore !== undefined;
    if (isHalf && before.direction !== one.direction) left.pop();
    else left.push(one);
  }
  return left;
}

/** The later one happened at some time since before the earlier was reported. */
function isSameGap(before: Observation, { notBefore, direction }: Observation): boolean {
  if (before.notBefore === undefined || notBefore === undefined) return false;
  return direction !== before.direction && notBefore < before.at;
}

function waitingKey({ witness, endpoint }: Pick<Observation, "witness" | "endpoint">): string {
  return `${witnessId(witness)} ${endpointKey(endpoint)}`;
}

function serviceKey(witness: Witness, service: string): string {
  return `${witnessId(witness)} ${service}`;
}
