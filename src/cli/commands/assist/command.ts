// `lockstep assist` with `status`, `off` and `on`: flags and help.
import { Command } from "commander";
import type { LogFormat } from "../../../access-log/log-format.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import {
  anyText,
  ipAddress,
  kubeconfigHelp,
  listOf,
  logFormat,
  objectName,
  portOrAny,
} from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runOff, runOn } from "./hand-back.ts";
import { runAssist } from "./run.ts";
import { runStatus } from "./status.ts";

export interface ClusterFlags {
  readonly context?: string;
  readonly kubeconfig?: string;
}

export interface AssistFlags extends ClusterFlags {
  readonly namespace: readonly string[];
  readonly allNamespaces: boolean;
  readonly service: readonly NamedObject[];
  readonly lease?: NamedObject;
  readonly metricsPort?: number;
  readonly metricsAddress: string;
  readonly dryRun: boolean;
  readonly json: boolean;
}

export interface StatusFlags extends ClusterFlags {
  readonly namespace: readonly string[];
  readonly accessLog?: string;
  readonly logFormat?: LogFormat;
  readonly json: boolean;
}

export interface OffFlags extends ClusterFlags {
  readonly all: boolean;
  readonly namespace: readonly string[];
  readonly remove: boolean;
}

export interface NamedObject {
  readonly namespace: string;
  readonly name: string;
}

const epilogue = `
For each selected Service, the same cluster gets a twin: the Service <name>-lockstep with the same
ports, without a selector. Its EndpointSlices follow the pods, so a terminating or unready pod is
removed within milliseconds, even if the endpoint controllers are minutes behind. To use it, write the
twin's name as the backend in your Ingress or HTTPRoute. To go back, write the old name again.

Services with the label lockstep.dev/assist=true get a twin. With --service, --namespace or
--all-namespaces, other Services with a selector get one too, except those with the label
lockstep.dev/assist=false. The annotation lockstep.dev/assist-name on a Service chooses another name.

Run two replicas. The leader holds a Lease and writes. The standby compares each twin with the
Service's own slices, and writes changes that only these slices show. If no replica is left, twins
keep their last endpoints: then run lockstep assist off --all. Kubernetes' own controllers then serve
the twins, and no Ingress needs a change.

A Service that is not selected any more is handed back in the same way. A deleted Service takes its
twin with it. Lockstep changes only objects that it created, and only those of its own Lease.

Exit codes: 0 stopped by Ctrl-C or SIGTERM, or the dry run is complete; 2 error.

Examples:
  lockstep assist --service shop/web --dry-run     print the planned writes
  lockstep assist --service shop/web               keep one twin, until stopped
  lockstep assist status                           what each twin saved, and what uses it
  lockstep assist off shop/web                     let Kubernetes serve the twin again
  lockstep assist off --all                        the same for every twin: the way back`;

const statusEpilogue = `
Reads twins, the Lease and the counts that the leader saves every 30 s. Requests that would have
reached a removed pod are counted only with --access-log, the log of the ingress: while the Service's
own slices listed a removed pod, each request to the Service counts as 1 / (listed endpoints).

Exit codes: 0 every twin is served; 1 no replica keeps the twins, or a twin has a problem; 2 error.

Examples:
  lockstep assist status
  kubectl logs -n ingress deploy/traefik | lockstep assist status --access-log -`;

const offEpilogue = `
Gives twins the selector of their Service. Kubernetes' controllers then write their EndpointSlices,
and Lockstep's slices are deleted as soon as these list the endpoints. Traffic is not interrupted. No
Ingress needs a change, no running replica is needed, and a running one leaves these twins alone.
Running the command again is harmless.

With --remove, twins are deleted instead. A twin stays if an object still names it, or if this cannot
be checked.

Exit codes: 0 done; 1 not complete yet, or refused: the output says what to do; 2 error.

Examples:
  lockstep assist off --all
  lockstep assist off shop/web
  lockstep assist off shop/web --remove`;

const onEpilogue = `
Lets the replicas of lockstep assist keep these twins again, after lockstep assist off.

Exit codes: 0 done; 1 no such twin; 2 error.

Example:
  lockstep assist on shop/web`;

export function assistCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = addClusterFlags(new Command("assist"))
    .optionsGroup("Services:")
    .option(
      "--service <namespace/name>",
      "give this Service a twin; repeatable",
      listOf(objectName),
      [],
    )
    .option(
      "--namespace <name>",
      "give every Service with a selector in this namespace a twin; repeatable",
      listOf(anyText),
      [],
    )
    .option("--all-namespaces", "give every Service with a selector a twin", false)
    .optionsGroup("Operation:")
    .option(
      "--lease <namespace/name>",
      "Lease of the leader (default: lockstep-assist in the pod's namespace, else in default)",
      objectName,
    )
    .option("--metrics-port <port>", "serve /metrics, /healthz and /readyz at this port", portOrAny)
    .option("--metrics-address <ip>", "listen address of that port", ipAddress, "127.0.0.1")
    .optionsGroup("Output:")
    .option("--dry-run", "print the planned writes, write nothing, then exit", false)
    .option("--json", "print JSON, one object a line", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: AssistFlags) => done(await runAssist(context, flags)));
  command.addCommand(statusCommand(context, done));
  command.addCommand(offCommand(context, done));
  command.addCommand(onCommand(context, done));
  return command;
}

function statusCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return addClusterFlags(new Command("status"))
    .description("show what each twin saved, which replica leads, and what uses the twins")
    .option("--namespace <name>", "only twins in this namespace; repeatable", listOf(anyText), [])
    .option(
      "--access-log <file>",
      "access log of the ingress, to count requests; - reads stdin",
      anyText,
    )
    .option("--log-format <format>", "log_format of the nginx that wrote it", logFormat)
    .option("--json", "print one JSON object", false)
    .addHelpText("after", helpText(context, statusEpilogue))
    .action(async (flags: StatusFlags) => done(await runStatus(context, flags)));
}

function offCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return addClusterFlags(new Command("off"))
    .description("hand twins back to Kubernetes' controllers, or remove them")
    .argument("[services...]", "namespace/name of Services or twins", listOf(objectName), [])
    .option("--all", "every twin in the cluster", false)
    .option("--namespace <name>", "every twin in this namespace; repeatable", listOf(anyText), [])
    .option("--remove", "delete twins that no object names", false)
    .addHelpText("after", helpText(context, offEpilogue))
    .action(async (services: readonly NamedObject[], flags: OffFlags) =>
      done(await runOff(context, services, flags)),
    );
}

function onCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return addClusterFlags(new Command("on"))
    .description("let the replicas keep these twins again")
    .argument("<services...>", "namespace/name of Services or twins", listOf(objectName))
    .addHelpText("after", helpText(context, onEpilogue))
    .action(async (services: readonly NamedObject[], flags: ClusterFlags) =>
      done(await runOn(context, services, flags)),
    );
}

function addClusterFlags(command: Command): Command {
  return command
    .option("--context <name>", "context of the cluster (default: the pod's own, else the current)")
    .option("--kubeconfig <file>", kubeconfigHelp);
}
