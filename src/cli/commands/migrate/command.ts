// `lockstep migrate`: the commands for a change from ingress-nginx to Lockstep.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { checkCommand } from "./check-command.ts";

const epilogue = `
It only reads.

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
