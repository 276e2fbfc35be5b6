// `lockstep migrate check`: flags and help.
import { Command, Option } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { anyText, filePath, kubeconfigHelp, listOf, objectName } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runCheck } from "./check-run.ts";

export const failLevels = ["refused", "differs", "defaults", "never"] as const;

export type FailLevel = (typeof failLevels)[number];

export interface CheckFlags {
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly secrets: boolean;
  readonly class: readonly string[];
  readonly ingress: readonly string[];
  readonly configMap?: { readonly namespace: string; readonly name: string };
  readonly config?: string;
  readonly all: boolean;
  readonly failOn: FailLevel;
  readonly json: boolean;
}

const epilogue = `
The verdict on each Ingress comes from the code that lockstep ingress runs:
  same      every host, path and annotation has the same effect
  differs   something works in another way; the details say how
  refused   something has no effect with Lockstep, or its route answers 503
A note about a missing Service, port or secret, or about a path that an older Ingress has, does not
change the verdict: both ingresses behave the same.

Without PATH and with --context the cluster is read: Ingresses, IngressClasses, Services, Deployments
and DaemonSets, the ConfigMaps of ingress-nginx, and the secrets that Ingresses name. Nothing is
written. A missing permission is reported with its effect. --no-secrets leaves secrets out.

Files may be YAML or JSON with several documents or lists, as kubectl, helm template and kustomize
write them. Without Services or secrets in the input these are not checked.

The settings of the controller come from the ConfigMap that its flags name. --config is the config
file of lockstep ingress; without it Lockstep's defaults count, with an HTTPS port.

Exit codes: 0 nothing at or above --fail-on, 1 something is, 2 error.
--fail-on refused: an Ingress or a setting of the controller is refused. differs: one is refused or
differs. defaults: the same, or a default that is not set differs. never: always 0.

Examples:
  lockstep migrate check --context prod
  lockstep migrate check manifests/ --fail-on refused
  kubectl get ingress,ingressclass,service,configmap,deployment -A -o yaml |
    lockstep migrate check -
  lockstep migrate check --context prod --ingress shop/web
  lockstep migrate check manifests/ --json | jq '.ingresses[] | select(.verdict == "refused")'`;

export function checkCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("check")
    .description("say for each Ingress what stays the same, differs or is refused with Lockstep")
    .argument("[path...]", "files or folders with YAML or JSON, - for standard input")
    .optionsGroup("Input:")
    .option("--context <name>", "context of a cluster to read, instead of files", anyText)
    .option("--kubeconfig <file>", kubeconfigHelp, filePath)
    .option("--no-secrets", "do not read secrets")
    .option("--class <name>", "only Ingresses of this class; repeatable", listOf(anyText), [])
    .option(
      "--ingress <name>",
      "details of this Ingress only, namespace/name; repeatable",
      listOf(anyText),
      [],
    )
    .option("--config-map <name>", "ConfigMap of ingress-nginx, namespace/name", objectName)
    .option("--config <file>", "config file of lockstep ingress", filePath)
    .optionsGroup("Output:")
    .option("--all", "show all Ingresses, with the same ones in detail", false)
    .addOption(
      new Option("--fail-on <level>", "exit with 1 at or above this level")
        .choices(failLevels)
        .default("differs"),
    )
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (paths: readonly string[], flags: CheckFlags) => {
      done(await runCheck(context, paths, flags));
    });
}
