// For all times of changes: syncs keep their distance, no change takes longer than the limiter and
// the poll together, and in the end the proxy routes to the published endpoints.
import { expect } from "vitest";
import { inStockWorld, type StockWorld } from "../../../tests/stock/stock-world.ts";
import { randomBetween } from "../../environment/random.ts";
import { forEachSeed } from "../../simulation/seeds.ts";

const changes = 20;

/** `--sync-rate-limit 0.3` and the workers' poll, and some milliseconds for the watch. */
const syncEveryMs = 1_000 / 0.3;
const slowestMs = syncEveryMs + 1_000 + 20;

forEachSeed(
  "a change of endpoints is routed by within the limiter's time and a poll",
  { seeds: 20 },
  (seed) =>
    inStockWorld(
      async (world) => {
        await world.publish("10.1.0.0");
        await world.createIngress("shop", "shop.example");
        await world.simulation.sleep(20_000);
        const published = await publishAtRandom(world);
        await world.simulation.sleep(20_000);

        const pushes = world.events.filter(({ what }) => what === "push").slice(1);
        for (const [index, push] of pushes.entries()) {
          const before = pushes[index - 1];
          if (before === undefined) continue;
          expect(push.atMs - before.atMs).toBeGreaterThanOrEqual(syncEveryMs - 0.001);
        }
        for (const { number, atMs } of published) {
          expect(routedAtMs(world, number, atMs) - atMs).toBeLessThanOrEqual(slowestMs);
        }
        expect(world.events.at(-1)).toMatchObject({
          what: "routed",
          addresses: [`10.1.0.${changes}`],
        });
      },
      { seed },
    ),
);

interface PublishedAt {
  readonly number: number;
  readonly atMs: number;
}

/** Each replaces the one before, by an address with the next number. */
async function publishAtRandom(world: StockWorld): Promise<readonly PublishedAt[]> {
  const published: PublishedAt[] = [];
  for (let number = 1; number <= changes; number += 1) {
    await world.simulation.sleep(randomBetween(world.simulation.random, 0, 6_000));
    await world.publish(`10.1.0.${number}`);
    published.push({ number, atMs: world.simulation.now() });
  }
  return published;
}

/** When the proxy first routed by this change or a later one. */
function routedAtMs({ events }: StockWorld, number: number, afterMs: number): number {
  const routed = events.find(({ what, addresses: [address = ""] }) => {
    return what === "routed" && Number(address.split(".").at(-1)) >= number;
  });
  return Math.max(afterMs, routed?.atMs ?? Number.POSITIVE_INFINITY);
}
