// The endpoint of a key: the twin of proxy/lua/lockstep/ring.lua, which says how it works. Both pass
// the cases of proxy/cases/; a rule changes in both or in neither.
import { crc32 } from "node:zlib";
import { type BalancedService, type Choice, indexesOf, inTiers, type Tier } from "./balance.ts";

interface Ring {
  readonly points: readonly number[];
  readonly indexes: readonly number[];
}

/** As in ring.lua. */
const probes = 11;
const pointsOfEndpoint = 8;
const ringSize = 2 ** 32;

/** A ring is made when its tier is first asked, and lasts as long as the push that brought it. */
const rings = new WeakMap<Tier, Ring>();

/** The same endpoint for the same key, as long as it serves. Undefined when all were tried. */
export function pickByKey(
  service: BalancedService,
  key: string,
  choice: Choice,
): number | undefined {
  const hash = mix(crc32(key) | 0);
  return inTiers(service, choice, (tier, fits) => nearest(service, tier, hash, fits));
}

function nearest(
  service: BalancedService,
  tier: Tier,
  hash: number,
  fits: (index: number) => boolean,
): number | undefined {
  const ring = rings.get(tier) ?? ringOf(service, tier);
  rings.set(tier, ring);
  const stride = mix(hash);
  let best: number | undefined;
  let shortest = Number.POSITIVE_INFINITY;
  for (let probe = 0; probe < probes; probe += 1) {
    const at = modulo(hash + probe * stride);
    const found = nextFitting(ring, at, fits);
    if (found === undefined) return indexesOf(tier).find(fits);
    const weight = tier.sums === undefined ? 1 : (service.entry.weights?.[found.index] ?? 1);
    const distance = found.distance / weight;
    if (distance < shortest) [best, shortest] = [found.index, distance];
  }
  return best;
}

function nextFitting(
  { points, indexes }: Ring,
  at: number,
  fits: (index: number) => boolean,
): { readonly index: number; readonly distance: number } | undefined {
  const after = points.findIndex((point) => point >= at);
  const first = Math.max(after, 0);
  for (let step = 0; step < points.length; step += 1) {
    const there = (first + step) % points.length;
    const index = indexes[there] ?? 0;
    if (fits(index)) return { index, distance: modulo((points[there] ?? 0) - at) };
  }
  return undefined;
}

function ringOf({ entry }: BalancedService, tier: Tier): Ring {
  // An endpoint with weight 0 has no keys.
  const weighty = indexesOf(tier).filter(
    (index) => tier.sums === undefined || (entry.weights?.[index] ?? 1) > 0,
  );
  const placed = weighty.flatMap((index) => {
    const hash = mix(crc32(entry.names[index] ?? "") | 0);
    const points = Array.from({ length: pointsOfEndpoint }, (_, one) => hash + one * mix(hash));
    return points.map((point) => ({ index, point: modulo(point) }));
  });
  placed.sort((one, other) => one.point - other.point || one.index - other.index);
  return { points: placed.map(({ point }) => point), indexes: placed.map(({ index }) => index) };
}

/** Bob Jenkins' integer hash, of 32 bits. */
function mix(number: number): number {
  let mixed = (number + 0x7ed55d16 + (number << 12)) | 0;
  mixed = mixed ^ 0xc761c23c ^ (mixed >>> 19);
  mixed = (mixed + 0x165667b1 + (mixed << 5)) | 0;
  mixed = ((mixed + 0xd3a2646c) | 0) ^ (mixed << 9);
  mixed = (mixed + 0xfd7046c5 + (mixed << 3)) | 0;
  return mixed ^ 0xb55a4f09 ^ (mixed >>> 16);
}

function modulo(number: number): number {
  return ((number % ringSize) + ringSize) % ringSize;
}
