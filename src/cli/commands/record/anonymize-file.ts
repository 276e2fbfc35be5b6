// `lockstep record --anonymize-file`: a recording that exists already, with other names and addresses.
import { FilesError, ownerOnly } from "../../../environment/files.ts";
import { Anonymizer } from "../../../recording/anonymizer.ts";
import { recordingParts, recordingTexts } from "../../../recording/recording-file.ts";
import { asUsage } from "../../as-usage.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { counted } from "../../terminal/counted.ts";

export interface AnonymizedFile {
  /** Absolute, both. */
  readonly from: string;
  readonly to: string;
}

export async function anonymizeFile(
  { environment, terminal, stop }: CommandContext,
  { from, to }: AnonymizedFile,
): Promise<ExitCode> {
  const { files, random } = environment;
  if ((await recordingParts(files, from)).length === 0) {
    throw new UsageError(`there is no recording ${from}: give a file that lockstep wrote.`);
  }
  if ((await files.kind(to)) !== undefined) {
    throw new UsageError(`${to} exists: name another file, this one is left as it is.`);
  }
  const anonymizer = new Anonymizer(random.uuid() + random.uuid());
  let [written, leftOut] = [0, 0];
  await asUsage([FilesError], async () => {
    await files.append(to, "");
    await files.setMode(to, ownerOnly);
    for await (const texts of recordingTexts(files, from, { signal: stop })) {
      const lines = texts.filter((text) => text !== "");
      const anonymous = lines.flatMap((text) => anonymizer.line(text) ?? []);
      written += anonymous.length;
      leftOut += lines.length - anonymous.length;
      if (anonymous.length > 0) await files.append(to, `${anonymous.join("\n")}\n`);
    }
  });
  const broken = leftOut === 0 ? "" : ` ${counted(leftOut, "line")} could not be read.`;
  terminal.writeError(`${counted(written, "line")} written to ${to}.${broken}\n`);
  return 0;
}
