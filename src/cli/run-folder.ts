// The folder of one run for its files. The run holds a lock on a file in it, which ends with the
// process, so a later run finds folders of killed runs. It then ends their nginx, which outlives its
// controller by design, and removes the folder. Pids alone would not do: a container that shares the
// temporary folder has pids of its own.
import { dirname } from "node:path";
import { counted } from "../environment/counted.ts";
import type { Environment } from "../environment/environment.ts";
import { type FileLock, type Files, FilesError, passableFolder } from "../environment/files.ts";
import { NginxProcess } from "../outputs/nginx/nginx-process.ts";

type Pieces = Pick<Environment, "files" | "processes" | "timers" | "clock">;

const lockFile = "run.lock";

const folderName = /^lockstep-(?:up|incident|lab)-\d+-/;

/** A lock that nothing refers to ends; these are held until this process ends. */
const heldLocks = new Set<FileLock>();

export interface RunFolder {
  /** The caller removes it at the end. */
  readonly folder: string;
  readonly lock: FileLock;
  /** Cleaned up from killed runs; undefined when there was nothing. */
  readonly cleaned: string | undefined;
}

export async function makeRunFolder(
  environment: Pieces,
  command: "up" | "incident" | "lab" = "up",
): Promise<RunFolder> {
  const { files, processes } = environment;
  const folder = await files.temporaryDirectory(`lockstep-${command}-${processes.pid}-`);
  // Started by root, nginx has workers of another user, who open files in it by their paths.
  if (processes.isRoot && command !== "lab") await files.setMode(folder, passableFolder);
  const lock = await files.lock(`${folder}/${lockFile}`);
  // Another run that cleans up was faster, and removes this folder.
  if (lock === undefined) return await makeRunFolder(environment, command);
  heldLocks.add(lock);
  return { folder, lock, cleaned: await cleanUpKilledRuns(environment, dirname(folder)) };
}

async function cleanUpKilledRuns(environment: Pieces, above: string): Promise<string | undefined> {
  const { files } = environment;
  const removed: string[] = [];
  let ended = 0;
  for (const name of await files.list(above)) {
    if (!folderName.test(name)) continue;
    const folder = `${above}/${name}`;
    try {
      const lock = await lockOfKilledRun(files, folder);
      if (lock === undefined) continue;
      ended += await endProxies(environment, folder);
      await files.remove(folder);
      await lock.release();
      removed.push(folder);
    } catch (error) {
      // It belongs to another user, whose next run removes it.
      if (!(error instanceof FilesError)) throw error;
    }
  }
  if (removed.length === 0) return undefined;
  const runs = counted(removed.length, "run");
  return `cleaned up after ${runs} that had been killed (nginx ended: ${ended}, removed: ${removed.join(", ")})`;
}

/** Undefined while the run goes on, or has not locked its folder yet. */
async function lockOfKilledRun(files: Files, folder: string): Promise<FileLock | undefined> {
  const path = `${folder}/${lockFile}`;
  return (await files.kind(path)) === "file" ? await files.lock(path) : undefined;
}

/** Returns their number; a master ends its workers. */
async function endProxies(environment: Pieces, folder: string): Promise<number> {
  const { files } = environment;
  let ended = 0;
  for (const replica of await files.list(folder)) {
    const prefix = `${folder}/${replica}`;
    if ((await files.kind(prefix)) !== "folder") continue;
    const nginx = new NginxProcess({ ...environment, prefix, program: "nginx" });
    const master = await nginx.masterPid();
    if (master === undefined || !(await isStartedWith(files, master, prefix))) continue;
    await nginx.endNow([master]);
    ended += 1;
  }
  return ended;
}

/** Its command line has the prefix; a pid file may name a later process. */
async function isStartedWith(files: Files, pid: number, prefix: string): Promise<boolean> {
  const command = textOf(await files.read(`/proc/${pid}/cmdline`)) ?? "";
  return command.replaceAll("\0", " ").includes(` -p ${prefix} `);
}

function textOf(content: Uint8Array | undefined): string | undefined {
  return content === undefined ? undefined : Buffer.from(content).toString("utf8");
}
