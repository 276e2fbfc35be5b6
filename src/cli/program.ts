// The command line with every command loaded before the first one runs. Tests and the scripts that make
// documents run commands in virtual time, where a module cannot be waited for.
import type { CommandContext, ExitCode } from "./command.ts";
import { runCommandLine } from "./command-line.ts";
import { allCommands } from "./command-list.ts";

const commands = await allCommands();

export function runProgram(
  context: CommandContext,
  version: string,
  args: readonly string[],
): Promise<ExitCode> {
  return runCommandLine(context, version, args, commands);
}
