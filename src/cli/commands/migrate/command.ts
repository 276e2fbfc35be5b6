// `lockstep migrate`: the commands for a change from ingress-nginx to Lockstep.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { checkCommand } from "./check-command.ts";
import { compareCommand } from "./compare-command.ts";
import { gatewayCommand } from "./gateway-command.ts";

const epilogue = `
All commands only read. check compares objects, compare sends GET and HEAD requests and compares the
answers. Run check first: it finds what no request shows, such as a limit that no client has reached.
gateway prints the Ingresses as objects of the Gateway API.

Examples:
  lockstep migrate check --context prod
  lockstep migrate check manifests/
  lockstep migrate compare --old http://192.0.2.1 --new http://127.0.0.1:8080 --context prod`;

export function migrateCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("migrate")
    .description("compare what ingress-nginx does with what Lockstep would do")
    .addHelpText("after", helpText(context, epilogue));
  command.addCommand(checkCommand(context, done));
  command.addCommand(compareCommand(context, done));
  command.addCommand(gatewayCommand(context, done));
  return command;
}
