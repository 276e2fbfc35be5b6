// A hostile tenant writes the largest, most and worst objects it can, while calm ones continue
// their work and Lockstep and its proxy are killed now and then. The proxy's state of the calm
// tenants is right again as soon as without the hostile one.
import { webcrypto } from "node:crypto";
import { beforeAll, expect } from "vitest";
import { makeAuthority } from "../../src/apiserver/certificate-authority.ts";
import type { WallMs } from "../../src/environment/clock.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { wallStartMs } from "../../src/simulation/simulated-timers.ts";
import { differences } from "./tenant-difference.ts";
import { runTenants, type TenantKeys } from "./tenant-world.ts";

let keys: TenantKeys;

beforeAll(async () => {
  const clock = { wallMs: () => wallStartMs as WallMs, monotonicMs: () => 0 as never };
  const authority = await makeAuthority({ clock, crypto: webcrypto, name: "test" });
  const pairsOf = async (namespace: string) => [
    await authority.issueServer([`*.${namespace}.example`]),
    await authority.issueServer([`*.${namespace}.example`]),
  ];
  keys = {
    calm: { "calm-1": await pairsOf("calm-1"), "calm-2": await pairsOf("calm-2") },
    hostile: await authority.issueServer(["*.calm-1.example", "*.calm-2.example"]),
  };
});

/** Without the shares of memory, 9 fails. */
const regressions = [9];

forEachSeed(
  "a hostile tenant changes nothing for the others",
  { seeds: 1, regressions },
  async (seed) => {
    const alone = await runTenants({ seed, keys, isHostile: false });
    const beside = await runTenants({ seed, keys, isHostile: true });
    expect(beside.acts.length).toBeGreaterThan(10);
    const harm = differences(alone, beside);
    if (harm.length > 0) throw new Error([...harm, "", ...beside.acts].join("\n"));
  },
);
