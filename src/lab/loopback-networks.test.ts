import { expect, it } from "vitest";
import type { Network } from "../environment/network.ts";
import { NetworkError } from "../environment/network.ts";
import { nodeEnvironment } from "../environment/node/node-environment.ts";
import { SeededRandom } from "../simulation/seeded-random.ts";
import { NoLoopbackNetworkError, takeLoopbackNetworks } from "./loopback-networks.ts";

function seeded(seed: number) {
  return new SeededRandom({ seed, name: "test", onDraw: () => undefined });
}

it("gives two labs different networks, though chance chooses the same for both", async () => {
  const { network } = nodeEnvironment();
  const first = await takeLoopbackNetworks({ network, random: seeded(1) }, 3);
  const second = await takeLoopbackNetworks({ network, random: seeded(1) }, 3);
  await Promise.all([first.release(), second.release()]);
  const all = [...first.networks, ...second.networks];
  expect(new Set(all).size).toBe(6);
  expect(all.filter((one) => !/^127\.(1[6-9]|[2-9]\d|1\d\d|2[0-4]\d|25[0-4])$/.test(one))).toEqual(
    [],
  );
});

it("gives all of them back when there are not enough, and says so", async () => {
  const free = new Set(["127.20.255.255", "127.200.255.255"]);
  const held = new Set<string>();
  const listen = async ({ host, port }: { host: string; port: number }) => {
    if (!free.has(host) || held.has(host)) throw new NetworkError("ADDRESS_IN_USE", "taken");
    held.add(host);
    const close = async () => void held.delete(host);
    return { host, port, close, stopAccepting: () => undefined };
  };
  const network: Network = { listen, request: () => Promise.reject(new Error("not asked")) };
  const two = await takeLoopbackNetworks({ network, random: seeded(2) }, 2);
  expect([...two.networks].sort()).toEqual(["127.20", "127.200"]);
  await two.release();
  await expect(takeLoopbackNetworks({ network, random: seeded(2) }, 3)).rejects.toThrow(
    NoLoopbackNetworkError,
  );
  expect(held).toEqual(new Set());
});
