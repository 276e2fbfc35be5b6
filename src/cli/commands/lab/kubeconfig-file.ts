// The kubeconfig file of a lab. It is checked before anything starts. A file is replaced or removed
// only if a lab wrote it and nothing changed it: its first lines have the process and the digest of
// the rest.
import { createHash } from "node:crypto";
import { basename, dirname } from "node:path";
import type { Environment } from "../../../environment/environment.ts";
import { type Files, FilesError } from "../../../environment/files.ts";
import type { Processes } from "../../../environment/processes.ts";
import { UsageError } from "../../command.ts";

type Pieces = Pick<Environment, "files"> & {
  readonly processes: Pick<Processes, "pid" | "isAlive">;
};

/** Rejects with a `UsageError` if the file is not from a lab, or cannot be written. */
export async function refuseKubeconfigFile({ files, processes }: Pieces, path: string) {
  try {
    refuseForeignFile(processes, path, await contentOf(files, path));
    await tryBeside(files, path);
  } catch (error) {
    if (!(error instanceof FilesError)) throw error;
    throw unwritable(path, reasonOf(error), error);
  }
}

/**
 * Returns the function that removes the file. It returns false and keeps a file that was changed.
 */
export async function writeKubeconfigFile(
  { files, processes }: Pieces,
  path: string,
  text: string,
): Promise<() => Promise<boolean>> {
  const content = headOf(processes.pid, text) + text;
  await files.write(path, content, { mode: 0o600 });
  return async () => {
    const now = await contentOf(files, path);
    if (now !== undefined && now !== content) return false;
    await files.remove(path);
    return true;
  };
}

function headOf(pid: number, text: string): string {
  const digest = createHash("sha256").update(text).digest("hex");
  return (
    `# Written by lockstep lab, process ${pid}, which removes it when it stops.\n` +
    `# SHA-256 of the lines below: ${digest}\n`
  );
}

async function contentOf(files: Files, path: string): Promise<string | undefined> {
  const content = await files.read(path);
  return content === undefined ? undefined : Buffer.from(content).toString("utf8");
}

function refuseForeignFile(
  processes: Pieces["processes"],
  path: string,
  existing: string | undefined,
): void {
  if (existing === undefined) return;
  const pid = Number(/^# Written by lockstep lab, process (\d+),/.exec(existing)?.[1]);
  const text = existing.split("\n").slice(2).join("\n");
  if (headOf(pid, text) + text !== existing) {
    throw new UsageError(
      `${path} exists. It was not written by lockstep lab, or was changed since, ` +
        "so it is not overwritten.\nGive another file with --kubeconfig, or remove it first.",
    );
  }
  if (!processes.isAlive(pid)) return;
  throw new UsageError(
    `${path} belongs to a running lab, process ${pid}. Give another file with --kubeconfig.`,
  );
}

/** A file is first written under another name in its folder, so the folder must be writable. */
async function tryBeside(files: Files, path: string): Promise<void> {
  const folder = dirname(path);
  if ((await files.kind(folder)) === undefined) {
    throw unwritable(path, `folder ${folder} does not exist`);
  }
  const trial = `${folder}/.${basename(path)}.trial`;
  await files.write(trial, "");
  await files.remove(trial);
}

function unwritable(path: string, reason: string, cause?: Error): UsageError {
  return new UsageError(`the kubeconfig cannot be written to ${path}: ${reason}`, { cause });
}

/** The error of the system without the name of the trial file. */
function reasonOf({ cause, message }: FilesError): string {
  return cause instanceof Error ? cause.message.replace(/, \w+(?: '.*)?$/s, "") : message;
}
