import { expect, test } from "vitest";
import { lockstepWatch, startShop } from "../../../../tests/cli/watch-command.ts";
import { inObserverWorld, type ObserverWorld } from "../../../../tests/observer/observer-world.ts";

/** A pod comes beside a log in which nothing has been written until then. */
async function watchQuietLog(
  world: ObserverWorld,
  args: readonly string[],
  afterwards: (log: (address: string) => Promise<void>) => Promise<void>,
): Promise<string> {
  await startShop(world, "lab-1");
  const { timers, clock } = world.simulation.host("admin");
  const { files } = world.simulation.host("lockstep");
  const log = (address: string): Promise<void> => {
    const request = { service: "shop/web:80", upstream_addr: `${address}:8080`, status: 200 };
    const line = JSON.stringify({ msec: clock.wallMs() / 1_000, ...request });
    return files.append("/access.log", `${line}\n`);
  };
  await files.write("/access.log", "");
  const { out } = await lockstepWatch(world, {
    args: ["--access-log", "/access.log", ...args],
    meanwhile: async () => {
      await timers.sleep(10_000);
      await world.addPod("lab-1", "web-2", "10.0.0.2");
      await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
      await timers.sleep(700);
      await afterwards(log);
    },
  });
  return out;
}

test("the first line of a quiet log counts for the change that was a moment before it", () =>
  inObserverWorld(async (world) => {
    const { timers } = world.simulation.host("admin");
    const out = await watchQuietLog(world, [], async (log) => {
      await log("10.0.0.2");
      await timers.sleep(5_000);
    });
    expect(out).toMatch(/\+10\.0\.0\.2 shop\/web .* · traffic 7\d\d ms\n$/);
  }));

test("of a service that the log never names it stays unknown, and nothing waits for ever", () =>
  inObserverWorld(async (world) => {
    const { timers } = world.simulation.host("admin");
    const out = await watchQuietLog(world, ["--json"], () => timers.sleep(80_000));
    const over = out
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === "over");
    expect(over.map(({ journey }) => journey.outcome)).toEqual(["complete"]);
    expect(over[0].journey.hops.map(({ hop }: { hop: string }) => hop)).toEqual([
      "pod",
      "published",
    ]);
    expect(JSON.parse(out.trimEnd().split("\n").at(-1) ?? "").unknown.traffic).toBe(
      "no request to a changed endpoint yet",
    );
  }));

test("a change is over once, also beside a second log that has not named the service", () =>
  inObserverWorld(async (world) => {
    const { timers, clock } = world.simulation.host("admin");
    const { files } = world.simulation.host("lockstep");
    await startShop(world, "lab-1");
    await files.write("/busy.log", "");
    await files.write("/quiet.log", "");
    const request = { service: "shop/web:80", upstream_addr: "10.0.0.1:8080", status: 200 };
    const { out } = await lockstepWatch(world, {
      args: ["--json", "--access-log", "/busy.log", "--access-log", "/quiet.log"],
      meanwhile: async () => {
        await timers.sleep(10_000);
        await world.removePod("lab-1", "web-1");
        await world.publish("lab-1", "web", []);
        await timers.sleep(1_000);
        const line = JSON.stringify({ msec: clock.wallMs() / 1_000, ...request });
        await files.append("/busy.log", `${line}\n`);
        await timers.sleep(200_000);
      },
    });
    const told = out.split("\n").filter((line) => line.startsWith('{"type":"over"'));
    expect(told).toHaveLength(1);
  }));
