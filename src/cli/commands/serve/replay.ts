// `lockstep serve --replay`: the page of a recording. Its time is the recording's; after the last line
// the page stays as it is then.
import { setMaxListeners } from "node:events";
import { FilesError } from "../../../environment/files.ts";
import { recordingTexts } from "../../../recording/recording-file.ts";
import { parseRecordingLine, RecordingVersionError } from "../../../recording/recording-line.ts";
import { ReplayedRun } from "../../../recording/replayed-run.ts";
import type { PageSource } from "../../../server/page-source.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage } from "../../flags.ts";
import { surveyedTexts } from "../watch/replay.ts";
import { ReplayPace } from "../watch/replay-pace.ts";
import type { ServeFlags } from "./command.ts";
import { startPage } from "./page.ts";

export async function serveReplay(
  context: CommandContext,
  flags: ServeFlags,
  path: string,
): Promise<ExitCode> {
  const { environment, stop, terminal } = context;
  // Each wait adds a listener.
  setMaxListeners(0, stop);
  const surveyed = await asUsage([FilesError, RecordingVersionError], () =>
    surveyedTexts(environment, path, stop),
  );
  const { survey, lastRun: header, runs } = surveyed;
  if (survey === undefined || header === undefined) {
    throw new UsageError(`${path} is not a recording of lockstep watch or lockstep record.`);
  }
  let onEvent: (event: JourneyEvent) => void = () => undefined;
  const { namespace, service } = flags;
  const run = new ReplayedRun({
    header,
    survey,
    log: environment.log,
    bounds: {
      ...(namespace.length > 0 && { namespaces: namespace }),
      ...(service.length > 0 && { services: service }),
    },
    onEvent: (event) => onEvent(event),
  });
  const earlier = runs === 1 ? [] : [`The recording has ${runs} runs. This is the last one.`];
  const source = sourceOf(run, earlier);
  const { server, address } = await startPage(context, flags, { source });
  onEvent = server.onEvent;
  try {
    terminal.write(`Page: ${address}\n`);
    terminal.writeError(`Shows the recording ${path}. Ctrl-C stops.\n`);
    await replay(context, { run, path, speed: flags.speed ?? "max" });
    await aborted(stop);
  } catch (error) {
    if (!stop.aborted || error !== stop.reason) throw error;
  } finally {
    await server.stop();
  }
  return 0;
}

interface Replaying {
  readonly run: ReplayedRun;
  readonly path: string;
  readonly speed: number | "max";
}

/** Takes in the lines of the run; those of earlier runs in the file are skipped. */
async function replay(
  { environment, stop }: CommandContext,
  { run, path, speed }: Replaying,
): Promise<void> {
  const pace = new ReplayPace({ ...environment, speed, fromMs: -Infinity });
  let isOfRun = false;
  let isFirst = true;
  for await (const texts of recordingTexts(environment.files, path, { signal: stop })) {
    for (const text of texts) {
      const line = text === "" ? undefined : parseRecordingLine(text);
      if (line === undefined) continue;
      if (line.type === "run") {
        isOfRun = line.run === run.run.name;
        const isHeader = isOfRun && isFirst;
        if (isOfRun) isFirst = false;
        // The first header made the run; a second one repeats what is known.
        if (isHeader) continue;
      }
      if (!isOfRun) continue;
      await pace.reach(run.instantOf(line), stop);
      run.take(line);
    }
  }
}

function sourceOf(run: ReplayedRun, earlier: readonly string[]): PageSource {
  return {
    clock: run.clock,
    timers: run.clock,
    mode: "recording",
    observer: () => run,
    accessClusters: () =>
      run.watched.clusters.filter(({ isAccess }) => isAccess).map(({ cluster }) => cluster),
    replicas: () =>
      run.replicas.map(({ name, isLost }) => ({
        name,
        kind: "other",
        state: isLost ? "down" : "connected",
        reportedAt: null,
        problem: isLost ? "It did not report its endpoints at this time of the recording." : null,
      })),
    notes: () => [...earlier, ...run.notes],
  };
}
