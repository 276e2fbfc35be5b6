// `lockstep lab` where it cannot begin.
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

test("a kubeconfig that cannot be written is refused before anything is started", async () => {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const problem: unknown = await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("here");
    const line = ["lab", "--kubeconfig", "/absent/x.yaml"];
    return await runProgram({ environment, terminal, stop }, "1.2.3", line).catch(
      (error: unknown) => error,
    );
  });
  expect(problem).toMatchObject({
    code: "USAGE",
    message: "the kubeconfig cannot be written to /absent/x.yaml: folder /absent does not exist",
  });
  expect(terminal.error).toBe("");
});
