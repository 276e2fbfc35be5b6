// The folder of one run, for what it must keep in files. Its name has our pid and a file in it when that
// process started, so a later run can find the folders of runs that were killed: their nginx, which
// outlives its controller by design, is ended, and the folder removed.
import { dirname } from "node:path";
import type { Environment } from "../environment/environment.ts";
import { type Files, FilesError } from "../environment/files.ts";
import { NginxProcess } from "../outputs/nginx/nginx-process.ts";
import { counted } from "./terminal/counted.ts";

type Pieces = Pick<Environment, "files" | "processes" | "timers" | "clock">;

/** When the owner started, as `/proc` has it: a pid alone is given to another process one day. */
const ownerFile = "owner-started";

const folderName = /^lockstep-(?:up|incident|lab)-(\d+)-/;

export interface RunFolder {
  /** To be removed at the end. */
  readonly folder: string;
  /** What was ended and removed of runs that had been killed; undefined when there was nothing. */
  readonly cleaned: string | undefined;
}

export async function makeRunFolder(
  environment: Pieces,
  command: "up" | "incident" | "lab" = "up",
): Promise<RunFolder> {
  const { files, processes } = environment;
  const folder = await files.temporaryDirectory(`lockstep-${command}-${processes.pid}-`);
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
      // Another user's: the next run of that user removes it.
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

/** In clock ticks since the machine started; undefined where the system does not say. */
async function startedAt(files: Files, pid: number): Promise<string | undefined> {
  const stat = textOf(await files.read(`/proc/${pid}/stat`)) ?? "";
  // proc(5): the 22nd field. The second is a name in parentheses, which may hold any character.
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
}

/** Gives how many; a master that is asked to end takes its workers with it. */
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

/** Whether its command line names the prefix: a pid file may name a process that came later. */
async function isStartedWith(files: Files, pid: number, prefix: string): Promise<boolean> {
  const command = textOf(await files.read(`/proc/${pid}/cmdline`)) ?? "";
  return command.replaceAll("\0", " ").includes(` -p ${prefix} `);
}

function textOf(content: Uint8Array | undefined): string | undefined {
  return content === undefined ? undefined : Buffer.from(content).toString("utf8");
}
