// `lockstep incident`: flags and help.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { filePath, randomSeed } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runIncidents } from "./run.ts";

export interface IncidentFlags {
  readonly all: boolean;
  readonly fix: boolean;
  readonly seed: number;
  readonly json: boolean;
  readonly live: boolean;
  readonly compare: boolean;
  readonly save?: string;
}

const epilogue = `
The lab replays published incident reports in simulated time, with its own Kubernetes components.
The numbers are results of the simulation. Each number has a reference with a lower and an upper
bound: the incident report, or a measurement of the real binaries. Assumptions are listed. Numbers
that follow directly from an assumption are not compared.
"stock (model)" is the lab's model of the standard components. Lockstep handles the same requests.

--live runs in real time over real sockets on 127.0.0.0/8, with a real nginx for each proxy. It takes
one to three minutes per incident and uses fewer objects and shorter times. The reference numbers are
then shown, but not compared.

--compare shows only the goals, stock beside Lockstep, for each incident without its fix.

Exit codes: 0 every compared number is within its bounds and Lockstep met every goal, 1 at least one
check failed, 2 error or stopped.

Examples:
  lockstep incident                                list the incidents
  lockstep incident throttled-controller           replay one
  lockstep incident throttled-controller --fix     replay it with the fix from the report
  lockstep incident --all                          all incidents, without and with the fix
  lockstep incident --all --json | jq .held
  lockstep incident apiserver-fight --live         in real time, about one minute
  lockstep incident --all --live --compare         stock beside Lockstep, several minutes
  lockstep incident throttled-controller --seed 7  with another random seed
  lockstep incident apiserver-fight --save ./seen  save logs, metrics and objects to ./seen`;

export function incidentCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("incident")
    .argument("[name]", "name of the incident; without it all incidents are listed")
    .optionsGroup("What to replay:")
    .option("--all", "every incident, without and with its fix", false)
    .option("--fix", "with the fix from the incident report", false)
    .option("--seed <n>", "random seed", randomSeed, 1)
    .option("--live", "in real time over real sockets, with fewer objects", false)
    .optionsGroup("Output:")
    .option("--compare", "show only the goals: stock beside Lockstep", false)
    .option(
      "--save <dir>",
      "save logs, metrics, audit and access logs and a dump in this folder",
      filePath,
    )
    .option("--json", "print everything as one JSON document", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (name: string | undefined, flags: IncidentFlags) =>
      done(await runIncidents(context, name, flags)),
    );
}
