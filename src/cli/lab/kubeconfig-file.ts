// The file that a lab hands its kubeconfig out in. It is looked at before anything is started: a lab
// that cannot hand out its addresses is of no use.
import { basename, dirname } from "node:path";
import { type Files, FilesError } from "../../environment/files.ts";
import { kubeconfigMark } from "../../lab/kubeconfig.ts";
import { UsageError } from "../command.ts";

/** Rejects with a `UsageError` when the file is not ours to replace, or cannot be written. */
export async function refuseKubeconfigFile(files: Files, path: string): Promise<void> {
  try {
    await refuseForeignFile(files, path);
    await tryBeside(files, path);
  } catch (error) {
    if (!(error instanceof FilesError)) throw error;
    throw unwritable(path, reasonOf(error), error);
  }
}

async function refuseForeignFile(files: Files, path: string): Promise<void> {
  const existing = await files.read(path);
  if (existing === undefined) return;
  if (Buffer.from(existing).toString("utf8").startsWith(kubeconfigMark)) return;
  throw new UsageError(
    `${path} exists and was not written by lockstep lab, so it is left alone.\n` +
      "Name another file, or remove that one first.",
  );
}

/** A file is written beside its name first, so it can be written where that can. */
async function tryBeside(files: Files, path: string): Promise<void> {
  const folder = dirname(path);
  if ((await files.kind(folder)) === undefined) {
    throw unwritable(path, `there is no folder ${folder}`);
  }
  const trial = `${folder}/.${basename(path)}.trial`;
  await files.write(trial, "");
  await files.remove(trial);
}

function unwritable(path: string, reason: string, cause?: Error): UsageError {
  return new UsageError(`the kubeconfig cannot be written to ${path}: ${reason}`, { cause });
}

/** The system's words, without the name of the file that it was tried with. */
function reasonOf({ cause, message }: FilesError): string {
  return cause instanceof Error ? cause.message.replace(/, \w+(?: '.*)?$/s, "") : message;
}
