// Every command with the words that can follow it, read from the definitions of the commands, so that
// a new flag is completed without another change.
import type { Command, Option } from "commander";

export interface CompletedCommand {
  /** Below `lockstep`: empty for the program itself, `ingress explain` for a subcommand. */
  readonly path: string;
  readonly commands: readonly CompletedWord[];
  readonly flags: readonly CompletedFlag[];
}

export interface CompletedWord {
  readonly word: string;
  readonly description: string;
}

export interface CompletedFlag extends CompletedWord {
  readonly takesValue: boolean;
  /** The only values that are accepted; empty when others are. */
  readonly choices: readonly string[];
}

/** The program first, then every command, each before its subcommands. */
export function completionTree(program: Command): readonly CompletedCommand[] {
  return below(program, "");
}

function below(command: Command, path: string): readonly CompletedCommand[] {
  const help = command.createHelp();
  const commands = help.visibleCommands(command);
  const flags = help.visibleOptions(command).flatMap(flagOf);
  const [argument] = command.registeredArguments;
  const words = [
    ...commands.map((one) => ({ word: one.name(), description: phrase(one.description()) })),
    ...(argument?.argChoices ?? []).map((word) => ({
      word,
      description: argument?.description ?? "",
    })),
  ];
  const own = { path, commands: words, flags };
  const nested = commands.flatMap((one) => below(one, `${path} ${one.name()}`.trim()));
  return [own, ...nested];
}

function flagOf(option: Option): readonly CompletedFlag[] {
  const { long, description, argChoices } = option;
  if (long === null || long === undefined) return [];
  const takesValue = option.required || option.optional;
  return [{ word: long, description: phrase(description), takesValue, choices: argChoices ?? [] }];
}

/** One line. */
function phrase(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}
