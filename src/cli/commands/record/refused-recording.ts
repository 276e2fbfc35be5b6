// Refuses a file that cannot be created or continued as a recording, before any cluster is read.
import type { Environment } from "../../../environment/environment.ts";
import { type Files, FilesError, ownerOnly } from "../../../environment/files.ts";
import { mayRecordTo } from "../../../recording/recording-file.ts";
import { UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";

/** Rejects with a `UsageError`. Leaves nothing behind. */
export async function refuseRecording(
  { files }: Pick<Environment, "files">,
  path: string,
): Promise<void> {
  await refuseForeignFile(files, path);
  await refuseUnwritable(files, path);
}

async function refuseForeignFile(files: Files, path: string): Promise<void> {
  const kind = await asUsage([FilesError], () => files.kind(path));
  // A full recording is renamed, which must not happen to a device or a pipe.
  if (kind === "folder" || kind === "other") {
    throw new UsageError(`${path} is not an ordinary file: give another one.`);
  }
  if (await asUsage([FilesError], () => mayRecordTo(files, path))) return;
  throw new UsageError(`${path} is not a recording and is not overwritten: give another file.`);
}

/** Tries to write before any cluster is read. */
async function refuseUnwritable(files: Files, path: string): Promise<void> {
  await asUsage([FilesError], async () => {
    const isAbsent = (await files.kind(path)) === undefined;
    await files.append(path, "");
    if (isAbsent) await files.remove(path);
    for (const kept of [path, `${path}.1`]) await files.setMode(kept, ownerOnly);
  });
}
