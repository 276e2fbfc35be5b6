// Runs `lockstep record`: writes every change of pods and endpoints to a file of bounded size, until
// stopped. `--anonymize-file` copies an existing recording with other names and addresses instead.

import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../../environment/counted.ts";
import type { Environment } from "../../../environment/environment.ts";
import { FilesError, ownerOnly } from "../../../environment/files.ts";
import { Anonymizer } from "../../../recording/anonymizer.ts";
import { Recorder } from "../../../recording/recorder.ts";
import { recordingParts, recordingTexts } from "../../../recording/recording-file.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { readPreview } from "../../preview.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { watchedClusters } from "../../watched-clusters.ts";
import type { RecordFlags } from "./command.ts";
import { refuseRecording } from "./refused-recording.ts";
import { endText, isAnythingRead, RecordNews, withCosts } from "./view.ts";

export async function runRecord(context: CommandContext, flags: RecordFlags): Promise<ExitCode> {
  const { terminal, stop } = context;
  // Sentences report the state of the clusters, so the log prints errors only.
  const environment = { ...context.environment, log: errorsOnly(context.environment.log) };
  await refuseRecording(environment, flags.out);
  const { recorder, leftOut, names, namespaces } = await recorderOf(environment, flags, stop);
  const { observer } = recorder;
  const lines = await readPreview({
    ...environment,
    terminal,
    stop,
    preview: (signal) => observer.preview(signal),
    permissions: async (signal) => (await observer.permissions(signal)).map(withCosts),
    clusters: names.length,
    leftOut,
    closing: "Lockstep only reads. It also works on managed clusters (EKS, GKE, AKS).",
  });
  if (stop.aborted) {
    terminal.writeError("Stopped before anything was recorded.\n");
    return 1;
  }
  terminal.writeError(`${lines.join("\n")}\n\n`);
  await asUsage([FilesError], () => recorder.start());
  terminal.writeError(`Recording ${visible(names.join(", "))} to ${flags.out}. Ctrl-C stops it.\n`);
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

async function recorderOf(environment: Environment, flags: RecordFlags, stop: AbortSignal) {
  const { context: contexts, allContexts, kubeconfig, namespace, form, maxQps } = flags;
  const asked = { contexts, allContexts, kubeconfig, accessContexts: [] };
  const { clusters, leftOut } = await watchedClusters(environment, asked, stop);
  const namespaces = namespace.length === 0 ? undefined : namespace;
  const recorder = new Recorder({
    ...environment,
    clusters: clusters.map((one) => ({ ...one, form })),
    namespaces,
    ...(maxQps !== undefined && { maxQps }),
    path: flags.out,
    maxBytes: flags.maxSize,
    anonymize: flags.anonymize,
  });
  return { recorder, leftOut, names: clusters.map(({ cluster }) => cluster), namespaces };
}

interface AnonymizedFile {
  /** Both are absolute. */
  readonly from: string;
  readonly to: string;
}

export async function anonymizeFile(
  { environment, terminal, stop }: CommandContext,
  { from, to }: AnonymizedFile,
): Promise<ExitCode> {
  const { files, random } = environment;
  if ((await recordingParts(files, from)).length === 0) {
    throw new UsageError(`recording ${from} does not exist.`);
  }
  if ((await files.kind(to)) !== undefined) {
    throw new UsageError(`${to} exists and is not overwritten: give another file with --out.`);
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
