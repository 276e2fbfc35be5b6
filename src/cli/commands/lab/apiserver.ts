// `lockstep lab apiserver`: one API server of a lab with a store, as a process of its own. The lab
// starts it; it is not meant to be typed, but may be, with the file that the lab has written.
import { Command } from "commander";
import { runServerProcess } from "../../../lab/processes/server-process.ts";
import type { CommandContext, ExitCode } from "../../command.ts";

export function labApiserverCommand(
  { environment, terminal, stop }: CommandContext,
  done: (code: ExitCode) => void,
): Command {
  return new Command("apiserver")
    .description("one API server of a lab with a store, as the lab starts it")
    .requiredOption("--config <file>", "what the lab has written for this server")
    .action(async ({ config }: { readonly config: string }) => {
      const onLog = (line: object): void => terminal.write(`${JSON.stringify(line)}\n`);
      await runServerProcess(environment, config, { stop, onLog });
      done(0);
    });
}
