// The script for bash is run by a real bash; the others are made of the same tree.
import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../../../simulation/simulation.ts";
import { runProgram } from "../../program.ts";

async function completion(shell: string): Promise<string> {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, (simulation) =>
    runProgram({ environment: simulation.host("here"), terminal, stop }, "1", [
      "completion",
      shell,
    ]),
  );
  expect({ code, error: terminal.error }).toEqual({ code: 0, error: "" });
  return terminal.out;
}

/** The suggestions of bash for the last of these words. */
function suggested(script: string, words: readonly string[]): readonly string[] {
  const ask = `${script}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _lockstep
printf '%s\\n' "\${COMPREPLY[@]}"`;
  const out = execFileSync("bash", ["-c", ask, "bash", ...words], { encoding: "utf8" });
  return out.split("\n").filter((line) => line !== "");
}

test("bash completes commands, subcommands, flags and fixed values", async () => {
  const script = await completion("bash");
  const after = (...words: readonly string[]) => suggested(script, ["lockstep", ...words]);
  expect(after("w")).toEqual(["watch", "whatif"]);
  expect(after("ingress", "ex")).toEqual(["explain"]);
  expect(after("ingress", "explain", "--h")).toEqual(["--header", "--help"]);
  expect(after("watch", "--access-c")).toEqual(["--access-context"]);
  expect(after("doctor", "--output", "")).toEqual(["text", "json", "markdown"]);
  expect(after("completion", "f")).toEqual(["fish"]);
});

test("bash completes the value of any other flag as a file name", async () => {
  // No suggestion: `complete -o default` then offers files.
  expect(suggested(await completion("bash"), ["lockstep", "doctor", "--save", ""])).toEqual([]);
});

test.each(["zsh", "fish"])("the script for %s has every command and its flags", async (shell) => {
  const script = await completion(shell);
  for (const word of ["watch", "ingress explain", "access-context", "markdown"]) {
    expect(script).toContain(word);
  }
});
