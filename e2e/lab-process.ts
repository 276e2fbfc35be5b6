// A `lockstep lab` started as a user would start it, for tests to talk to and to stop.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { nodeEnvironment } from "../src/environment/node/node-environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import { HttpKubeClient } from "../src/kube/client/http-client.ts";
import { kubeconfigAccess } from "../src/kube/credentials/credentials-kubeconfig.ts";

export interface LabProcess {
  readonly pid: number | undefined;
  readonly kubeconfig: string;
  readonly servers: readonly { cluster: string; context: string; url: string; pid?: number }[];
  /** The lab's own, with `--store etcd`. */
  readonly etcd?: { readonly url: string; readonly pid: number };
  /** Everything written to standard error so far. */
  errorOutput(): string;
  /** Sends the signal and resolves to the exit code, once all that it said has been read. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** Labs that run: a test that fails must not leave its lab behind. */
const running = new Set<LabProcess>();

export async function stopAllLabs(): Promise<void> {
  await Promise.all([...running].map((lab) => lab.stop()));
}

export async function startLabProcess(...args: readonly string[]): Promise<LabProcess> {
  const child = lockstep("lab", "--json", ...args);
  let errors = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    errors += chunk.toString("utf8");
  });
  const line = await firstLine(child, () => errors);
  const said = JSON.parse(line) as Pick<LabProcess, "kubeconfig" | "servers" | "etcd">;
  const { kubeconfig, servers, etcd } = said;
  const closed = once(child, "close");
  const lab: LabProcess = {
    pid: child.pid,
    kubeconfig,
    servers,
    ...(etcd === undefined ? {} : { etcd }),
    errorOutput: () => errors,
    async stop(signal = "SIGINT") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await closed;
      running.delete(lab);
      return child.exitCode;
    },
  };
  running.add(lab);
  return lab;
}

/** Of the administrator of one cluster. */
export async function clientOfLab(
  { kubeconfig: path }: Pick<LabProcess, "kubeconfig">,
  context = "lab-1",
): Promise<KubeClient> {
  const environment = nodeEnvironment({ log: { level: "error" } });
  const [cluster] = await kubeconfigAccess({ ...environment, path, contexts: [context] });
  if (cluster === undefined) throw new Error(`the lab has no context ${context}`);
  return new HttpKubeClient({ ...environment, cluster, userAgent: "e2e" });
}

export interface Finished {
  readonly code: number | null;
  readonly output: string;
  readonly errorOutput: string;
}

/** Runs a command to its end. */
export async function runLockstep(...args: readonly string[]): Promise<Finished> {
  return await finished(lockstep(...args));
}

export async function finished(child: ChildProcess): Promise<Finished> {
  let output = "";
  let errorOutput = "";
  child.stdout?.on("data", (chunk: Buffer) => {
    output += chunk.toString("utf8");
  });
  child.stderr?.on("data", (chunk: Buffer) => {
    errorOutput += chunk.toString("utf8");
  });
  await once(child, "close");
  return { code: child.exitCode, output, errorOutput };
}

function lockstep(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, ["bin/lockstep.mjs", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
}

async function firstLine(child: ChildProcess, errors: () => string): Promise<string> {
  let text = "";
  for await (const chunk of child.stdout ?? []) {
    text += String(chunk);
    const end = text.indexOf("\n");
    if (end >= 0) return text.slice(0, end);
  }
  throw new Error(`the lab ended before it was ready:\n${text}${errors()}`);
}
