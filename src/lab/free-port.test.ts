import { expect, test } from "vitest";
import { nodeEnvironment } from "../environment/node/node-environment.ts";
import type { Random } from "../environment/random.ts";
import { freePort } from "./free-port.ts";

/** Chance that gives these in turn, and then the last again. */
function drawn(values: readonly number[]): Random {
  let next = 0;
  return { next: () => values[Math.min(next++, values.length - 1)] ?? 0, uuid: () => "" };
}

test("a port that is taken is passed over, and the one found can be listened on", async () => {
  const { network, random } = nodeEnvironment();
  const host = "127.0.0.1";
  const port = await freePort({ network, random }, host);
  expect(port).toBeGreaterThanOrEqual(20_000);
  expect(port).toBeLessThan(32_768);
  const share = (one: number) => (one - 20_000 + 0.5) / 12_768;
  const listener = await network.listen({ host, port }, (exchange) => exchange.abort());
  const other = port === 20_000 ? 20_001 : port - 1;
  const chance = drawn([share(port), share(port), share(other)]);
  expect(await freePort({ network, random: chance }, host)).not.toBe(port);
  await listener.close();
});
