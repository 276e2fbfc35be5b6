// An API server in a process of its own: its configuration file, and its run until it is stopped. All
// its state is in etcd, so it may be killed at any time and started again.

import { PeerAddresses } from "../../apiserver/audit/peer-addresses.ts";
import type { User } from "../../apiserver/http/authentication.ts";
import { EtcdStorage } from "../../apiserver/storage/etcd/etcd-storage.ts";
import { Klog, type KlogLine } from "../../components/klog.ts";
import type { Environment } from "../../environment/environment.ts";
import { type ServerPlan, startServer } from "../cluster-server.ts";
import { type PodLogAddress, remotePodLogs } from "./pod-log-service.ts";

/** Written by the lab with mode 0600: it has keys and tokens. */
export interface ServerProcessConfig {
  /** Marks the file, so that any other file is refused. */
  readonly kind: typeof configKind;
  readonly plan: ServerPlan;
  readonly tokens: readonly (readonly [token: string, user: User])[];
  /** The etcd, and where in it the cluster's keys are. */
  readonly store: { readonly endpoints: readonly string[]; readonly root: string };
  readonly podLogs: PodLogAddress;
}

export const configKind = "lockstep lab apiserver";

export class ServerConfigError extends Error {
  override readonly name = "ServerConfigError";
  readonly code = "SERVER_CONFIG";
}

/** Runs until the signal aborts; `onLog` takes each line of the server's log. */
export async function runServerProcess(
  environment: Environment,
  file: string,
  options: { readonly stop: AbortSignal; readonly onLog: (line: KlogLine) => void },
): Promise<void> {
  const { plan, tokens, store, podLogs } = await readConfig(environment, file);
  const { clock, network } = environment;
  const klog = new Klog({ clock, pid: environment.processes.pid });
  klog.follow(options.onLog);
  const storage = new EtcdStorage({ ...environment, ...store });
  try {
    const server = await startServer({
      ...plan,
      environment,
      storage,
      klog,
      tokens: new Map(tokens),
      podLogs: remotePodLogs(network, podLogs),
      peers: new PeerAddresses(),
      isOneOfSeveral: true,
      stop: options.stop,
    });
    await untilAborted(options.stop);
    await server.stop();
  } finally {
    storage.stop();
  }
}

async function readConfig({ files }: Environment, file: string): Promise<ServerProcessConfig> {
  const bytes = await files.read(file);
  if (bytes === undefined) throw new ServerConfigError(`${file} does not exist`);
  const config = parsed(Buffer.from(bytes).toString("utf8"));
  if (!isConfig(config)) {
    throw new ServerConfigError(`${file} was not written by lockstep lab for one of its servers`);
  }
  return config;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Only the lab writes files with this mark. */
function isConfig(value: unknown): value is ServerProcessConfig {
  return (
    typeof value === "object" && value !== null && "kind" in value && value.kind === configKind
  );
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
