// `lockstep migrate`: the commands for a change from ingress-nginx to Lockstep.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { checkCommand } from "./check-command.ts";

const epilogue = `
Both commands only read. migrate check compares objects, migrate compare compares answers. Run check
first: it finds what no request shows, such as a snippet that is ignored.

Examples:
  lockstep migrate check --context prod
  lockstep migrate check manifests/`;

export function migrateCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("migrate")
    .description("compare what ingress-nginx does with what Lockstep would do")
    .addHelpText("after", helpText(context, epilogue));
  command.addCommand(checkCommand(context, done));
  return command;
}
