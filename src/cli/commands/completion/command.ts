// `lockstep completion`: flags and help.
import { Argument, Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { completionTree } from "./completion-tree.ts";
import { type Shell, scriptFor, shells } from "./view.ts";

const epilogue = `
The script completes commands, flags and their fixed values. Other values are completed as file
names. Print it again after an update of Lockstep.

Exit codes: 0 success, 2 error.

Examples:
  source <(lockstep completion bash)
  lockstep completion bash > /etc/bash_completion.d/lockstep
  lockstep completion zsh > "\${fpath[1]}/_lockstep"
  lockstep completion fish > ~/.config/fish/completions/lockstep.fish`;

export function completionCommand(
  context: CommandContext,
  done: (code: ExitCode) => void,
): Command {
  const command = new Command("completion")
    .addArgument(new Argument("<shell>", "the shell").choices([...shells]))
    .addHelpText("after", helpText(context, epilogue));
  return command.action((shell: Shell) => {
    const program = command.parent ?? command;
    context.terminal.write(scriptFor(shell, completionTree(program)));
    done(0);
  });
}
