// Refuses a file that cannot become or go on as a recording, before any cluster is asked.
import type { Environment } from "../../../environment/environment.ts";
import { type Files, FilesError, ownerOnly } from "../../../environment/files.ts";
import { mayRecordTo } from "../../../recording/recording-file.ts";
import { asUsage } from "../../as-usage.ts";
import { UsageError } from "../../command.ts";

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
  // A recording that has grown is renamed, which nobody wants of a device or a pipe.
  if (kind === "folder" || kind === "other") {
    throw new UsageError(`${path} is no ordinary file: name another one.`);
  }
  if (await asUsage([FilesError], () => mayRecordTo(files, path))) return;
  throw new UsageError(`${path} is no recording: name another file, this one is left as it is.`);
}

/** By trying it, so that nobody waits for a cluster's answer to hear of it. */
async function refuseUnwritable(files: Files, path: string): Promise<void> {
  await asUsage([FilesError], async () => {
    const isAbsent = (await files.kind(path)) === undefined;
    await files.append(path, "");
    if (isAbsent) await files.remove(path);
    for (const kept of [path, `${path}.1`]) await files.setMode(kept, ownerOnly);
  });
}
