// `lockstep ingress`: routes traffic to the services of one or more clusters by what is true now, and
// answers questions about a running one.
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import type { CommandContext, ExitCode } from "./command.ts";
import { helpText } from "./help-text.ts";
import { ConfigSource } from "./ingress/config-source.ts";
import { endpointsCommand } from "./ingress/endpoints-command.ts";
import { explainCommand } from "./ingress/explain-command.ts";
import { ingressSettings } from "./ingress/ingress-settings.ts";
import { leadershipHelp } from "./ingress/leadership-config.ts";
import { runIngress } from "./ingress/run-ingress.ts";
import { addSettingFlags, flagTexts } from "./ingress/setting-flags.ts";

interface OwnFlags {
  readonly config?: string;
  readonly printConfig?: boolean;
}

const epilogue = `
Routes come from the Ingresses of the access cluster; endpoints from the pods, services and
EndpointSlices of every --context. A service of the same name in several clusters is one backend.
A pod that terminates or becomes unready gets no more requests within milliseconds, and a ready one
joins as fast, whatever the EndpointSlices still say; every endpoint's reason is in /state.

Without permission to watch pods the slices are followed, and /state says so. One service follows
its slices exactly with the annotation lockstep.dev/follow-slices: "true", all with --follow-slices.

nginx runs by itself: if Lockstep dies it goes on, and the next start adopts it; if both die, nginx
alone serves by the state that was saved under its prefix, readable by its owner only, for it holds
private keys (--no-snapshot saves nothing). SIGTERM or Ctrl-C makes it unready, waits --drain-delay,
lets nginx finish its requests and ends it, unless --keep-nginx is given.

A config file has a field for every flag, and a flag goes before it: --print-config shows both
together. Changes of the fields marked "live" there count at once.
${leadershipHelp}

With --shadow nothing is served, written or needed but the right to read: it decides, and reports
what following truth instead of the slices would have changed for the ingress you have; --class
names the class that one serves.

On http://127.0.0.1:<status-port>:
  /healthz              alive
  /readyz               every cluster was listed, nginx serves by a decision
                        from it, not stopping; watches that are stale are named,
                        and count with --ready-requires-fresh
  /state                the truth table: every endpoint, what each witness says,
                        state and reason
  /explain, /endpoints  what the commands of these names ask
  /routed?after=N       when each change was routed, for observers
  /metrics              for Prometheus

Examples:
  lockstep ingress                               the current context, port 8080
  lockstep ingress --context east --context west --access-context edge
  lockstep ingress --http-port 80 --https-port 443 --class web
  lockstep ingress --config lockstep.yaml --print-config
  lockstep ingress --shadow --shadow-probe --class nginx
  lockstep ingress --publish-address 192.0.2.10 --depose-ghosts
  lockstep ingress explain shop.example/cart     who would serve this, and why
  lockstep ingress endpoints shop/web            the truth about a service`;

export function ingressCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("ingress")
    .description("route traffic to the services of one or more clusters, in step with the pods")
    .option("--config <file>", "YAML with a field for every flag below; changes are noticed")
    .option("--print-config", "print every setting and where it comes from, and end");
  addSettingFlags(command, ingressSettings)
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
