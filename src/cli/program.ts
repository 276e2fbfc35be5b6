// The command line: one subcommand per file in this folder, and help that teaches.
import { Command, CommanderError } from "commander";
import { blameCommand } from "./blame.ts";
import type { CommandContext, ExitCode } from "./command.ts";
import { helpText, optionText, widestHelp } from "./help-text.ts";
import { incidentCommand } from "./incident.ts";
import { ingressCommand } from "./ingress.ts";
import { journeysCommand } from "./journeys.ts";
import { labCommand } from "./lab.ts";
import { recordCommand } from "./record.ts";
import { syncCommand } from "./sync.ts";
import { typedCommand } from "./typed-command.ts";
import { upCommand } from "./up.ts";
import { watchCommand } from "./watch.ts";
import { whatifCommand } from "./whatif.ts";

const epilogue = `
First steps:
  lockstep up                    see the whole path work, on this machine alone
  lockstep lab                   an embedded cluster to talk to with kubectl
  lockstep incident              five real incidents, played in virtual time
  lockstep whatif                how long changes would wait in a cluster of your size
  lockstep watch                 how long changes take at every hop, beside any ingress
  lockstep blame --help          why each 502 in an access log happened, afterwards
  lockstep ingress --help        route traffic of clusters of your own

Exit codes: 0 success, 1 check failed, 2 error.`;

/** Parses the arguments, runs one command and says how it ended. */
export async function runProgram(
  context: CommandContext,
  version: string,
  args: readonly string[],
): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const { processes } = context.environment;
  /** Below what was wrong with a command's line: where it says what would be right. */
  const hint = (name: string): string => {
    return `${typedCommand(processes, `${name} --help`)} explains it.`;
  };
  const program = new Command("lockstep")
    .description(
      "A multi-cluster ingress for Kubernetes that stays in step with the pods,\n" +
        "and a lab that reproduces what happens when news of a pod travels slowly.",
    )
    .version(version, "-V, --version", "print the version")
    .helpCommand("help [command]", "explain a command")
    .helpOption("-h, --help", "explain this command")
    .addHelpText("after", helpText(context, epilogue))
    .showSuggestionAfterError()
    .showHelpAfterError(`${typedCommand(processes, "--help")} lists the commands.`)
    // What follows a command's name is for that command, though one above it has the same flag.
    .enablePositionalOptions()
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.terminal.write(text),
      writeErr: (text) => context.terminal.writeError(text),
      outputError: (text, write) => write(text.replace(/^error: /, "lockstep: ")),
      getOutHelpWidth: () => Math.min(context.terminal.columns, widestHelp),
    })
    .configureHelp({ sortSubcommands: false, optionDescription: optionText });
  for (const command of [
    upCommand,
    ingressCommand,
    syncCommand,
    watchCommand,
    journeysCommand,
    recordCommand,
    blameCommand,
    labCommand,
    incidentCommand,
    whatifCommand,
  ]) {
    const made = command(context, (code) => {
      exitCode = code;
    }).copyInheritedSettings(program);
    for (const below of made.commands) {
      below.copyInheritedSettings(made);
      below.showHelpAfterError(hint(`${made.name()} ${below.name()}`));
    }
    if (made.commands.length > 0) refuseUnknownBelow(made);
    program.addCommand(made.showHelpAfterError(hint(made.name())));
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

/** Where a command has others below it, a word it does not know was meant to be one of those. */
function refuseUnknownBelow(command: Command): void {
  command.allowExcessArguments().hook("preAction", (_, called) => {
    const [word] = called === command ? command.args : [];
    if (word === undefined) return;
    const names = command.commands.map((one) => one.name()).join(", ");
    command.error(`error: ${command.name()} has no command '${word}'; it has ${names}`);
  });
}

/** Help for what there is not would be the help for everything, and no word about why. */
function refuseUnknownHelp(program: Command, [first, asked]: readonly string[]): void {
  if (first !== "help" || asked === undefined || asked.startsWith("-")) return;
  const isKnown = program.commands.some((command) => command.name() === asked);
  if (!isKnown && asked !== "help") program.error(`error: unknown command '${asked}'`);
}
