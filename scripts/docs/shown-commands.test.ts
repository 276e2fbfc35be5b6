import { readdirSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { expect, test } from "vitest";
import type { CommandContext } from "../../src/cli/command.ts";
import { allCommands } from "../../src/cli/command-list.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { RecordedTerminal } from "../../tests/terminal/recorded-terminal.ts";
import { contentOf } from "./documents.ts";
import { type ShownCommand, shownCommands } from "./shown-commands.ts";

const documents = [
  "README.md",
  "README.zh.md",
  "CONTRIBUTING.md",
  ...readdirSync("docs", { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

const context: CommandContext = {
  environment: nodeEnvironment({ log: { level: "error" } }),
  terminal: new RecordedTerminal(),
  stop: new AbortController().signal,
};
const commands = await allCommands();

/** Each takes any number of lines, one after another. */
const commandLines = { whole: commandLine(true), partial: commandLine(false) };

/** The real command line, of which no command does anything. In a sentence a flag may be left out. */
function commandLine(isWhole: boolean): Command {
  const program = new Command("lockstep").enablePositionalOptions();
  program.version("0.0.0", "-V, --version");
  for (const { make } of commands) {
    if (make !== undefined) program.addCommand(make(context, () => undefined));
  }
  for (const command of everyCommand(program)) {
    command
      .exitOverride()
      .configureOutput({ writeErr: () => undefined, writeOut: () => undefined });
    if (command !== program) command.action(() => undefined);
    if (!isWhole) for (const option of command.options) option.mandatory = false;
  }
  return program;
}

function everyCommand(command: Command): readonly Command[] {
  return [command, ...command.commands.flatMap(everyCommand)];
}

const incomplete = ["commander.missingArgument", "commander.optionMissingArgument"];

/** Undefined when the command line takes it. */
async function problemOf({ args, place, isWhole }: ShownCommand): Promise<string | undefined> {
  // An ellipsis stands for any command.
  if (args.some((arg) => arg.includes("…"))) return undefined;
  try {
    const line = isWhole ? commandLines.whole : commandLines.partial;
    await line.parseAsync(args, { from: "user" });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    if (/helpDisplayed|version|commander\.help$/.test(error.code)) return undefined;
    if (!isWhole && incomplete.includes(error.code)) return undefined;
    return `${place}: lockstep ${args.join(" ")}: ${error.message}`;
  }
}

async function problemsOf(shown: readonly ShownCommand[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const one of shown)
    problems.push(...[await problemOf(one)].filter((text) => text !== undefined));
  return problems;
}

test("every command line in the documents is one of the program", async () => {
  const shown = documents.flatMap((path) => shownCommands(path, contentOf(path)));
  expect(shown.length).toBeGreaterThan(100);
  expect(await problemsOf(shown)).toEqual([]);
});

test("a flag, a value and a command that do not exist are found, with their places", async () => {
  const document = [
    "Use `lockstep watch --fast` or `lockstep blame`.",
    "```sh",
    "npx lockstep whatif --services many   # a comment with --flag",
    "LOG=1 lockstep serve \\",
    "  --listen 127.0.0.1:0 | tee page.log",
    "kubectl lockstep remember",
    "lockstep ingress explain",
    "```",
  ].join("\n");
  const shown = shownCommands("a.md", document);
  expect(shown.map(({ args }) => args.join(" "))).toEqual([
    "watch --fast",
    "blame",
    "whatif --services many",
    "serve --listen 127.0.0.1:0",
    "remember",
    "ingress explain",
  ]);
  const problems = await Promise.all(shown.map(problemOf));
  expect(problems.map((problem) => problem?.replace(/^(a\.md:\d+).*/s, "$1"))).toEqual([
    "a.md:1",
    undefined,
    "a.md:3",
    undefined,
    "a.md:6",
    "a.md:7",
  ]);
});

/** Documents show the output of a program only where the program writes it. */
test("every output that is shown is made by a program", () => {
  const typed = documents.flatMap((path) => {
    const outsideMade = contentOf(path).replaceAll(
      /^<!-- .+ -->\n[\s\S]*?^<!-- end -->$/gm,
      (part) => part.replaceAll(/[^\n]/g, ""),
    );
    const lines = outsideMade.split("\n");
    let isOpen = false;
    return lines.flatMap((line, index) => {
      const mark = /^\s*```(\w*)/.exec(line);
      if (mark === null) return [];
      isOpen = !isOpen;
      return isOpen && mark[1] === "" ? [`${path}:${index + 1}`] : [];
    });
  });
  expect(typed).toEqual([]);
});
