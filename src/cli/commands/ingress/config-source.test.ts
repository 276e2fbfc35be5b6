import { expect, test } from "vitest";
import type { Environment } from "../../../environment/environment.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { ConfigSource, lookEveryMs } from "./config.ts";

const path = "/lockstep.yaml";

function withFile<Result>(
  text: string,
  run: (environment: Environment) => Promise<Result>,
): Promise<Result> {
  return simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("edge");
    await environment.files.write(path, text);
    return await run(environment);
  });
}

const open = (
  environment: Environment,
  flags: ReadonlyMap<string, readonly string[]> = new Map(),
) => ConfigSource.open(flags, { ...environment, path, shownPath: "lockstep.yaml" });

test("a change that can take effect is told, one of a field that a flag decides is not", async () => {
  const told = await withFile("spread: even\nlogLevel: warn\n", async (environment) => {
    const source = await open(environment, new Map([["logLevel", ["error"]]]));
    const seen: string[] = [];
    const stop = new AbortController();
    const following = source.follow(({ config }) => {
      seen.push(`${config.policy.spread} ${config.logLevel}`);
    }, stop.signal);
    for (const text of [
      "spread: even\nlogLevel: debug\n",
      "spread: local-first\n",
      "spread: sideways\n",
      "spread: even\n",
      "spread: even\nhttpPort: 81\n",
    ]) {
      await environment.files.write(path, text);
      await environment.timers.sleep(2 * lookEveryMs);
    }
    stop.abort(new Error("the end"));
    await following;
    return [...seen, source.current.config.httpPort];
  });
  expect(told).toEqual(["local-first error", "even error", 81]);
});

test("a file that goes away and comes back is read again, and what held before holds meanwhile", async () => {
  const told = await withFile("spread: even\n", async (environment) => {
    const source = await open(environment);
    const seen: string[] = [];
    const stop = new AbortController();
    const following = source.follow(({ config }) => {
      seen.push(config.policy.spread);
    }, stop.signal);
    await environment.files.remove(path);
    await environment.timers.sleep(2 * lookEveryMs);
    seen.push(`without a file ${source.current.config.policy.spread}`);
    await environment.files.write(path, "spread: local-first\n");
    await environment.timers.sleep(2 * lookEveryMs);
    stop.abort(new Error("the end"));
    await following;
    return seen;
  });
  expect(told).toEqual(["without a file even", "local-first"]);
});

test("a file that is wrong or absent at the start ends the command", async () => {
  await expect(withFile("a: 1\nspread: 2\n", open)).rejects.toThrow(
    "the config file is invalid:\n" +
      '  lockstep.yaml:1:1: there is no field "a"; there are kubeconfig, ',
  );
  await expect(
    withFile("", async (environment) => {
      await environment.files.remove(path);
      return await open(environment);
    }),
  ).rejects.toThrow("the config file lockstep.yaml does not exist");
});
