// The folder of one run, for what it must keep in files. Its name carries our pid, so that a later
// run can tell which folders belong to runs that were killed: their nginx, which outlives its
// controller by design, is ended, and the folder removed.
import type { Environment } from "../../environment/environment.ts";
import { NginxProcess } from "../../outputs/nginx/nginx-process.ts";

type Pieces = Pick<Environment, "files" | "processes" | "timers" | "clock">;

/** A new folder; what killed runs left is cleaned up first. Gives how many of those there were. */
export async function makeRunFolder(
  environment: Pieces,
  command: "up" | "incident" | "lab" = "up",
): Promise<{ readonly folder: string; readonly cleaned: number }> {
  const { files, processes } = environment;
  const folder = await files.temporaryDirectory(`lockstep-${command}-${processes.pid}-`);
  const above = folder.slice(0, folder.lastIndexOf("/"));
  let cleaned = 0;
  for (const name of await files.list(above)) {
    const pid = Number(/^lockstep-(?:up|incident|lab)-(\d+)-/.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid) || processes.isAlive(pid)) continue;
    await endProxies(environment, `${above}/${name}`);
    await files.remove(`${above}/${name}`);
    cleaned += 1;
  }
  return { folder, cleaned };
}

/** Those of both sides; a master that is told to end takes its workers with it. */
async function endProxies(environment: Pieces, folder: string): Promise<void> {
  for (const replica of await environment.files.list(folder)) {
    if (!/^(stock|lockstep)-\d+$/.test(replica)) continue;
    const prefix = `${folder}/${replica}`;
    const nginx = new NginxProcess({ ...environment, prefix, program: "nginx" });
    const master = await nginx.masterPid();
    if (master !== undefined) await nginx.endNow([master]);
  }
}
