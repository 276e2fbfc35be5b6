import { Option } from "commander";
import { expect, test } from "vitest";
import type { Processes } from "../environment/processes.ts";
import { helpText, optionText } from "./help-text.ts";

function terminalOf(columns: number, file = "/bin/lockstep") {
  const self = ["node", file] as const;
  const processes = { self, variables: { PATH: "/bin" } } as unknown as Processes;
  return { environment: { processes }, terminal: { columns } };
}

const text = `
One two three
four five.

Examples:
  lockstep a very long example that stays`;

test("wraps paragraphs to the width of the terminal and leaves indented lines alone", () => {
  expect(helpText(terminalOf(10), text)).toBe(`
One two
three four
five.

Examples:
  lockstep a very long example that stays`);
  expect(helpText(terminalOf(200), text)).toBe(text.replace("three\nfour", "three four"));
});

test("an example is typed as the program was called", () => {
  expect(helpText(terminalOf(80, "/bin/kubectl-lockstep"), "  lockstep up   the story")).toBe(
    "  kubectl lockstep up   the story",
  );
});

const terms = `
On its port:
  /healthz   alive
  /readyz    every cluster was listed, and
             nginx serves
  ▲1 s  slow     ✗2 s  stuck: a table of more than two columns

  lockstep up --once           tell the story and exit
  lockstep up --stays --as-it-is | jq .`;

test("an explanation keeps to its column, and goes below its term where that leaves no room", () => {
  expect(helpText(terminalOf(44), terms)).toBe(`
On its port:
  /healthz   alive
  /readyz    every cluster was listed, and
             nginx serves
  ▲1 s  slow     ✗2 s  stuck: a table of more than two columns

  lockstep up --once
      tell the story and exit
  lockstep up --stays --as-it-is | jq .`);
  expect(helpText(terminalOf(30), terms)).toBe(`
On its port:
  /healthz   alive
  /readyz
      every cluster was
      listed, and nginx serves
  ▲1 s  slow     ✗2 s  stuck: a table of more than two columns

  lockstep up --once
      tell the story and exit
  lockstep up --stays --as-it-is | jq .`);
  expect(helpText(terminalOf(80), terms)).toBe(
    terms.replace("and\n             nginx", "and nginx"),
  );
});

test.each<[string, Option]>([
  ["only this one", new Option("--a <x>", "only this one").default([])],
  ["print JSON", new Option("--json", "print JSON").default(false)],
  ["where (default: 127.0.0.1)", new Option("--at <ip>", "where").default("127.0.0.1")],
  ["how many (default: 0)", new Option("--n <n>", "how many").default(0)],
  ["slow (default: 2s)", new Option("--slow <t>", "slow").default(2_000, "2s")],
  [
    "which (choices: a, b; default: a)",
    new Option("--w <x>", "which").choices(["a", "b"]).default("a"),
  ],
])("a flag's default is named where it tells something: %s", (text, option) => {
  expect(optionText(option)).toBe(text);
});
