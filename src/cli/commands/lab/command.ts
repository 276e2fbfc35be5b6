// `lockstep lab`: flags and help.
import { Command, Option } from "commander";
import { defaultProfile } from "../../../lab/cluster-servers.ts";
import { type ProfileName, profileNames } from "../../../lab/versions/profiles.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { anyText, filePath, listOf, wholeNumber } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runLab, runLabApiserver } from "./run.ts";
import { parseStore, type StoreChoice } from "./store.ts";

export interface LabFlags {
  readonly clusters: number;
  readonly apiservers: number;
  readonly nodes: number;
  readonly store: StoreChoice;
  readonly kubeVersion: ProfileName;
  readonly controllerManagers: number;
  readonly controllerFlag: readonly string[];
  readonly host?: string;
  readonly port: number;
  readonly kubeconfig?: string;
  readonly json: boolean;
}

/** Each one is a server with caches; a higher number is a mistake at the keyboard. */
const maxClusters = 50;

const maxApiservers = 9;

const maxNodes = 100;

const maxControllerManagers = 3;

const epilogue = `
Each cluster has one store, one or more API servers, controllers and nodes. A pod is an HTTP server
with its own address in 127.0.0.0/8, for any image. It answers with its name, only on the ports of its
containers (containerPort). A pod without ports and probes is Ready and refuses every connection. The
images echo-basic and ingressconformance/echoserver answer like the echo server of the conformance
suites, so that these suites can run here.

The control plane is in kube-system. Its pods show their flags and the address of the metrics; kubectl
logs shows logs in the format of the chosen version. kubectl api-resources lists the supported kinds;
CustomResourceDefinitions add others. StatefulSets, Jobs and volumes are not supported. DaemonSets and
ReplicationControllers can be listed but not created. Init containers are not run. The kubeconfig has
one context per API server: lab-1 is the first cluster, lab-1-server-2 its second server. Without
--store all data is in memory and is lost at the end.

With several API servers, each has its own address in 127.0.0.0/8 and all have the same port. The
endpoints of the Service kubernetes list these addresses as the chosen version does: with leases, or
(--kube-version 1.9 and older) by count, where the servers replace each other every 10 s. See
kubectl get endpoints kubernetes --watch

With --store etcd, the objects are in etcd and every API server is a separate process. You can kill -9
an API server: the others continue, and the lab restarts it. kill -STOP pauses one: its address leaves
the endpoints within 25 s and returns after kill -CONT. If you kill etcd, no confirmed write is lost.
"etcd" starts an etcd for this lab (Debian: apt-get install etcd-server). "etcd=http://127.0.0.1:2379"
uses a running etcd; the objects stay there under /lab-1, /lab-2, …

Annotations of a pod control its behaviour (lab.lockstep.dev/…):
  ready-after: 3s          start slowly: answer 503 for this time
  response-time: 200ms     time for each answer
  status: "500"            status of each answer
  on-term: exit            on SIGTERM: exit immediately, drain (default) or ignore
  drain-time: 10s          maximum wait for requests in progress
  crash-after: 1m          crash after this time

Exit codes: 0 stopped by Ctrl-C or SIGTERM, 2 error.

Examples:
  lockstep lab
  lockstep lab --clusters 2 --apiservers 3 --nodes 4
  lockstep lab --apiservers 3 --store etcd
  lockstep lab --kube-version 1.17.3 --controller-flag kube-api-qps=5
  lockstep lab --kubeconfig ./lab.yaml        then: kubectl --kubeconfig ./lab.yaml get ns
  lockstep lab --kubeconfig - > lab.yaml      print the kubeconfig to standard output
  lockstep lab --json                         print addresses as one JSON object`;

export function labCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("lab")
    .usage("[options]")
    .addCommand(labApiserverCommand(context, done), { hidden: true })
    .optionsGroup("Size:")
    .option("--clusters <n>", "number of clusters", wholeNumber(1, maxClusters), 1)
    .option("--apiservers <n>", "API servers per cluster", wholeNumber(1, maxApiservers), 1)
    .option("--nodes <n>", "nodes per cluster", wholeNumber(0, maxNodes), 2)
    .addOption(
      new Option("--store <where>", "storage of the objects: memory, etcd or etcd=URL")
        .argParser(parseStore)
        .default({ type: "memory" }, "memory"),
    )
    .optionsGroup("Controllers:")
    .addOption(
      new Option(
        "--kube-version <version>",
        "Kubernetes version whose behaviour and bugs are reproduced",
      )
        .choices(profileNames)
        .default(defaultProfile),
    )
    .option(
      "--controller-managers <n>",
      "controller managers per cluster; one is the leader",
      wholeNumber(1, maxControllerManagers),
      1,
    )
    .addOption(
      new Option("--controller-flag <name=value>", "flag of kube-controller-manager; repeatable")
        .argParser(listOf(anyText))
        .default([], "none"),
    )
    .optionsGroup("Addresses and output:")
    .option(
      "--kubeconfig <file>",
      "write the kubeconfig to this new file; removed at the end (- for standard output)",
      (text) => (text === "-" ? text : filePath(text)),
    )
    .option(
      "--host <address>",
      "address of every API server (default: 127.0.0.1; with --apiservers one address each)",
    )
    .option("--port <n>", "first port; 0: any free ports", wholeNumber(0, 65_000), 0)
    .option("--json", "print addresses as one JSON object", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: LabFlags) => done(await runLab(context, flags)));
}

/** `lockstep lab apiserver`: the lab starts one process for each API server of a lab with a store. */
function labApiserverCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("apiserver")
    .description("one API server of a lab with a store, as the lab starts it")
    .requiredOption("--config <file>", "file that the lab has written for this server")
    .action(async ({ config }: { readonly config: string }) =>
      done(await runLabApiserver(context, config)),
    );
}
