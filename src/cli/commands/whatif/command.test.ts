// How `lockstep whatif` ends when somebody stops it.
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { nodeEnvironment } from "../../../environment/node/node-environment.ts";
import { runProgram } from "../../program.ts";

test("it stops in the middle of a simulation, says so and gives no answer", async () => {
  const terminal = new RecordedTerminal();
  const stop = new AbortController();
  const environment = nodeEnvironment({ log: { level: () => "error" } });
  const context = { environment, terminal, stop: stop.signal };
  // Set before, because nobody may ask for real time while a simulation runs.
  setImmediate(() => stop.abort(new Error("stopped by SIGINT")));
  const running = runProgram(context, "1.2.3", ["whatif", "--services", "30000", "--json"]);
  expect(await running).toBe(2);
  expect(terminal.out).toBe("");
  expect(terminal.error).toBe("Stopped before the prediction was complete.\n");
});
