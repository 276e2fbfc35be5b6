import { expect, test } from "vitest";
import { RecordedTerminal } from "../environment/recorded-terminal.contract.ts";
import { inObserverWorld, type ObserverWorld } from "../observe/observer-world.contract.ts";
import { runProgram } from "./program.ts";
import { lockstepWatch, startShop } from "./watch/watch-command.contract.ts";

const path = "/seen.jsonl";

/** One pod comes and is published late, one goes and never is. */
async function changePods(world: ObserverWorld): Promise<void> {
  const { timers } = world.simulation.host("admin");
  await timers.sleep(5_000);
  await world.addPod("lab-1", "web-2", "10.0.0.2");
  await timers.sleep(3_000);
  await world.publish("lab-1", "web", ["10.0.0.1", "10.0.0.2"]);
  await timers.sleep(1_000);
  await world.removePod("lab-1", "web-1");
  await timers.sleep(40_000);
}

/** `lockstep watch --replay`, without any cluster. */
async function replay(world: ObserverWorld, args: readonly string[] = []) {
  const environment = world.simulation.host("lockstep");
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const line = ["watch", "--replay", path, "--utc", ...args];
  const code = await runProgram({ environment, terminal, stop: stop.signal }, "0.0.0", line);
  return { code, out: terminal.out, errors: terminal.error };
}

/** What follows the first empty line: before it stands where it was read from. */
function afterStart(text: string): string {
  return text.slice(text.indexOf("\n\n") + 2);
}

test.each([[[]], [["--json"]]])("a replay %j shows what the run showed", (args) =>
  inObserverWorld(async (world) => {
    await startShop(world, "lab-1");
    const recorded = ["--record", path, ...args];
    const seen = await lockstepWatch(world, { args: recorded, meanwhile: changePods });
    const again = await replay(world, args);
    expect(again.out).toBe(seen.out);
    expect(afterStart(again.errors)).toBe(afterStart(seen.errors));
    expect(again.code).toBe(seen.code);
  }),
);
