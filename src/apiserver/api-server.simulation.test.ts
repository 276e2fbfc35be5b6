// Several writers and two servers on one storage, with chance in between: no update is ever lost.
import { expect } from "vitest";
import { type ApiWorld, inApiWorld } from "../../tests/apiserver/api-world.ts";
import { forEachSeed } from "../simulation/seeds.ts";
import { objectAt, textAt } from "./kinds/fields.ts";

const path = "/api/v1/namespaces/default/configmaps";
const writers = 4;
const attempts = 15;

forEachSeed("every acknowledged increment by PUT with a version counts once", {}, (seed) =>
  inApiWorld(
    async (world) => {
      const second = await world.addServer("second");
      await world.call("POST", path, { metadata: { name: "counter" }, data: { n: "0" } });
      for (const server of [world.server, second]) {
        server.faults.setRules([
          { match: {}, latency: { minMs: 0, maxMs: 20 }, resets: { rate: 0.1 } },
        ]);
      }
      const done = await Promise.all(
        Array.from({ length: writers }, (_, index) =>
          increments(world, index % 2 === 0 ? "server" : "second"),
        ),
      );
      for (const server of [world.server, second]) {
        server.faults.setRules([]);
      }
      const { json } = await world.call("GET", `${path}/counter`);
      const total = done.reduce((sum, count) => sum + count, 0);
      expect(textAt(json, "data", "n")).toBe(String(total));
      expect(total).toBeGreaterThan(0);
    },
    {},
    seed,
  ),
);

/** How many of the attempts were acknowledged. */
async function increments({ call }: ApiWorld, host: string): Promise<number> {
  let acknowledged = 0;
  for (let i = 0; i < attempts; i++) {
    try {
      const { json } = await call("GET", `${path}/counter`, undefined, { host });
      const n = String(Number(textAt(json, "data", "n")) + 1);
      const next = { ...objectAt({ json }, "json"), data: { n } };
      const { status } = await call("PUT", `${path}/counter`, next, { host });
      expect([200, 409]).toContain(status);
      acknowledged += status === 200 ? 1 : 0;
    } catch (error) {
      expect(error).toMatchObject({ code: "RESET" });
    }
  }
  return acknowledged;
}
