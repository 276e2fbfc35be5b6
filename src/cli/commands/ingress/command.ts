// `lockstep ingress`: flags and help. The flags come from the table in settings.ts.
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { ConfigSource } from "./config.ts";
import { endpointsCommand, explainCommand } from "./questions.ts";
import { runIngress } from "./run.ts";
import { addSettingFlags, flagTexts } from "./setting.ts";
import { ingressSettings, leadershipHelp, settingGroups } from "./settings.ts";

interface OwnFlags {
  readonly config?: string;
  readonly printConfig?: boolean;
}

const epilogue = `
Routes come from the Ingresses of the access cluster, and from its Gateways and their routes if the
Gateway API is installed. Endpoints come from the pods, services and EndpointSlices of every
--context. Services with the same name in several clusters are one backend. Lockstep follows the
pods. A pod that terminates or becomes unready gets no more requests within milliseconds, even if
EndpointSlices still list it. A ready pod gets requests just as fast. /state shows the reason for
each endpoint.

Without permission to watch pods, Lockstep follows the EndpointSlices, and /state shows this. To
follow the slices on purpose, use --follow-slices, or for one service the annotation
lockstep.dev/follow-slices: "true".

nginx is a separate process. If Lockstep dies, nginx continues, and the next start of Lockstep uses
it. If both die, nginx starts again with the state saved in its prefix. That file contains private
keys and only its owner can read it (--no-snapshot saves nothing). After SIGTERM or Ctrl-C, Lockstep
becomes unready, waits for --drain-delay, lets nginx finish its requests and ends nginx.
--keep-nginx leaves nginx running.

Only one Lockstep can use a prefix; a second start is refused. With --take-over the second one first
computes its routes, then the first one ends and nginx continues. A start with another class or other
contexts than the saved state is refused too; --replace-state allows it.

A config file has a field for every flag; flags override the file. --print-config shows the result.
Changes to fields marked "live" take effect without a restart.
${leadershipHelp}

With --access-log stdout the access log goes to standard output and Lockstep's own log to standard
error; lockstep blame can read both together. SIGUSR1 makes nginx reopen its log files, for log
rotation.

--shadow only reads: it serves nothing and writes nothing. It reports how long the EndpointSlices
were behind the pods. In that time an ingress that follows the slices sends requests to pods that are
gone. Use --class with the class of your current ingress.

On http://127.0.0.1:<status-port>:
  /healthz              the process is alive
  /readyz               every cluster is listed, nginx has the routes, and
                        Lockstep is not stopping; lists stale watches, which
                        make it unready with --ready-requires-fresh
  /state                every endpoint: what each source reports, its state
                        and the reason
  /explain, /endpoints  used by the commands of the same name
  /routed?after=N       time of each routed change, for observers
  /metrics              Prometheus metrics

Exit codes: 0 stopped by a signal or by --take-over of another Lockstep; 1 another Lockstep controls
this nginx, or --shadow had nothing to compare; 2 error.

Examples:
  lockstep ingress                               the current context, port 8080
  lockstep ingress --context east --context west --access-context edge
  lockstep ingress --http-port 80 --https-port 443 --class web
  lockstep ingress --config lockstep.yaml --print-config
  lockstep ingress --shadow --shadow-probe --class nginx
  lockstep ingress --publish-address 192.0.2.10 --depose-ghosts
  lockstep ingress explain shop.example/cart     which endpoints serve this, and why
  lockstep ingress endpoints shop/web            every endpoint of a service`;

export function ingressCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("ingress")
    .optionsGroup("Configuration:")
    .option(
      "--config <file>",
      "YAML file with a field for every flag below; read again when it changes",
    )
    .option("--print-config", "print every setting and its origin, then exit");
  addSettingFlags(command, ingressSettings, settingGroups)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: OwnFlags) => done(await run(context, command, flags)));
  command.addCommand(explainCommand(context, done));
  command.addCommand(endpointsCommand(context, done));
  return command;
}

async function run(
  context: CommandContext,
  command: Command,
  { config: file, printConfig }: OwnFlags,
): Promise<ExitCode> {
  const source = await ConfigSource.open(flagTexts(command, ingressSettings), {
    ...context.environment,
    path: file === undefined ? undefined : absolute(file),
    shownPath: file ?? "",
  });
  if (printConfig !== true) return await runIngress(context, source);
  context.terminal.write(source.current.toYaml());
  return 0;
}
