// A line that is wrong gets one sentence that says what, and where to read what would be right.
import { expect, test } from "vitest";
import { RecordedTerminal } from "../../tests/terminal/recorded-terminal.ts";
import { simulate } from "../simulation/simulation.ts";
import { runProgram } from "./program.ts";

async function run(...args: readonly string[]) {
  const terminal = new RecordedTerminal();
  const { signal: stop } = new AbortController();
  const code = await simulate({ seed: 1 }, (simulation) =>
    runProgram({ environment: simulation.host("here"), terminal, stop }, "1.2.3", args),
  );
  return { code, out: terminal.out, error: terminal.error };
}

test.each<[string, string]>([
  ["zzz", "unknown command 'zzz'\nlockstep --help lists the commands."],
  ["doctr", "unknown command 'doctr'\n(Did you mean doctor?)\nlockstep --help lists the commands."],
  [
    "ingres",
    "unknown command 'ingres'\n(Did you mean ingress?)\nlockstep --help lists the commands.",
  ],
  ["help zzz", "unknown command 'zzz'\nlockstep --help lists the commands."],
  ["up twice", `too many arguments for 'up'. Expected 0 arguments but got 1.\n${explains("up")}`],
  [
    "ingress --shadwo",
    `unknown option '--shadwo'\n(Did you mean --shadow?)\n${explains("ingress")}`,
  ],
  ["record --context east", `required option '--out <file>' not specified\n${explains("record")}`],
  [
    "ingress explan shop.example",
    `ingress has no command 'explan'; available: explain, endpoints\n${explains("ingress")}`,
  ],
  ["ingress explain", `missing required argument 'host/path'\n${explains("ingress explain")}`],
])("lockstep %s fails and says what is wrong", async (line, told) => {
  expect(await run(...line.split(" "))).toEqual({
    code: 2,
    out: "",
    error: `lockstep: ${told}\n`,
  });
});

test("every line of every help fits eighty columns, but those to be copied", async () => {
  const { out: commands } = await run("--help");
  const names = [...commands.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name ?? "");
  expect(names).toContain("ingress");
  const tooLong: string[] = [];
  for (const line of ["", ...names, "ingress explain", "ingress endpoints"]) {
    const { out } = await run(...line.split(" ").filter((word) => word !== ""), "--help");
    tooLong.push(...out.split("\n").filter(isTooLong));
  }
  expect(tooLong).toEqual([]);
});

function isTooLong(line: string): boolean {
  return line.length > 80 && !/^ +(?:\S+ )?(?:lockstep|kubectl) /.test(line);
}

function explains(command: string): string {
  return `lockstep ${command} --help shows the options.`;
}
