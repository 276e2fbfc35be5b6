// `lockstep doctor`: flags and help.
import { Command, Option } from "commander";
import { type Severity, severities } from "../../../doctor/finding.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { anyText, clientQps, duration, filePath, kubeconfigHelp, listOf } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runDoctor } from "./run.ts";

export interface DoctorFlags {
  readonly output: "text" | "json" | "markdown";
  readonly failOn: Severity;
  readonly ignore: readonly string[];
  readonly explain?: string;
  readonly context: readonly string[];
  readonly allContexts?: boolean;
  readonly kubeconfig?: string;
  /** Milliseconds; the default unless given. */
  readonly for?: number;
  readonly maxQps?: number;
  readonly save?: string;
  readonly metrics: readonly string[];
  readonly compare?: string;
  readonly anonymize?: boolean;
  readonly predict: boolean;
}

const epilogue = `
The doctor reads logs, objects and notes, and names the cause of late endpoint changes. It needs no
cluster: give it files, folders or - for standard input. It finds their formats by itself:
  logs     of kube-apiserver, kube-controller-manager, kubelet, kube-proxy, etcd, ingress-nginx and
           nginx; plain, JSON, with prefixes of journald, docker, kubectl, stern or Rancher; gzip
           also audit logs of API servers, and access logs of nginx, Envoy, Traefik and HAProxy
  objects  YAML or JSON of kubectl get -o yaml, or of kubectl cluster-info dump
  metrics  saved /metrics pages; two of one process show rates, one is compared with its start
  other    tables of kubectl get, key lists of etcd, docker ps, flags, versions
  changes  recordings of lockstep record and lockstep watch --record

With --context it examines a live cluster instead, or together with the files. It only reads:
  1  It lists nodes, Leases, ConfigMaps, Endpoints, Services, pods, Ingresses and Events.
  2  For the time of --for it watches endpoint changes. It also samples heartbeats of nodes, renewals
     of leader locks and the addresses of the service kubernetes.
  3  It reads metrics of the API server and of controller managers before and after the samples.
  4  It checks whether the cache of each API server is current.
  5  It reads logs and flags of API servers, controller managers, etcd and ingress controllers.
It never reads Secrets. Before it starts, it prints the maximum number of requests. A missing
permission is reported and does not stop it; deploy/rbac/doctor.yaml has all of them.
Heartbeats come every 10 s and a late one takes longer than 40 s: use --for 2m for them. Ctrl-C prints
the result of what was read so far.

--save writes what was read to a folder, so that lockstep doctor DIR finds the same later. It has no
data of ConfigMaps and no environment variables, but logs can contain names and addresses.

Each finding has the cause, the evidence with file and line, the confidence and the fix. For some
causes a simulation predicts the effect of the fix, with the sizes and flags that were found;
--no-predict leaves this out. "certain" has at least two independent sources, "likely" has one,
"possible" has no proof. A finding that follows from another one is shown below it. If the evidence is
too weak for a finding, the doctor prints the evidence that is missing.

--anonymize replaces the names that the evidence has; read the output before you publish it.

Exit codes: 0 no finding at or above --fail-on, 1 at least one, 2 error, or nothing could be read.

Examples:
  lockstep doctor /var/log/pods
  kubectl logs -n kube-system kube-controller-manager-a | lockstep doctor -
  lockstep doctor manager.log services.yaml endpoints.yaml --output markdown
  lockstep doctor dump/ --output json | jq '.findings[].rule'
  lockstep doctor manager.log --metrics before.txt --metrics after.txt
  lockstep doctor bad/ --compare good/ --anonymize
  lockstep doctor --context prod --compare staging
  lockstep doctor --context prod
  lockstep doctor --all-contexts --output json
  lockstep doctor --context prod --for 2m --max-qps 5 --save seen
  lockstep doctor --explain apiserver-fight`;

export function doctorCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("doctor")
    .argument("[path...]", "files and folders to read; - is standard input")
    .option(
      "--metrics <url-or-file>",
      "metrics of a component: a /metrics URL, a saved page, or a Prometheus; repeatable",
      listOf(anyText),
      [],
    )
    .option(
      "--compare <path-or-context>",
      "also list what differs from a healthy cluster: its saved files, or its context",
      anyText,
    )
    .optionsGroup("Live cluster:")
    .option(
      "--context <name>",
      "examine this cluster: a context, or name=context; repeatable",
      listOf(anyText),
      [],
    )
    .option("--all-contexts", "examine the cluster of each context, one after the other")
    .option("--kubeconfig <file>", kubeconfigHelp)
    .option(
      "--for <duration>",
      "how long to sample a cluster (default: 60s)",
      duration({ fromMs: 1_000, toMs: 3_600_000 }),
    )
    .option("--max-qps <n>", "maximum requests a second to each cluster (default: 10)", clientQps)
    .option("--save <dir>", "save what was read from each cluster below this folder", filePath)
    .optionsGroup("Output:")
    .addOption(
      new Option("--output <form>", "text for people, json for machines, markdown for a chat")
        .choices(["text", "json", "markdown"])
        .default("text"),
    )
    .option(
      "--anonymize",
      "replace names and addresses in the output; the same name gets the same replacement",
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
    .option("--no-predict", "do not simulate the effect of a fix")
    .option("--explain <cause>", "print what a cause is and how it is found, then exit")
    .addHelpText("after", helpText(context, epilogue))
    .action(async (paths: readonly string[], flags: DoctorFlags) =>
      done(await runDoctor(context, paths, flags)),
    );
}
