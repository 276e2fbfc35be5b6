import { expect, it } from "vitest";
import type { MonotonicMs, WallMs } from "../../environment/clock.ts";
import { NoAddressError, PodAddresses } from "./pod-addresses.ts";

function makeAddresses(reuseAfterMs: number) {
  const time = { now: 0 };
  const clock = { monotonicMs: () => time.now as MonotonicMs, wallMs: () => time.now as WallMs };
  return { time, addresses: new PodAddresses({ clock, network: "127.83", reuseAfterMs }) };
}

it("takes different addresses of its network, in order", () => {
  const { addresses } = makeAddresses(1_000);
  const taken = Array.from({ length: 255 }, () => addresses.take());
  expect([taken[0], taken[1], taken[253], taken[254]]).toEqual([
    "127.83.0.1",
    "127.83.0.2",
    "127.83.0.254",
    "127.83.1.1",
  ]);
});

it("lets an address rest before it is used again, in the order of their release", () => {
  const { addresses, time } = makeAddresses(1_000);
  const [first, second] = [addresses.take(), addresses.take()];
  addresses.release(second);
  time.now = 500;
  addresses.release(first);
  time.now = 999;
  expect(addresses.take()).toBe("127.83.0.3");
  time.now = 1_000;
  expect(addresses.take()).toBe(second);
  expect(addresses.take()).toBe("127.83.0.4");
  time.now = 1_500;
  expect(addresses.take()).toBe(first);
});

it("uses an address again at once with no rest", () => {
  const { addresses } = makeAddresses(0);
  const address = addresses.take();
  addresses.release(address);
  expect(addresses.take()).toBe(address);
});

it("throws when every address is in use", () => {
  const { addresses } = makeAddresses(0);
  const taken = Array.from({ length: 255 * 254 }, () => addresses.take());
  expect(new Set(taken).size).toBe(255 * 254);
  expect(taken.at(-1)).toBe("127.83.254.254");
  expect(() => addresses.take()).toThrow(NoAddressError);
});
