// `lockstep lab`: runs embedded clusters until stopped, and hands out a kubeconfig for them.
import { webcrypto } from "node:crypto";
import { resolve as absolute } from "node:path";
import { Command, Option } from "commander";
import { labVersionOf } from "../../../lab/cluster-server.ts";
import { defaultProfile } from "../../../lab/cluster-servers.ts";
import {
  type ControllerFlags,
  controllerFlags,
  readFlags,
} from "../../../lab/controllers/flags.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { type Lab, startLab } from "../../../lab/lab.ts";
import { type ProfileName, profileNamed, profileNames } from "../../../lab/versions/profiles.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { namingPortFlags, type PortFlag } from "../../taken-port.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wholeNumber } from "../../whole-number.ts";
import { labApiserverCommand } from "./apiserver.ts";
import { firstSteps } from "./first-steps.ts";
import { refuseKubeconfigFile, writeKubeconfigFile } from "./kubeconfig-file.ts";
import { type OpenStore, openStore, parseStore, type StoreChoice } from "./store.ts";

interface LabFlags {
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

/** More would be a mistake at a keyboard, and each is a server with its caches. */
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
logs shows logs in the format of the chosen version. Supported are the kinds around endpoints and
access, and CustomResourceDefinitions (see kubectl api-resources). StatefulSets, Jobs and volumes are
not supported. DaemonSets and ReplicationControllers can be listed but not created. Init containers
are not run. The kubeconfig has one context per API server: lab-1 is the first cluster,
lab-1-server-2 its second server. All data is in this process and is lost when it stops.

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
    .description("run embedded Kubernetes clusters for kubectl, until stopped")
    .usage("[options]")
    .addCommand(labApiserverCommand(context, done), { hidden: true })
    .option("--clusters <n>", "number of clusters", wholeNumber(1, maxClusters), 1)
    .option("--apiservers <n>", "API servers per cluster", wholeNumber(1, maxApiservers), 1)
    .addOption(
      new Option("--store <where>", "storage of the objects: memory, etcd or etcd=URL")
        .argParser(parseStore)
        .default({ type: "memory" }, "memory"),
    )
    .option("--nodes <n>", "nodes per cluster", wholeNumber(0, maxNodes), 2)
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
        .argParser((word: string, words: readonly string[]) => [...words, word])
        .default([], "none"),
    )
    .option(
      "--kubeconfig <file>",
      "write the kubeconfig to this new file; removed at the end (- for standard output)",
    )
    .option(
      "--host <address>",
      "address of every API server (default: 127.0.0.1; with --apiservers one address each)",
    )
    .option("--port <n>", "first port; 0: any free ports", wholeNumber(0, 65_000), 0)
    .option("--json", "print addresses as one JSON object", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: LabFlags) => done(await runLab(context, withAbsoluteFile(flags))));
}

async function runLab(context: CommandContext, flags: LabFlags): Promise<ExitCode> {
  const { environment, terminal } = context;
  if (flags.kubeconfig !== undefined && flags.kubeconfig !== "-") {
    await refuseKubeconfigFile(environment, flags.kubeconfig);
  }
  const controllerFlagsGiven = flagsOf(flags);
  const { folder, cleaned } = await makeRunFolder(environment, "lab");
  try {
    if (cleaned !== undefined) terminal.writeError(`${paintFor(terminal).late("!")} ${cleaned}\n`);
    await runInFolder(context, flags, controllerFlagsGiven, folder);
  } finally {
    await environment.files.remove(folder);
  }
  return 0;
}

