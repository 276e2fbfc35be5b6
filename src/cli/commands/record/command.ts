// `lockstep record`: writes down every change of pods and endpoints of clusters to a file that stays
// small, for `lockstep blame` to read afterwards. It reads only; people leave it running.
import { resolve as absolute } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { visible } from "../../../decide/routing/shown-text.ts";
import { FilesError } from "../../../environment/files.ts";
import { Recorder } from "../../../recording/recorder.ts";
import { defaultRecordingBytes, leastRecordingBytes } from "../../../recording/recording-writer.ts";
import { asUsage } from "../../as-usage.ts";
import { byteSize } from "../../byte-size.ts";
import { aborted, type CommandContext, type ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { repeatable } from "../../repeatable.ts";
import { wholeNumber } from "../../whole-number.ts";
import { watchedClusters } from "../watch/watch-clusters.ts";
import { whatComes } from "../watch/what-comes.ts";
import { anonymizeFile } from "./anonymize-file.ts";
import { RecordNews } from "./record-news.ts";
import { endText, isAnythingRead, withCosts } from "./record-notes.ts";
import { refuseRecording } from "./refused-recording.ts";

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
It records pods, services, nodes and EndpointSlices (or Endpoints): names, labels, addresses,
readiness, deletion and the ends of containers, but no contents. Each change is one line of JSON.
Required permissions: list and watch of these kinds. Refused kinds are left out and named. At the
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
  return new Command("record")
    .description("save pod and endpoint changes to a file, until stopped")
    .requiredOption("--out <file>", "file to write; an existing recording is continued")
    .option(
      "--context <name>",
      "context, or name=context; repeatable (default: the current context)",
      repeatable,
      [],
    )
    .option("--all-contexts", "every cluster in the kubeconfig, by its first context", false)
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option("--namespace <name>", "only this one; repeatable", repeatable, [])
    .option("--form <form>", "auto, endpointslices or endpoints", form, "auto")
    .addOption(
      new Option("--max-size <bytes>", "maximum size of both files together: 500M, 2G")
        .argParser(byteSize(leastRecordingBytes))
        .default(defaultRecordingBytes, "256M"),
    )
    .option("--max-qps <n>", "maximum requests a second to each cluster", wholeNumber(1, qpsMost))
    .option("--anonymize", "replace names and addresses", false)
    .option("--anonymize-file <file>", "anonymize this recording; needs no cluster")
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
