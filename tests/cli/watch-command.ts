// Only for tests: `lockstep watch` in virtual time, beside clusters that are nothing but their API
// servers.

import { runProgram } from "../../src/cli/program.ts";
import type { ObserverWorld } from "../observer/observer-world.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";

const clusters = ["lab-1", "lab-2"];

export const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  "current-context": "lab-1",
  clusters: [
    ...clusters.map((name) => ({ name, cluster: { server: `https://${name}:6443` } })),
    { name: "proxied", cluster: { server: "https://lab-9:6443", "proxy-url": "http://proxy" } },
  ],
  contexts: [
    ...clusters.map((name) => ({ name, context: { cluster: name, user: "admin" } })),
    { name: "lab-1-again", context: { cluster: "lab-1", user: "reader" } },
    { name: "proxied", context: { cluster: "proxied", user: "admin" } },
  ],
  users: ["admin", "reader"].map((name) => ({ name, user: { token: name } })),
});

export interface Asked {
  readonly args: readonly string[];
  /** Runs beside the command, which is asked to stop when it is over. */
  readonly meanwhile?: (world: ObserverWorld) => Promise<void>;
  readonly screen?: { readonly columns: number; readonly rows: number };
}

/** Runs `lockstep watch` until it ends, or until what happens meanwhile is over. */
export async function lockstepWatch(world: ObserverWorld, { args, meanwhile, screen }: Asked) {
  const environment = world.simulation.host("lockstep");
  await environment.files.write("/kubeconfig", kubeconfig);
  const terminal = new RecordedTerminal(screen);
  const stop = new AbortController();
  const line = ["watch", "--kubeconfig", "/kubeconfig", "--utc", ...args];
  const running = runProgram({ environment, terminal, stop: stop.signal }, "0.0.0", line);
  if (meanwhile !== undefined) {
    await meanwhile(world);
    stop.abort(new Error("stopped by the test"));
  }
  const code = await running;
  return { code, out: terminal.out, errors: terminal.error };
}

/** A service with one pod, which is published. */
export async function startShop(world: ObserverWorld, cluster: string): Promise<void> {
  await world.startCluster(cluster);
  await world.addService(cluster, "web");
  await world.addPod(cluster, "web-1", "10.0.0.1");
  await world.publish(cluster, "web", ["10.0.0.1"]);
}