async function runInFolder(
  context: CommandContext,
  flags: LabFlags,
  controllerFlagsGiven: Partial<ControllerFlags>,
  folder: string,
): Promise<void> {
  const { environment, terminal } = context;
  const paint = paintFor(terminal);
  const show = (name: string, url: string, pid: number | undefined): void => {
    const where = pid === undefined ? url : `${url} (pid ${pid})`;
    terminal.writeError(`${paint.lockstep("●")} ${name.padEnd(18)} ${paint.secondary(where)}\n`);
  };
  const store = await openStore(environment, flags.store, folder, (news) =>
    terminal.writeError(`${paint.late("!")} ${news}\n`),
  );
  try {
    if (store.etcd !== undefined) show("etcd", store.etcd.url, store.etcd.pid);
    const { store: _choice, ...size } = flags;
    const lab = await namingPortFlags(environment, portFlags(flags), () =>
      startLab({
        environment,
        crypto: webcrypto,
        ...size,
        profile: flags.kubeVersion,
        flags: controllerFlagsGiven,
        firstPort: flags.port,
        ...(store.options === undefined ? {} : { store: store.options }),
        onReady: ({ context: name, url, pid }) => show(name, url, pid),
      }),
    );
    try {
      await handedOut(context, flags, lab, { store, folder });
    } finally {
      await lab.stop();
      terminal.writeError("\nThe lab has stopped.\n");
    }
  } finally {
    await store.close();
  }
}

/** One for each server. */
function portFlags({ port, clusters, apiservers }: LabFlags): readonly PortFlag[] {
  const count = port === 0 ? 0 : clusters * apiservers;
  return Array.from({ length: count }, (_, index) => ({ flag: "--port", port: port + index }));
}

/** Until stopped. */
async function handedOut(
  context: CommandContext,
  flags: LabFlags,
  lab: Lab,
  { store, folder }: { readonly store: OpenStore; readonly folder: string },
): Promise<void> {
  const { path, cleanUp } = await handOut(context, flags, lab, folder);
  try {
    const { terminal } = context;
    terminal.write(flags.json ? asJson(lab, flags, path, store) : welcome(context, flags, path));
    await aborted(context.stop);
  } finally {
    await cleanUp();
  }
}

function withAbsoluteFile(flags: LabFlags): LabFlags {
  if (flags.kubeconfig === undefined || flags.kubeconfig === "-") return flags;
  return { ...flags, kubeconfig: absolute(flags.kubeconfig) };
}

/** Puts the kubeconfig where it was asked for; undefined path when it went to standard output. */
async function handOut(
  { environment, terminal }: CommandContext,
  flags: LabFlags,
  lab: Lab,
  folder: string,
) {
  const text = kubeconfig(lab.contexts);
  if (flags.kubeconfig === "-") {
    terminal.write(text);
    return { path: undefined, cleanUp: async () => undefined };
  }
  if (flags.kubeconfig !== undefined) {
    const path = flags.kubeconfig;
    // It may have come into being while the lab started.
    await refuseKubeconfigFile(environment, path);
    const remove = await writeKubeconfigFile(environment, path, text);
    terminal.writeError(`Wrote the kubeconfig ${path}; it is removed when the lab stops.\n`);
    const cleanUp = async (): Promise<void> => {
      const isRemoved = await remove();
      const end = isRemoved ? "is removed" : "was changed by another program and stays";
      terminal.writeError(`\nThe kubeconfig ${path} ${end}.`);
    };
    return { path, cleanUp };
  }
  const path = `${folder}/kubeconfig`;
  await environment.files.write(path, text, { mode: 0o600 });
  return { path, cleanUp: async () => undefined };
}

function welcome(
  { environment, terminal }: CommandContext,
  flags: LabFlags,
  path: string | undefined,
): string {
  if (path === undefined) return "";
  const version = labVersionOf(flags.kubeVersion);
  const head = `The lab is running (Kubernetes API ${version}). Ctrl-C stops it.`;
  return `\n${paintFor(terminal).strong(head)}\n\n${firstSteps({ ...environment, ...flags, path })}\n`;
}

function asJson(
  { servers }: Lab,
  { kubeVersion }: LabFlags,
  path: string | undefined,
  { etcd }: OpenStore,
): string {
  const gitVersion = labVersionOf(kubeVersion);
  const own = etcd === undefined ? {} : { etcd: { url: etcd.url, pid: etcd.pid } };
  return `${JSON.stringify({ gitVersion, kubeconfig: path ?? null, servers, ...own })}\n`;
}

/** Refused before anything is started, by what the version has. */
function flagsOf({ kubeVersion, controllerFlag }: LabFlags): Partial<ControllerFlags> {
  try {
    const flags = readFlags(controllerFlag);
    controllerFlags(profileNamed(kubeVersion), flags);
    return flags;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new UsageError(`--controller-flag: ${error.message}`);
  }
}
