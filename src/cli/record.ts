// `lockstep record`: writes down every change of pods and endpoints of clusters to a file that stays
// small, for `lockstep blame` to read afterwards. It reads only; people leave it running.
import { resolve as absolute } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { visible } from "../decide/routing/shown-text.ts";
import { FilesError } from "../environment/files.ts";
import { Recorder } from "../recording/recorder.ts";
import { defaultRecordingBytes, leastRecordingBytes } from "../recording/recording-writer.ts";
import { asUsage } from "./as-usage.ts";
import { byteSize } from "./byte-size.ts";
import { aborted, type CommandContext, type ExitCode } from "./command.ts";
import { helpText } from "./help-text.ts";
import { anonymizeFile } from "./record/anonymize-file.ts";
import { RecordNews } from "./record/record-news.ts";
import { endText, isAnythingRead, withCosts } from "./record/record-notes.ts";
import { refuseRecording } from "./record/refused-recording.ts";
import { repeatable } from "./repeatable.ts";
import { errorsOnly } from "./up/quiet-log.ts";
import { watchedClusters } from "./watch/watch-clusters.ts";
import { whatComes } from "./watch/what-comes.ts";
import { wholeNumber } from "./whole-number.ts";

interface RecordFlags {
  readonly context: readonly string[];
  readonly allContexts: boolean;
  readonly kubeconfig?: string;
  readonly namespace: readonly string[];
  readonly form: "auto" | "endpointslices" | "endpoints";
  readonly out: string;
  readonly anonymize: boolean;
  readonly anonymizeFile?: string;
  readonly maxSize: number;
  readonly maxQps?: number;
}

/** What one client may ask of an API server that others need too. */
const qpsMost = 1_000;

const epilogue = `
Recorded are pods, services, nodes and EndpointSlices (or Endpoints): names, labels, addresses,
readiness, deletion and the ends of containers, nothing of what runs in them; a line of JSON for each
change. Needed are list and watch of these; what is refused is left out, and said. Before it starts it
says what it will list and roughly how many bytes that is; --namespace and --max-qps bound it, for an
API server that is already slow.

The file survives the end of the process at any moment; a later run goes on in the same file. When it
has grown to half of --max-size it becomes FILE.1, in place of the one before, and a new one begins
with all that is known then. lockstep blame and lockstep watch --replay read both.

--anonymize replaces names, labels, uids and addresses: the same one always by the same one. Times and
ports stay. --anonymize-file does it with a recording that exists, and asks no cluster.

Exit codes: 0 it ended when told to, 1 no cluster was ever read, 2 it could not be done as asked.

Examples:
  lockstep record --out pods.jsonl
  lockstep record --all-contexts --out pods.jsonl --max-size 1G
  lockstep record --context prod --namespace shop --out pods.jsonl
  lockstep record --anonymize-file pods.jsonl --out shared.jsonl
  lockstep blame --access-log access.log --recording pods.jsonl`;

export function recordCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("record")
    .description("write down changes of pods and endpoints, until stopped")
    .requiredOption("--out <file>", "where to; an existing recording is continued")
    .option(
      "--context <name>",
      "a context, or name=context; repeatable; the current one unless given",
      repeatable,
      [],
    )
    .option("--all-contexts", "every cluster of the kubeconfig, by its first context", false)
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option("--namespace <name>", "only this one; repeatable", repeatable, [])
    .option("--form <form>", "auto, endpointslices or endpoints", form, "auto")
    .addOption(
      new Option("--max-size <bytes>", "of both files together: 500M, 2G")
        .argParser(byteSize(leastRecordingBytes))
        .default(defaultRecordingBytes, "256M"),
    )
    .option(
      "--max-qps <n>",
      "at most so many requests a second to each cluster",
      wholeNumber(1, qpsMost),
    )
    .option("--anonymize", "replace names and addresses, the same ones by the same", false)
    .option(
      "--anonymize-file <file>",
      "read this recording and write it anonymised; asks no cluster",
    )
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: RecordFlags) => {
      const { anonymizeFile: from } = flags;
      if (from === undefined) done(await runRecord(inWords(context), flags));
      else done(await anonymizeFile(context, { from: absolute(from), to: absolute(flags.out) }));
    });
}

/** How it stands with the clusters is said in sentences, so the log need not say it too. */
function inWords(context: CommandContext): CommandContext {
  const { environment } = context;
  return { ...context, environment: { ...environment, log: errorsOnly(environment.log) } };
}

async function runRecord(context: CommandContext, flags: RecordFlags): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const path = absolute(flags.out);
  await refuseRecording(environment, path);
  const { recorder, leftOut, names, namespaces } = await recorderOf(context, flags, path);
  const { observer } = recorder;
  const lines = await whatComes({
    ...environment,
    terminal,
    stop,
    preview: (signal) => observer.preview(signal),
    permissions: async (signal) => (await observer.permissions(signal)).map(withCosts),
    clusters: names.length,
    leftOut,
    closing: "Lockstep only reads. It needs nothing else on a managed cluster (EKS, GKE, AKS).",
  });
  if (stop.aborted) {
    terminal.writeError("Stopped before anything was recorded.\n");
    return 1;
  }
  terminal.writeError(`${lines.join("\n")}\n\n`);
  await asUsage([FilesError], () => recorder.start());
  terminal.writeError(`Recording ${visible(names.join(", "))} to ${path}. Ctrl-C stops it.\n`);
  const clusters = () => observer.clusters();
  const news = new RecordNews({ ...environment, terminal, namespaces, clusters });
  news.start();
  try {
    await aborted(stop);
  } finally {
    news.stop();
    await recorder.stop();
  }
  terminal.writeError(`${visible(endText(clusters(), recorder.dropped))}\n`);
  return isAnythingRead(clusters()) ? 0 : 1;
}

async function recorderOf({ environment, stop }: CommandContext, flags: RecordFlags, path: string) {
  const { context: contexts, allContexts, kubeconfig, namespace, form, maxQps } = flags;
  const asked = { contexts, allContexts, kubeconfig, accessContexts: [] };
  const { clusters, leftOut } = await watchedClusters(environment, asked, stop);
  const namespaces = namespace.length === 0 ? undefined : namespace;
  const recorder = new Recorder({
    ...environment,
    clusters: clusters.map((one) => ({ ...one, form })),
    namespaces,
    ...(maxQps !== undefined && { maxQps }),
    path,
    maxBytes: flags.maxSize,
    anonymize: flags.anonymize,
  });
  return { recorder, leftOut, names: clusters.map(({ cluster }) => cluster), namespaces };
}

function form(text: string): RecordFlags["form"] {
  if (text === "auto" || text === "endpointslices" || text === "endpoints") return text;
  throw new InvalidArgumentError("It must be auto, endpointslices or endpoints.");
}
