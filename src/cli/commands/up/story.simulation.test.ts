import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { checksOf } from "./checks.ts";
import { playStory } from "./story.ts";
import { Narrator } from "./view.ts";
import type { World } from "./world.ts";

test("without a finding there is no fix, and the story does not hold", async () => {
  const terminal = new RecordedTerminal();
  const restarts: unknown[] = [];
  // A cluster whose controller manager shows nothing, and where nothing ever changes.
  const controlPlane = { metricsUrl: undefined, restart: (flags: unknown) => restarts.push(flags) };
  const client: Pick<KubeClient, "request"> = {
    request: () => Promise.resolve({ status: 200, headers: {}, body: Buffer.from("{}") }),
  };
  const world = { journeys: [], client: () => client, cluster: () => ({ controlPlane }) };
  const result = await simulate({ seed: 1 }, (simulation) =>
    playStory({
      environment: simulation.host("here"),
      world: world as unknown as World,
      traffic: undefined,
      narrator: new Narrator({ terminal, quiet: false }),
      columns: 80,
      signal: new AbortController().signal,
    }),
  );
  expect(restarts).toEqual([]);
  expect(result.fixed).toBeUndefined();
  expect(terminal.out).toContain("No cause was found, so there is no fix to apply.\n");
  expect(terminal.out).not.toContain("--kube-api");
  expect(checksOf(result).map(({ text, holds }) => [text, holds])).toEqual([
    ["no cause was found", false],
    ["no fix was applied", false],
  ]);
});
