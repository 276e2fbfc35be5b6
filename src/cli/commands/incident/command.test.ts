import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { allIncidents } from "../../../lab/incidents/all-incidents.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

/** The command as somebody would type it, up to where a play would begin. */
async function run(...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, (simulation) => {
    const context = { environment: simulation.host("here"), terminal, stop };
    return runProgram(context, "1.2.3", ["incident", ...args]);
  });
  return { code, out: terminal.out, error: terminal.error };
}

test("without a name the incidents are listed, with how to play one", async () => {
  const { code, out } = await run();
  expect(code).toBe(0);
  for (const { name, summary } of allIncidents) {
    expect(out).toContain(`${name}\n  ${summary.slice(0, 40)}`);
  }
  expect(out).toContain("Replay one:      lockstep incident ");
  expect(Math.max(...out.split("\n").map(({ length }) => length))).toBeLessThanOrEqual(80);
  const listed: unknown = JSON.parse((await run("--json")).out);
  const incidents = allIncidents.map(({ name }) => expect.objectContaining({ name }));
  expect(listed).toEqual({ kind: "lockstep-incident-names", version: 1, incidents });
});

test("an unknown name is refused with the known ones, and so are flags that exclude each other", async () => {
  const names = allIncidents.map(({ name }) => name).join(", ");
  await expect(run("no-such")).rejects.toThrow(
    `there is no incident no-such: give one of ${names}.`,
  );
  await expect(run("throttled-controller", "--all")).rejects.toThrow(
    "throttled-controller and --all cannot be used together",
  );
  await expect(run("--fix")).rejects.toThrow(`--fix needs an incident: give one of ${names}`);
  await expect(run("--all", "--fix")).rejects.toThrow("--fix and --all cannot be used together");
  await expect(run("--all", "--save", "x")).rejects.toThrow(
    "--save and --all cannot be used together",
  );
  const wrongSeed = await run("throttled-controller", "--seed", "x");
  expect(wrongSeed.code).toBe(2);
  expect(wrongSeed.error).toContain("It must be a whole number from 0 to 2147483647.");
});

test("the help teaches by examples", async () => {
  const { code, out } = await run("--help");
  expect(code).toBe(0);
  expect(out).toContain("lockstep incident --all --json | jq .held");
});
