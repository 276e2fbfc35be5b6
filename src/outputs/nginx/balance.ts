// Which endpoint of a service comes next: the twin of proxy/lua/lockstep/balance.lua, used where
// there is no nginx. Both pass the cases of proxy/cases/; a rule changes in both or in neither.
import type { ServiceEntry } from "./service-entry.ts";

/** A service as the picks go by it; made once for each push of it. */
export interface BalancedService {
  readonly entry: ServiceEntry;
  readonly tiers: readonly Tier[];
}

export interface Tier {
  readonly first: number;
  readonly count: number;
  /** The weights, each added to those before; undefined when they are all alike. */
  readonly sums: readonly number[] | undefined;
}

export interface Pick {
  /** From 0. */
  readonly index: number;
  /** Where the next request begins. */
  readonly cursor: number;
}

/** Which endpoints may be picked now. */
export interface Choice {
  readonly isSuspect: (slot: number) => boolean;
  /** Indexes. */
  readonly tried?: ReadonlySet<number>;
}

/** Whether the endpoint at this index may be picked. */
type Fits = (index: number) => boolean;

/** As in balance.lua: multiples of the golden ratio fill the range from 0 to 1 evenly. */
const golden = 0.618_033_988_749_894_9;
const cursors = 1_048_576;

export function balancedService(entry: ServiceEntry): BalancedService {
  const tiers: Tier[] = [];
  let first = 0;
  for (const count of entry.tiers) {
    if (count > 0) tiers.push({ first, count, sums: sumsOf(entry.weights, first, count) });
    first += count;
  }
  return { entry, tiers };
}

/** Round robin, by weight where weights differ. Undefined when all were tried. */
export function pickInTurn(
  service: BalancedService,
  cursor: number,
  choice: Choice,
): Pick | undefined {
  return inTiers(service, choice, (tier, fits) =>
    tier.sums === undefined ? inTurn(tier, cursor, fits) : byWeight(service, tier, cursor, fits),
  );
}

/**
 * The first tier that has an endpoint which is neither tried nor suspect; when there is none, the
 * same again over the suspects, because trying is better than refusing.
 */
export function inTiers<T>(
  { entry, tiers }: BalancedService,
  { isSuspect, tried }: Choice,
  choose: (tier: Tier, fits: Fits) => T | undefined,
): T | undefined {
  for (const wantsSuspect of [false, true]) {
    const fits = (index: number): boolean =>
      tried?.has(index) !== true && isSuspect(entry.slots[index] ?? 0) === wantsSuspect;
    for (const tier of tiers) {
      const chosen = choose(tier, fits);
      if (chosen !== undefined) return chosen;
    }
  }
  return undefined;
}

export function indexesOf({ first, count }: Tier): readonly number[] {
  return Array.from({ length: count }, (_, position) => first + position);
}

/** The position of the endpoint whose share of the tier holds the point (from 0 to 1). */
export function positionAt({ count, sums }: Tier, point: number): number {
  if (sums === undefined) return Math.floor(point * count);
  const wanted = point * (sums[count - 1] ?? 0);
  const found = sums.findIndex((sum) => sum > wanted);
  return found < 0 ? count - 1 : found;
}

function inTurn({ first, count }: Tier, cursor: number, fits: Fits): Pick | undefined {
  for (let step = 0; step < count; step += 1) {
    const position = (cursor + step) % count;
    if (fits(first + position)) return { index: first + position, cursor: position + 1 };
  }
  return undefined;
}

function byWeight(
  service: BalancedService,
  tier: Tier,
  cursor: number,
  fits: Fits,
): Pick | undefined {
  const step = cursor % cursors;
  const multiple = step * golden;
  const point = multiple - Math.floor(multiple);
  const position = positionAt(tier, point);
  const first = tier.first + position;
  const index = fits(first) ? first : instead(service, tier, position, point, fits);
  if (index !== undefined) return { index, cursor: step + 1 };
  // All that fit have no weight: one is as good as another.
  return inTurn(tier, cursor, fits);
}

/** How far the point lies within the share of one that does not fit says who gets it instead. */
function instead(
  { entry }: BalancedService,
  tier: Tier,
  position: number,
  point: number,
  fits: Fits,
): number | undefined {
  const { first, count, sums = [] } = tier;
  const weightAt = (index: number): number => entry.weights?.[index] ?? 1;
  const below = sums[position - 1] ?? 0;
  const share = (point * (sums[count - 1] ?? 0) - below) / weightAt(first + position);
  const fitting = indexesOf(tier).filter(fits);
  let wanted = share * fitting.reduce((sum, index) => sum + weightAt(index), 0);
  return fitting.find((index) => {
    wanted -= weightAt(index);
    return wanted < 0;
  });
}

function sumsOf(
  weights: readonly number[] | undefined,
  first: number,
  count: number,
): readonly number[] | undefined {
  const own = (weights ?? []).slice(first, first + count);
  if (own.every((weight) => weight === own[0])) return undefined;
  let sum = 0;
  return own.map((weight) => {
    sum += weight;
    return sum;
  });
}
