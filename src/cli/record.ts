// `lockstep record`: writes down every change of pods and endpoints of clusters to a file that stays
// small, for `lockstep blame` to read afterwards. It reads only; people leave it running.
import { resolve as absolute } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import type { RecordedWatch } from "../blame/cluster-recorder.ts";
import { Recorder } from "../blame/recorder.ts";
import { mayRecordTo } from "../blame/recording-file.ts";
import { visible } from "../decide/routing/shown-text.ts";
import { FilesError } from "../environment/files.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { helpText } from "./help-text.ts";
import { watchedClusters } from "./watch/watch-clusters.ts";

interface RecordFlags {
  readonly context: readonly string[];
  readonly allContexts: boolean;
  readonly kubeconfig?: string;
  readonly namespace: readonly string[];
  readonly form: "auto" | "endpointslices" | "endpoints";
  readonly out: string;
  readonly maxSize: number;
}

const mebibyte = 1024 * 1024;

/** Weeks of a cluster with a few hundred changes an hour, days of a busy one. */
const defaultMaxSize = 256 * mebibyte;
const leastSize = mebibyte;

/** How long the first lists may take before somebody is told what is missing. */
const listWithinMs = 15_000;

const epilogue = `
Recorded are pods, services, nodes and EndpointSlices (or Endpoints): names, labels, addresses,
readiness, deletion and the ends of containers, nothing of what runs in them; a line of JSON for each
change. Needed are list and watch of these; what is refused is left out, and said.

The file survives the end of the process at any moment; a later run goes on in the same file. When it
has grown to half of --max-size it becomes FILE.1, in place of the one before, and a new one begins
with all that is known then. lockstep blame reads both.

Examples:
  lockstep record --out pods.jsonl
  lockstep record --all-contexts --out pods.jsonl --max-size 1G
  lockstep record --context prod --namespace shop --out pods.jsonl
  lockstep blame --access-log access.log --recording pods.jsonl`;

export function recordCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("record")
    .description("write down changes of pods and endpoints for lockstep blame, until stopped")
    .requiredOption("--out <file>", "where to; an existing recording is continued")
    .option(
      "--context <name>",
      "a context, or name=context; repeatable; the current one unless given",
      collect,
      [],
    )
    .option("--all-contexts", "every context of the kubeconfig", false)
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option("--namespace <name>", "only this one; repeatable", collect, [])
    .option("--form <form>", "auto, endpointslices or endpoints", form, "auto")
    .addOption(
      new Option("--max-size <bytes>", "of both files together: 500M, 2G")
        .argParser(size)
        .default(defaultMaxSize, "256M"),
    )
    .addHelpText("after", helpText(context.terminal, epilogue))
    .action(async (flags: RecordFlags) => done(await runRecord(context, flags)));
}

async function runRecord(context: CommandContext, flags: RecordFlags): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const { context: contexts, allContexts, kubeconfig, namespace } = flags;
  const asked = { contexts, allContexts, kubeconfig, accessContexts: [] };
  const { clusters, leftOut } = await watchedClusters(environment, asked);
  for (const line of leftOut) terminal.writeError(`${visible(line)}\n`);
  const path = absolute(flags.out);
  const recorder = new Recorder({
    ...environment,
    clusters,
    form: flags.form,
    namespaces: namespace.length === 0 ? undefined : namespace,
    path,
    maxBytes: flags.maxSize,
  });
  try {
    if (!(await mayRecordTo(environment.files, path))) {
      throw new UsageError(
        `${path} is no recording: name another file, this one is left as it is.`,
      );
    }
    await recorder.start();
  } catch (error) {
    if (!(error instanceof FilesError)) throw error;
    throw new UsageError(error.message, { cause: error });
  }
  const names = visible(clusters.map(({ cluster }) => cluster).join(", "));
  terminal.writeError(`Recording ${names} to ${path}. Ctrl-C stops it.\n`);
  const cancel = environment.timers.after(listWithinMs, () => {
    for (const line of missing(recorder)) terminal.writeError(`${visible(line)}\n`);
  });
  try {
    await aborted(stop);
  } finally {
    cancel();
    await recorder.stop();
  }
  terminal.writeError(`${endText(recorder)}\n`);
  return 0;
}

/** What is not recorded yet, and why. */
function missing(recorder: Recorder): readonly string[] {
  const waiting = recorder
    .waitingFor()
    .map((cluster) => `${cluster} does not answer; it is recorded as soon as it does.`);
  const unlisted = recorder.watches().filter(({ isListed }) => !isListed);
  return [...waiting, ...unlisted.map(missingText)];
}

function missingText({ cluster, resource, namespace, problem }: RecordedWatch): string {
  const where = namespace === undefined ? cluster : `${namespace} of ${cluster}`;
  const why = problem === undefined ? "" : `: ${problem}`;
  return `No list of ${resource} in ${where} yet; ${costs[resource] ?? ""}${why}`;
}

/** What blame cannot say without. */
const costs: Readonly<Record<string, string>> = {
  pods: "without them no address can be told",
  services: "without them a 503 without a try cannot be explained",
  nodes: "without them pods of a lost node count as well",
  endpointslices: "without them the late hop cannot be told",
  endpoints: "without them the late hop cannot be told",
};

function endText(recorder: Recorder): string {
  const { dropped } = recorder;
  return dropped === 0
    ? "Stopped; everything is written."
    : `Stopped; ${dropped.toLocaleString("en-US")} changes could not be written.`;
}

const unitBytes: Readonly<Record<string, number>> = { K: 1024, M: mebibyte, G: 1024 * mebibyte };

function size(text: string): number {
  const [, digits, unit = ""] = /^(\d+)([KMG])?i?B?$/i.exec(text) ?? [];
  const bytes = Number(digits) * (unitBytes[unit.toUpperCase()] ?? 1);
  if (bytes >= leastSize) return bytes;
  throw new InvalidArgumentError("It must be a size such as 500M or 2G, and 1M at least.");
}

function form(text: string): RecordFlags["form"] {
  if (text === "auto" || text === "endpointslices" || text === "endpoints") return text;
  throw new InvalidArgumentError("It must be auto, endpointslices or endpoints.");
}

function collect(value: string, earlier: readonly string[]): readonly string[] {
  return [...earlier, value];
}
