// The command line: parses the arguments and runs one command. Only the module of that command has to
// be loaded; the others are names and descriptions in the help.
import { Command, CommanderError, Help, Option } from "commander";
import type { CommandContext, ExitCode } from "./command.ts";
import type { ListedCommand } from "./command-list.ts";
import { helpText, optionText, widestHelp } from "./help-text.ts";
import { typedCommand } from "./typed-command.ts";

const epilogue = `
First steps:
  lockstep up                    a demonstration on this machine: clusters, nginx, traffic
  lockstep lab                   an embedded Kubernetes cluster for kubectl
  lockstep incident              five real incidents, replayed in simulated time
  lockstep whatif                predict how long changes wait in a cluster of your size
  lockstep watch                 measure how long changes take in your cluster (read-only)
  lockstep serve                 show the same as a page in a browser (read-only)
  lockstep blame --help          find the cause of each 502 in an access log
  lockstep doctor --help         find the cause of late changes in logs and objects
  lockstep ingress --help        route traffic to your own clusters

Exit codes: 0 success, 1 check failed, 2 error. The help of each command has the details.`;

export async function runCommandLine(
  context: CommandContext,
  version: string,
  args: readonly string[],
  commands: readonly ListedCommand[],
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const { processes } = context.environment;
  /** Printed below a wrong flag or value. */
  const hint = (name: string): string => {
    return `${typedCommand(processes, `${name} --help`)} shows the options.`;
  };
  const program = new Command("lockstep")
    .description(
      "A multi-cluster ingress for Kubernetes that follows the pods without delay,\n" +
        "tools that measure endpoint delays, and a lab that reproduces them.",
    )
    .version(version, "-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .helpOption("-h, --help", "show this help")
    .addHelpText("after", helpText(context, epilogue))
    .showSuggestionAfterError()
    .showHelpAfterError(`${typedCommand(processes, "--help")} lists the commands.`)
    // A flag after a subcommand belongs to it, even if the command above has the same flag.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.write(text),
      writeErr: (text) => context.terminal.writeError(text),
      outputError: (text, write) => write(text.replace(/^error: /, "lockstep: ")),
      getOutHelpWidth: () => Math.min(context.terminal.columns, widestHelp),
    })
    .configureHelp({
      sortSubcommands: false,
      optionDescription: optionText,
      // The flags and arguments of a main command are known only when its module is loaded.
      subcommandTerm: (command) =>
        command.parent?.parent === null ? command.name() : new Help().subcommandTerm(command),
      commandDescription: (command) => sentence(command.description()),
    });
  for (const { name, description, make } of commands) {
    const made =
      make?.({ ...context, version }, (code) => {
        exitCode = code;
      }) ?? new Command(name);
    made.description(description).copyInheritedSettings(program);
    for (const below of made.commands) {
      below.copyInheritedSettings(made);
      below.showHelpAfterError(hint(`${name} ${below.name()}`));
    }
    if (made.commands.length > 0) refuseUnknownBelow(made);
    made.addHelpOption(new Option("-h, --help", "show this help").helpGroup("Other:"));
    program.addCommand(made.showHelpAfterError(hint(name)));
  }
  try {
    if (args.length === 0) {
      program.outputHelp();
      return 2;
    }
    refuseUnknownHelp(program, args);
    await program.parseAsync([...args], { from: "user" });
    return exitCode;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    throw error;
  }
}

/** An unknown word after a command with subcommands is probably a misspelt subcommand. */
function refuseUnknownBelow(command: Command): void {
  command.allowExcessArguments().hook("preAction", (_, called) => {
    const [word] = called === command ? command.args : [];
    if (word === undefined) return;
    const names = command.commands.map((one) => one.name()).join(", ");
    command.error(`error: ${command.name()} has no command '${word}'; available: ${names}`);
  });
}

/** Commander would print the main help for an unknown command, without an error. */
function refuseUnknownHelp(program: Command, [first, asked]: readonly string[]): void {
  if (first !== "help" || asked === undefined || asked.startsWith("-")) return;
  const isKnown = program.commands.some((command) => command.name() === asked);
  if (!isKnown && asked !== "help") program.error(`error: unknown command '${asked}'`);
}

/** In the list of commands a description is a phrase; above the flags of a command it is a sentence. */
function sentence(phrase: string): string {
  const capital = phrase.slice(0, 1).toUpperCase() + phrase.slice(1);
  return capital.endsWith(".") ? capital : `${capital}.`;
}
