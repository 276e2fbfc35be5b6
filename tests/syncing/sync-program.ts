// `lockstep sync` as a program on a simulated machine, with its config file and a kubeconfig.
import { runProgram } from "../../src/cli/program.ts";
import { RecordedTerminal } from "../terminal/recorded-terminal.ts";
import { clusters, type SyncWorld } from "./sync-world.ts";

const kubeconfig = JSON.stringify({
  apiVersion: "v1",
  kind: "Config",
  clusters: clusters.map((name) => ({ name, cluster: { server: `https://${name}:6443` } })),
  contexts: clusters.map((name) => ({ name, context: { cluster: name, user: "admin" } })),
  users: [{ name: "admin", user: { token: "token" } }],
});

/** Starts the program on a machine; `stop` ends it, and `done` returns its output. */
export async function startSyncProgram(
  world: SyncWorld,
  host: string,
  file: string,
  args: readonly string[] = [],
) {
  const environment = world.simulation.host(host);
  await environment.files.write("/kubeconfig", kubeconfig);
  await environment.files.write("/sync.yaml", file);
  const terminal = new RecordedTerminal();
  const abort = new AbortController();
  const context = { environment, terminal, stop: abort.signal };
  const line = ["sync", ...args, "--config", "/sync.yaml", "--kubeconfig", "/kubeconfig"];
  const done = runProgram(context, "0.0.0", line);
  return {
    done: async () => ({ code: await done, out: terminal.out, errors: terminal.error }),
    stop: async () => {
      abort.abort(new Error("stopped by the test"));
      await done;
    },
  };
}
