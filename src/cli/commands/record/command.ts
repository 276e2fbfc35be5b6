// `lockstep record`: flags and help.
import { Command, Option } from "commander";
import { defaultRecordingBytes, leastRecordingBytes } from "../../../recording/recording-writer.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import { addContextFlags, byteSize, type ContextFlags, filePath } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { anonymizeFile, runRecord } from "./run.ts";

const forms = ["auto", "endpointslices", "endpoints"] as const;

export interface RecordFlags extends ContextFlags {
  readonly form: (typeof forms)[number];
  readonly out: string;
  readonly anonymize: boolean;
  readonly anonymizeFile?: string;
  readonly maxSize: number;
}

const epilogue = `
It records pods, services, nodes and EndpointSlices (or Endpoints), but only their names, labels,
addresses, readiness, deletion and the exits of containers. Each change is one line of JSON. Required
permissions: list and watch of these kinds. A kind without permission is skipped and reported. At the
start it prints how much it will list; --namespace and --max-qps reduce the load on a slow server.

The file survives a crash, and a later run continues it. At half of --max-size it is renamed to
FILE.1, which replaces the previous one. The new file starts with the complete state. lockstep blame
and lockstep watch --replay read both files.

--anonymize replaces names, labels, uids and addresses; the same name always gets the same
replacement. Times and ports stay. --anonymize-file does this with an existing recording.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 1 no cluster could be read; 2 error.

Examples:
  lockstep record --out pods.jsonl
  lockstep record --all-contexts --out pods.jsonl --max-size 1G
  lockstep record --context prod --namespace shop --out pods.jsonl
  lockstep record --anonymize-file pods.jsonl --out shared.jsonl
  lockstep blame --access-log access.log --recording pods.jsonl`;

export function recordCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("record")
    .optionsGroup("The recording:")
    .requiredOption("--out <file>", "file to write; an existing recording is continued", filePath)
    .addOption(
      new Option("--max-size <bytes>", "maximum size of both files together: 500M, 2G")
        .argParser(byteSize(leastRecordingBytes))
        .default(defaultRecordingBytes, "256M"),
    )
    .option("--anonymize", "replace names and addresses", false)
    .option("--anonymize-file <file>", "anonymize this recording; needs no cluster", filePath)
    .optionsGroup("The clusters:");
  return addContextFlags(command)
    .addOption(
      new Option("--form <form>", "source of the published endpoints")
        .choices(forms)
        .default("auto"),
    )
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: RecordFlags) => {
      const { anonymizeFile: from, out: to } = flags;
      if (from === undefined) done(await runRecord(context, flags));
      else done(await anonymizeFile(context, { from, to }));
    });
}
