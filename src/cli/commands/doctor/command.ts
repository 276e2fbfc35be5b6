// `lockstep doctor`: flags and help.
import { Command, Option } from "commander";
import { type Severity, severities } from "../../../doctor/finding.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { runDoctor } from "./run.ts";

export interface DoctorFlags {
  readonly output: "text" | "json" | "markdown";
  readonly failOn: Severity;
  readonly ignore: readonly string[];
  readonly explain?: string;
}

const epilogue = `
The doctor reads logs, objects and notes, and names the cause of late endpoint changes. It needs no
cluster. Give it files, folders or - for standard input; it finds out what each of them contains:
  logs     of kube-apiserver, kube-controller-manager, kubelet, kube-proxy, etcd, ingress-nginx and
           nginx; plain, JSON, with prefixes of journald, docker, kubectl, stern or Rancher; gzip
  objects  YAML or JSON of kubectl get -o yaml, or of kubectl cluster-info dump
  other    tables of kubectl get pods, key lists of etcd, docker ps, flags, versions

Each finding has the cause, the evidence with file and line, the confidence and the fix. "certain"
has at least two independent sources, "likely" has one, "possible" has no proof. A finding that
follows from another one is shown below it. Without evidence there is no finding; if something points
to a cause and is not enough, the doctor prints what is missing.

Exit codes: 0 nothing at or above --fail-on, 1 at least one finding, 2 error.

Examples:
  lockstep doctor /var/log/pods
  kubectl logs -n kube-system kube-controller-manager-a | lockstep doctor -
  lockstep doctor manager.log services.yaml endpoints.yaml --output markdown
  lockstep doctor dump/ --output json | jq '.findings[].rule'
  lockstep doctor --explain apiserver-fight`;

export function doctorCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("doctor")
    .description("find the cause of late endpoint changes in logs and objects, offline")
    .argument("[path...]", "files and folders to read; - is standard input")
    .addOption(
      new Option("--output <form>", "text for people, json for machines, markdown for a chat")
        .choices(["text", "json", "markdown"])
        .default("text"),
    )
    .addOption(
      new Option("--fail-on <severity>", "exit with 1 for findings at least this severe")
        .choices([...severities])
        .default("warning"),
    )
    .option(
      "--ignore <cause>",
      "leave out this cause; repeatable",
      (name: string, before: readonly string[]) => [...before, name],
      [] as readonly string[],
    )
    .option("--explain <cause>", "print what a cause is and how it is found, then exit")
    .addHelpText("after", helpText(context, epilogue))
    .action(async (paths: readonly string[], flags: DoctorFlags) =>
      done(await runDoctor(context, paths, flags)),
    );
}
