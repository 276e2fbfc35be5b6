// `lockstep lab`: runs embedded clusters until stopped, and hands out a kubeconfig for them.
import { webcrypto } from "node:crypto";
import { resolve as absolute } from "node:path";
import { Command, Option } from "commander";
import { labVersionOf } from "../lab/cluster-server.ts";
import { defaultProfile } from "../lab/cluster-servers.ts";
import { type ControllerFlags, controllerFlags, readFlags } from "../lab/controllers/flags.ts";
import { type ProfileName, profileNamed, profileNames } from "../lab/controllers/profiles.ts";
import { kubeconfig } from "../lab/kubeconfig.ts";
import { type Lab, startLab } from "../lab/lab.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { helpText } from "./help-text.ts";
import { firstSteps } from "./lab/first-steps.ts";
import { refuseKubeconfigFile, writeKubeconfigFile } from "./lab/kubeconfig-file.ts";
import { labApiserverCommand } from "./lab-apiserver.ts";
import { type OpenStore, openStore, parseStore, type StoreChoice } from "./lab-store.ts";
import { namingPortFlags, type PortFlag } from "./taken-port.ts";
import { paintFor } from "./terminal/paint.ts";
import { makeRunFolder } from "./up/run-folder.ts";
import { wholeNumber } from "./whole-number.ts";

interface LabFlags {
  readonly clusters: number;
  readonly apiservers: number;
  readonly nodes: number;
  readonly store: StoreChoice;
  readonly kubeVersion: ProfileName;
  readonly controllerManagers: number;
  readonly controllerFlag: readonly string[];
  readonly host: string;
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
Each cluster has one store, one or more API servers in front of it, controllers, and nodes. A pod
on a node is an HTTP server on an address of its own in 127.0.0.0/8, whatever its image, and
answers who it is: on the ports that its containers declare (containerPort) and on no other. One
that declares none and has no probe is Ready and refuses every connection. One whose image is the
echo server of a conformance suite (echo-basic, or ingressconformance/echoserver) answers as that
server does, so that the suite can run here.
The control plane is in kube-system: its pods show their flags and where the controller manager's
metrics are, kubectl logs their logs, in the words of the version you choose. Served are the kinds
on the path of an endpoint, access and CustomResourceDefinitions (kubectl api-resources lists
them); StatefulSets, Jobs and volumes are not. DaemonSets and ReplicationControllers can be listed
and not created. Init containers are not run. The kubeconfig has a
context per server: lab-1 is the first cluster, lab-1-server-2 its second server. Everything lives
in this process and is gone when it stops.

With --store, the objects are in an etcd and every API server is a process of its own: kill -9
any of them and the others serve on, until the lab has started it again; kill etcd and nothing
that was acknowledged is lost. "etcd" starts one for this lab alone (Debian: apt-get install
etcd-server), "etcd=http://127.0.0.1:2379" uses one that runs, and the objects stay in it under
/lab-1, /lab-2, …

Annotations on a pod say how it behaves (lab.lockstep.dev/…):
  ready-after: 3s          starts slowly, answering 503 until then
  response-time: 200ms     takes its time for each answer
  status: "500"            answers with this status
  on-term: exit            when asked to end: exit at once, drain (the default) or ignore
  drain-time: 10s          the longest it waits for requests under way
  crash-after: 1m          falls over by itself

Examples:
  lockstep lab
  lockstep lab --clusters 2 --apiservers 3 --nodes 4
  lockstep lab --apiservers 3 --store etcd
  lockstep lab --kube-version 1.17.3 --controller-flag kube-api-qps=5
  lockstep lab --kubeconfig ./lab.yaml        then: kubectl --kubeconfig ./lab.yaml get ns
  lockstep lab --kubeconfig - > lab.yaml      the kubeconfig on standard output
  lockstep lab --json                         addresses as one JSON object`;

export function labCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("lab")
    .description("run embedded clusters that kubectl can talk to, until stopped")
    .usage("[options]")
    .addCommand(labApiserverCommand(context, done), { hidden: true })
    .option("--clusters <n>", "how many clusters", wholeNumber(1, maxClusters), 1)
    .option("--apiservers <n>", "API servers in each cluster", wholeNumber(1, maxApiservers), 1)
    .addOption(
      new Option("--store <where>", "where objects are kept: memory, etcd or etcd=URL")
        .argParser(parseStore)
        .default({ type: "memory" }, "memory"),
    )
    .option("--nodes <n>", "nodes in each cluster", wholeNumber(0, maxNodes), 2)
    .addOption(
      new Option("--kube-version <version>", "whose behaviour and bugs the control plane has")
        .choices(profileNames)
        .default(defaultProfile),
    )
    .option(
      "--controller-managers <n>",
      "in each cluster: one leads, the others stand by",
      wholeNumber(1, maxControllerManagers),
      1,
    )
    .addOption(
      new Option("--controller-flag <name=value>", "of kube-controller-manager, may be repeated")
        .argParser((word: string, words: readonly string[]) => [...words, word])
        .default([], "none"),
    )
    .option(
      "--kubeconfig <file>",
      "write the kubeconfig to this new file, until stopped (- for standard output)",
    )
    .addOption(new Option("--host <address>", "address to listen on").default("127.0.0.1"))
    .option("--port <n>", "first port; 0 for any free ones", wholeNumber(0, 65_000), 0)
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
