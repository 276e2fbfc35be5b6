// The quicker of two endpoints drawn by chance: the twin of proxy/lua/lockstep/least_latency.lua.
// Both pass the cases of proxy/cases/; a rule changes in both or in neither.
import { type BalancedService, type Choice, inTiers, positionAt, type Tier } from "./balance.ts";

export interface Chance {
  /** From 0 to below 1. */
  readonly draw: () => number;
  /** Of the endpoint in a slot: less is better. */
  readonly cost: (slot: number) => number;
  /** Of the endpoint in a slot: the part of its ordinary share that it gets, from 0 to 1. */
  readonly share: (slot: number) => number;
}

/** As in least_latency.lua. */
const decayMs = 10_000;
const slowStartMs = 10_000;
const leastMs = 1;

export function latencyCost(averageMs: number, ageMs: number, underWay: number): number {
  const decayedMs = averageMs * Math.exp(-Math.max(ageMs, 0) / decayMs);
  return (decayedMs + leastMs) * (underWay + 1);
}

export function slowStartShare(joinedMsAgo: number): number {
  // A clock that went back must not delay an endpoint.
  return joinedMsAgo < 0 ? 1 : Math.min(joinedMsAgo / slowStartMs, 1);
}

/** Undefined when all were tried. */
export function pickByLatency(
  service: BalancedService,
  chance: Chance,
  choice: Choice,
): number | undefined {
  return inTiers(service, choice, (tier, fits) => {
    const first = drawOne(tier, chance.draw(), fits);
    if (first === undefined) return undefined;
    const second = drawOne(tier, chance.draw(), (index) => index !== first && fits(index));
    return second === undefined ? first : ofTwo(service, chance, first, second);
  });
}

function ofTwo(
  { entry }: BalancedService,
  { draw, cost, share }: Chance,
  first: number,
  second: number,
): number {
  const slotOf = (index: number): number => entry.slots[index] ?? 0;
  const isSwapped = cost(slotOf(second)) < cost(slotOf(first));
  const [better, other] = isSwapped ? [second, first] : [first, second];
  const own = share(slotOf(better));
  return own < share(slotOf(other)) && draw() >= own ? other : better;
}

/** The first that fits from the point on. */
function drawOne(tier: Tier, point: number, fits: (index: number) => boolean): number | undefined {
  const start = positionAt(tier, point);
  const order = Array.from({ length: tier.count }, (_, step) => (start + step) % tier.count);
  return order.map((position) => tier.first + position).find(fits);
}
