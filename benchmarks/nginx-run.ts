// One run of a benchmark with processes of its own: a temporary folder, and a handler for stop signals.
// Lockstep's nginx outlives its controller by design, so a signal must not end the benchmark at once.
import { setMaxListeners } from "node:events";
import { makeRunFolder } from "../src/cli/run-folder.ts";
import type { Environment } from "../src/environment/environment.ts";
import { CannotMeasureError } from "./benchmark.ts";

export interface BenchRun {
  readonly folder: string;
  /** Aborts when the run is to stop. */
  readonly signal: AbortSignal;
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export async function withNginxRun<Result>(
  environment: Environment,
  work: (run: BenchRun) => Promise<Result>,
): Promise<Result> {
  await needNginx(environment);
  return await withBenchRun(environment, work);
}

/** `work` ends what it started before it settles. */
export async function withBenchRun<Result>(
  environment: Environment,
  work: (run: BenchRun) => Promise<Result>,
): Promise<Result> {
  const stop = new AbortController();
  // Each wait and each request of the run listens to it until it is over.
  setMaxListeners(0, stop.signal);
  const interrupt = (name: string): void => {
    stop.abort(new CannotMeasureError(`stopped by ${name}; nothing is left behind`));
  };
  for (const name of signals) process.on(name, interrupt);
  const { folder } = await makeRunFolder(environment);
  try {
    return await work({ folder, signal: stop.signal });
  } finally {
    await environment.files.remove(folder);
    for (const name of signals) process.off(name, interrupt);
  }
}

async function needNginx({ files }: Environment): Promise<void> {
  const needed = ["/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];
  const absent: string[] = [];
  for (const path of needed) if ((await files.read(path)) === undefined) absent.push(path);
  if (absent.length === 0) return;
  throw new CannotMeasureError(
    `nginx with Lua is missing (${absent.join(", ")}), and this benchmark is of proxies.\n` +
      "Install it with: apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-cjson",
  );
}
