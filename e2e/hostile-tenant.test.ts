// The hostile tenant of tests/tenants on a real nginx: whatever it writes, new hosts of another
// namespace are served, those that were are not touched, and its certificate is the one that is shown;
// also after Lockstep was replaced and after nginx was killed.
import { describe, expect } from "vitest";
import { randomInt } from "../src/environment/random.ts";
import { SeededRandom } from "../src/simulation/seeded-random.ts";
import { forEachSeed } from "../src/simulation/seeds.ts";
import { tryToWrite } from "../tests/tenants/api-write.ts";
import { HostileTenant } from "../tests/tenants/hostile-tenant.ts";
import { HostileWorld, hostile, ingress } from "./hostile-world.ts";
import { type ProxyWorld, withoutNginx } from "./proxy-world.ts";

const acts = 12;

/** Until another one has its place: the workers of the killed one answer for a moment more. */
async function killNginx(proxy: ProxyWorld): Promise<void> {
  const { masterPid } = await proxy.control().state();
  process.kill(masterPid, "SIGKILL");
  const now = () =>
    proxy
      .control()
      .state()
      .catch(() => undefined);
  await proxy.until(async () => ((await now())?.masterPid ?? masterPid) !== masterPid);
}

interface Events {
  readonly items: readonly {
    readonly reason: string;
    readonly message: string;
    readonly involvedObject: object;
  }[];
}

/** One host whose expressions take more than any entry may: its author can see that in an Event. */
async function exceedShare(world: HostileWorld): Promise<void> {
  const spec = world.specOf("large.example");
  const [{ http }] = spec.rules;
  const paths = Array.from({ length: 64 }, (_, number) => ({
    ...http.paths[0],
    path: `/${number}-[a-z]{900}`,
  }));
  const annotations = { "lockstep.dev/use-regex": "true" };
  const rules = [{ host: "large.example", http: { paths } }];
  await world.create(ingress("large", { ...spec, rules }, annotations));
  const path = `/api/v1/namespaces/${hostile}/events`;
  const problemEvent = async () => {
    const { body } = await world.client.request({ verb: "list", method: "GET", path });
    const { items }: Events = JSON.parse(body.toString("utf8"));
    return items.find(({ reason }) => reason === "MemoryShareExceeded");
  };
  await world.proxy.until(async () => (await problemEvent()) !== undefined);
  const event = await problemEvent();
  expect(event?.involvedObject).toMatchObject({ kind: "Ingress", name: "large" });
  expect(event?.message).toMatch(/^host large.example: namespace hostile exceeds its share/);
  expect((await world.proxy.ask("large.example")).status).toBe(503);
}

describe.skipIf(withoutNginx !== false)("a hostile tenant on a real nginx", () => {
  forEachSeed("changes nothing for the others", { seeds: 1 }, (seed) =>
    HostileWorld.use(async (world) => {
      const { proxy } = world;
      const random = new SeededRandom({ seed, name: "hostile" });
      const calm: string[] = ["kept.example"];
      // Which of two objects is older is known to the second.
      const createdAtMs = new Map(calm.map((host) => [host, performance.now()]));
      const isOld = (host: string) => performance.now() - (createdAtMs.get(host) ?? 0) > 2_000;
      const tenant = new HostileTenant({
        namespace: hostile,
        random,
        victims: () => calm.filter(isOld),
        keyPair: world.other,
        largestShare: 0.3,
      });
      const { answers, certificate } = await world.fingerprint();
      await exceedShare(world);
      for (let act = 0; act < acts; act += 1) {
        for (const one of tenant.next().writes) await tryToWrite(world.client, one);
        const restart = randomInt(random, 4);
        if (restart === 0) await world.restart();
        if (restart === 1) await killNginx(proxy);
        const host = `calm-${act}.example`;
        calm.push(host);
        createdAtMs.set(host, performance.now());
        await world.create(ingress(`calm-${act}`, world.specOf(host), {}, "kept"));
        await proxy.until(async () => (await proxy.ask(host)).status === 200);
        for (const one of calm) {
          expect({ one, status: (await proxy.ask(one)).status }).toEqual({ one, status: 200 });
        }
      }
      expect(await world.fingerprint()).toMatchObject({ answers, certificate });
    }),
  );
});
