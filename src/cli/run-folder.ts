// The folder of one run for its files. Its name has the pid, and a file in it has the start time of
// the process, so a later run finds folders of killed runs. It then ends their nginx, which
// outlives its controller by design, and removes the folder.
import { dirname } from "node:path";
import { counted } from "../environment/counted.ts";
import type { Environment } from "../environment/environment.ts";
import { type Files, FilesError, passableFolder } from "../environment/files.ts";
import { NginxProcess } from "../outputs/nginx/nginx-process.ts";

type Pieces = Pick<Environment, "files" | "processes" | "timers" | "clock">;

/** Start time of the owner from `/proc`, because pids are reused. */
const ownerFile = "owner-started";

const folderName = /^lockstep-(?:up|incident|lab)-(\d+)-/;

export interface RunFolder {
  /** The caller removes it at the end. */
  readonly folder: string;
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
  const started = await startedAt(files, processes.pid);
  if (started !== undefined) await files.write(`${folder}/${ownerFile}`, started);
  return { folder, cleaned: await cleanUpKilledRuns(environment, dirname(folder)) };
}

async function cleanUpKilledRuns(environment: Pieces, above: string): Promise<string | undefined> {
  const { files } = environment;
  const removed: string[] = [];
  let ended = 0;
  for (const name of await files.list(above)) {
    const pid = Number(folderName.exec(name)?.[1] ?? Number.NaN);
    if (Number.isNaN(pid)) continue;
    const folder = `${above}/${name}`;
    try {
      if (await isOwnedBy(environment, folder, pid)) continue;
      ended += await endProxies(environment, folder);
      await files.remove(folder);
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

async function isOwnedBy(
  { files, processes }: Pieces,
  folder: string,
  pid: number,
): Promise<boolean> {
  if (!processes.isAlive(pid)) return false;
  const noted = textOf(await files.read(`${folder}/${ownerFile}`));
  const started = await startedAt(files, pid);
  return noted === undefined || started === undefined || noted === started;
}

/** In clock ticks since boot; undefined on other systems. */
async function startedAt(files: Files, pid: number): Promise<string | undefined> {
  const stat = textOf(await files.read(`/proc/${pid}/stat`)) ?? "";
  // proc(5): the 22nd field. The second is a name in parentheses, which may hold any character.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
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
