// Runs `lockstep lab`: starts the clusters, writes a kubeconfig for them, and stops them at the end.
import { webcrypto } from "node:crypto";
import {
  type ControllerFlags,
  controllerFlags,
  readFlags,
} from "../../../lab/controllers/flags.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { type Lab, startLab } from "../../../lab/lab.ts";
import { runServerProcess } from "../../../lab/processes/server-process.ts";
import { profileNamed } from "../../../lab/versions/profiles.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { namingPortFlags, type PortFlag } from "../../taken-port.ts";
import { paintFor } from "../../terminal/paint.ts";
import type { LabFlags } from "./command.ts";
import { refuseKubeconfigFile, writeKubeconfigFile } from "./kubeconfig-file.ts";
import { type OpenStore, openStore } from "./store.ts";
import { asJson, welcome } from "./view.ts";

export async function runLab(context: CommandContext, flags: LabFlags): Promise<ExitCode> {
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
      await serve(context, flags, lab, { store, folder });
    } finally {
      await lab.stop();
      terminal.writeError("\nThe lab has stopped.\n");
    }
  } finally {
    await store.close();
  }
}

/** One port for each server. */
function portFlags({ port, clusters, apiservers }: LabFlags): readonly PortFlag[] {
  const count = port === 0 ? 0 : clusters * apiservers;
  return Array.from({ length: count }, (_, index) => ({ flag: "--port", port: port + index }));
}

/** Returns when stopped. */
async function serve(
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

/** Writes the kubeconfig to the given place; the path is undefined for standard output. */
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
    // Another program may have created the file while the lab started.
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

/** Flags that the version does not have are refused before anything starts. */
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

export async function runLabApiserver(
  { environment, terminal, stop }: CommandContext,
  config: string,
): Promise<ExitCode> {
  const onLog = (line: object): void => terminal.write(`${JSON.stringify(line)}\n`);
  await runServerProcess(environment, config, { stop, onLog });
  return 0;
}
