// From an unreachable endpoint to a suspect and back, with the real loop, pusher and prober and the
// twin of the proxy. No slice and no pod changes while it happens.
import { expect, test } from "vitest";
import { connectTimeoutMs } from "../../src/outputs/nginx/twin-proxy.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import { probeTimeoutMs } from "../../src/sources/probe-once.ts";
import { probeEveryMs } from "../../src/sources/probes.ts";
import { reportEveryMs } from "../../src/sources/proxy-feedback.ts";
import { type IngressWorld, inIngressWorld, type WorldOptions } from "./ingress-world.ts";

const web = "default/web:80";
const addresses = ["10.0.0.1", "10.0.0.2"] as const;
const both = addresses.map((address) => `east ${address}:8080`);
const reason = "its pod is ready, but requests to it fail, and it does not answer probes";

/** Some messages of the network. */
const aMomentMs = 50;

/** Long after the proxy has forgotten. */
const longMs = 60_000;

/** Until probes have found it silent, and shorter than the proxy avoids an endpoint by itself. */
const silentForMs = 4_000;
const backWithinMs = 1_000;

const published: WorldOptions["before"] = async ({ east }) => {
  await east.service("web");
  for (const [index, address] of addresses.entries()) {
    await east.pod(`web-${index + 1}`, "web", address);
  }
  await east.slice("web", { "web-1": addresses[0], "web-2": addresses[1] });
  await east.ingress("web", "web.example", "web");
};

async function startPrograms({ proxy }: IngressWorld): Promise<void> {
  for (const [index, address] of addresses.entries()) await proxy.program(`n${index + 1}`, address);
}

/** As many requests as there are endpoints, one after the other. */
async function askAll({ proxy }: IngressWorld): Promise<readonly string[]> {
  return [await proxy.ask("web.example"), await proxy.ask("web.example")];
}

function stateOf({ loop }: IngressWorld, address: string): string | undefined {
  const { endpoints = [] } = loop.decisions.truths.get(web)?.truth ?? {};
  const found = endpoints.find((one) => one.address === address);
  return found && `${found.state}: ${found.reason}`;
}

forEachSeed(
  "a machine that is gone gets no requests after one failed one and two silent probes",
  { seeds: 5 },
  (seed) =>
    inIngressWorld(
      async (world) => {
        const { simulation, active, overrides, loop } = world;
        await startPrograms(world);
        expect(new Set(await askAll(world))).toEqual(new Set(addresses));
        simulation.network.isolate("n1");
        const startedMs = simulation.now();
        expect(await askAll(world)).toEqual(["10.0.0.2", "10.0.0.2"]);
        expect(simulation.now() - startedMs).toBeLessThan(connectTimeoutMs + aMomentMs);
        expect(active(web)).toEqual(both);
        await simulation.sleep(reportEveryMs + 2 * probeTimeoutMs + probeEveryMs + aMomentMs);
        expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
        expect(stateOf(world, "10.0.0.1")).toBe(`suspect: ${reason}`);
        await simulation.sleep(longMs);
        const askedMs = simulation.now();
        expect(await askAll(world)).toEqual(["10.0.0.2", "10.0.0.2"]);
        expect(simulation.now() - askedMs).toBeLessThan(aMomentMs);
        simulation.network.rejoin("n1");
        await simulation.sleep(probeTimeoutMs + probeEveryMs + aMomentMs);
        expect(active(web)).toEqual(both);
        expect(new Set(await askAll(world))).toEqual(new Set(addresses));
        expect(overrides.entries().map(({ endpoint }) => endpoint.reason)).toEqual([reason]);
        expect(loop.probes.size).toBe(0);
      },
      { seed, before: published },
    ),
);

test("a machine that was cut off for a moment stays, and is watched only while requests fail", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, applied, loop } = world;
      await startPrograms(world);
      const before = applied.length;
      simulation.network.isolate("n1");
      expect(await askAll(world)).toEqual(["10.0.0.2", "10.0.0.2"]);
      await simulation.sleep(reportEveryMs + aMomentMs);
      expect(loop.probes.size).toBe(1);
      simulation.network.rejoin("n1");
      await simulation.sleep(longMs);
      expect([applied.length - before, loop.probes.size]).toEqual([0, 0]);
    },
    { before: published },
  ));

forEachSeed(
  "a machine that was silent for some seconds gets requests again within a second",
  { seeds: 5 },
  (seed) =>
    inIngressWorld(
      async (world) => {
        const { simulation, active } = world;
        await startPrograms(world);
        simulation.network.isolate("n1");
        expect(await askAll(world)).toEqual(["10.0.0.2", "10.0.0.2"]);
        await simulation.sleep(silentForMs);
        expect(active(web)).toEqual(["east 10.0.0.2:8080"]);
        simulation.network.rejoin("n1");
        await simulation.sleep(backWithinMs);
        // The proxy would have avoided it for much longer by itself.
        expect(new Set(await askAll(world))).toEqual(new Set(addresses));
        expect(active(web)).toEqual(both);
      },
      { seed, before: published },
    ),
);

test("a machine that was cut off for less than a report takes gets requests again within seconds", () =>
  inIngressWorld(
    async (world) => {
      const { simulation } = world;
      await startPrograms(world);
      simulation.network.isolate("n1");
      expect(await askAll(world)).toEqual(["10.0.0.2", "10.0.0.2"]);
      simulation.network.rejoin("n1");
      await simulation.sleep(reportEveryMs + probeEveryMs + aMomentMs);
      expect(new Set(await askAll(world))).toEqual(new Set(addresses));
    },
    { before: published },
  ));

test("a service whose endpoints are all gone goes on trying them", () =>
  inIngressWorld(
    async (world) => {
      const { simulation, active, proxy } = world;
      await startPrograms(world);
      for (const machine of ["n1", "n2"]) simulation.network.isolate(machine);
      expect(await askAll(world)).toEqual(["502", "502"]);
      await simulation.sleep(longMs);
      expect(active(web)).toEqual(both);
      expect(stateOf(world, "10.0.0.1")).toBe(`active: no better endpoint is left: ${reason}`);
      simulation.network.rejoin("n1");
      expect(await proxy.ask("web.example")).toBe("10.0.0.1");
      await simulation.sleep(probeEveryMs + aMomentMs);
      expect(active(web)).toEqual(["east 10.0.0.1:8080"]);
    },
    { before: published },
  ));
