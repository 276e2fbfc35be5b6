// `lockstep up`: flags and help.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { choice, portOrAny } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runUp } from "./run.ts";
import { type RouteKind, routeKinds } from "./world.ts";

export interface UpFlags {
  readonly once: boolean;
  readonly json: boolean;
  readonly followSlices: boolean;
  readonly routes: RouteKind;
  readonly incidents: boolean;
  readonly proxies: boolean;
  readonly port: number;
  readonly stockPort: number;
  readonly page: boolean;
  /** Undefined: the usual one, or any if it is in use. */
  readonly pagePort?: number;
}

const epilogue = `
The demonstration has four parts:
  1  simulated time: a real incident, with stock (model) and with Lockstep
  2  real time: three clusters, six ingress replicas with real nginx, traffic
  3  real time: a release while the controller manager is throttled, and the cause
  4  real time: the fix, and a second release
Then everything keeps running until Ctrl-C. Every number is measured in this run.

The page shows the same in a browser, from the first second: its address is the first line. It also
starts incidents and answers what-if questions. It listens on this machine only.

With --routes gateway an HTTPRoute leads Lockstep to the shop. The model of ingress-nginx keeps an
Ingress of another class, because ingress-nginx does not read HTTPRoutes. The checks are the same.

Without nginx and its Lua module, parts 2 to 4 show the control plane only.

Exit codes: 0 all checks passed, 1 at least one check failed, 2 error, or stopped with --once.

Examples:
  lockstep up
  lockstep up --once                   run the four parts, then exit
  lockstep up --once --follow-slices   route by EndpointSlices only: the checks fail
  lockstep up --routes gateway         the same with objects of the Gateway API
  lockstep up --once --json            print the numbers as one JSON object`;

export function upCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("up")
    .optionsGroup("What to run:")
    .option("--once", "exit after part 4; the exit code shows if all checks passed", false)
    .option("--follow-slices", "route by EndpointSlices only, without the pod watches", false)
    .option(
      "--routes <kind>",
      "objects that Lockstep serves in parts 2 to 4: ingress, or gateway (a Gateway and an HTTPRoute)",
      choice(routeKinds),
      "ingress",
    )
    .option("--no-incidents", "skip part 1")
    .option("--no-proxies", "show the control plane only, without nginx and traffic")
    .optionsGroup("Ports and output:")
    .option("--port <n>", "port for requests to Lockstep; 0: any free port", portOrAny, 0)
    .option("--stock-port <n>", "port for requests to stock; 0: any free port", portOrAny, 0)
    .option(
      "--page-port <n>",
      "port for the page; 0: any free port (default: 7070, or any if it is in use)",
      portOrAny,
    )
    .option("--no-page", "serve no page")
    .option("--json", "print the result as one JSON object; no page", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: UpFlags) => done(await runUp(context, flags)));
}
