// `lockstep incident`: plays the incidents of the write-ups, in virtual time or live, and shows what
// came out beside what was seen elsewhere.
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import { durationText } from "../environment/duration-text.ts";
import { FilesError } from "../environment/files.ts";
import { allIncidents } from "../lab/incidents/all-incidents.ts";
import type { Incident, IncidentResult } from "../lab/incidents/incident.ts";
import { type LivePlayOptions, playLive } from "../lab/incidents/live-stage.ts";
import type { Invitation, StageProgress } from "../lab/incidents/stage.ts";
import { playInVirtualTime } from "../lab/incidents/virtual-stage.ts";
import { checkSaveFolder, Recording, SaveFolderError } from "../lab/saved/recording.ts";
import { type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { helpText } from "./help-text.ts";
import { inviteToWatch } from "./incident/invite-to-watch.ts";
import { needNginx } from "./incident/need-nginx.ts";
import { reportDocument, toldOf } from "./incident/report-document.ts";
import { resultLines } from "./incident/result-lines.ts";
import { sideBySideFoot, sideBySideLines } from "./incident/side-by-side.ts";
import { didHold, summaryFoot, summaryHead, summaryLines } from "./incident/summary-lines.ts";
import { paintFor } from "./terminal/paint.ts";
import { ProgressLine } from "./terminal/progress-line.ts";
import { wrapText } from "./terminal/wrapped-text.ts";
import { typedCommand } from "./typed-command.ts";
import { errorsOnly } from "./up/quiet-log.ts";
import { makeRunFolder } from "./up/run-folder.ts";
import { wholeNumber } from "./whole-number.ts";

interface IncidentFlags {
  readonly all: boolean;
  readonly fix: boolean;
  readonly seed: number;
  readonly json: boolean;
  readonly live: boolean;
  readonly compare: boolean;
  readonly save?: string;
}

/** One play to be shown. */
interface Run {
  readonly incident: Incident;
  readonly fix: boolean;
}

/** Tables and charts gain nothing from more. */
const widthMax = 120;
const widthMin = 80;

const epilogue = `
Each incident is a real write-up, played by the lab's components in virtual time. The figures come
out of the mechanisms. Each is compared with the write-up or with a measurement of the real binaries,
between two bounds. Inputs of the play are listed; a figure that an input decides is not counted.
"stock (model)" is the lab's model of the ordinary components; Lockstep's own decisions run beside
it, on the same requests.

With --live everything runs in real time over real sockets on 127.0.0.0/8, each proxy of both sides a
real nginx, for one to three minutes an incident, with fewer objects and shorter times; figures are
then shown beside the write-up's, not compared.

With --compare only the success measures are shown, stock beside Lockstep, of each incident as it was.

Exit codes: 0 every compared figure is within its bounds and every goal is reached, 1 not so,
2 error.

Examples:
  lockstep incident                                what there is
  lockstep incident throttled-controller           as it was
  lockstep incident throttled-controller --fix     with the write-up's fix
  lockstep incident --all                          all of them, both ways, and one table
  lockstep incident --all --json | jq .held
  lockstep incident apiserver-fight --live         in real time, a minute
  lockstep incident --all --live --compare         stock and Lockstep side by side, some minutes
  lockstep incident throttled-controller --seed 7  with other chance
  lockstep incident apiserver-fight --save ./seen  what an operator would have of it`;

export function incidentCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("incident")
    .description("reproduce an incident, and see what Lockstep makes of it")
    .argument("[name]", "which incident; without a name they are listed")
    .option("--all", "every incident, as it was and with its fix", false)
    .option("--fix", "with the fix that the write-up found", false)
    .option("--seed <n>", "for chance", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--live", "in real time over real sockets, with fewer objects", false)
    .option("--compare", "only what it meant: stock beside Lockstep", false)
    .option("--save <dir>", "keep logs, metrics, audit and access logs and a dump in this folder")
    .option("--json", "print everything as one JSON document", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (name: string | undefined, flags: IncidentFlags) =>
      done(await runIncidents(context, name, flags)),
    );
}

async function runIncidents(
  context: CommandContext,
  name: string | undefined,
  flags: IncidentFlags,
): Promise<ExitCode> {
  const { terminal, stop } = context;
  if (name === undefined && !flags.all) {
    refuseWithoutName(flags);
    terminal.write(listing(context, flags));
    return 0;
  }
  const runs = runsOf(name, flags);
  if (flags.live) await needNginx(context);
  const saving = flags.save === undefined ? undefined : await prepareSaving(context, flags.save);
  const results: IncidentResult[] = [];
  try {
    for (const [index, run] of runs.entries()) {
      const place = runs.length === 1 ? "" : `${index + 1} of ${runs.length}, `;
      const options = { ...flags, place, recording: saving?.recording };
      const result = await play(context, run, options);
      results.push(result);
      if (!flags.json) show(context, run, result, flags);
    }
    await saving?.finish();
  } catch (error) {
    if (!stop.aborted) throw error;
    terminal.writeError(`Stopped after ${results.length} of ${runs.length}.\n`);
    return 2;
  }
  if (flags.json) terminal.write(`${JSON.stringify(reportDocument(results))}\n`);
  else if (flags.compare) terminal.write(`${sideBySideFoot(results)}\n`);
  else if (flags.all) showSummary(context, results);
  else if (!flags.fix) terminal.write(`${nextStep(context, results)}\n`);
  return results.every(didHold) ? 0 : 1;
}

/** Whoever asks for something to be played means one of them. */
function refuseWithoutName({ fix, live, compare, save }: IncidentFlags): void {
  const option =
    (fix && "--fix") ||
    (live && "--live") ||
    (compare && "--compare") ||
    (save !== undefined && "--save");
  if (option) {
    throw new UsageError(`${option} is for an incident: name one of ${namesText()}, or --all`);
  }
}

function runsOf(
  name: string | undefined,
  { all, fix, compare, save }: IncidentFlags,
): readonly Run[] {
  if (all) {
    if (name !== undefined) throw new UsageError(`either ${name} or --all, not both`);
    if (save !== undefined) throw new UsageError("--save is for one incident; name it");
    if (fix) throw new UsageError("--all plays every incident both ways; leave out --fix");
    const ways = compare ? [false] : [false, true];
    return allIncidents.flatMap((incident) => ways.map((way) => ({ incident, fix: way })));
  }
  const incident = allIncidents.find((one) => one.name === name);
  if (incident !== undefined) return [{ incident, fix }];
  throw new UsageError(`there is no incident ${name}; there are ${namesText()}`);
}

function namesText(): string {
  return allIncidents.map((one) => one.name).join(", ");
}

async function play(
  context: CommandContext,
  { incident, fix }: Run,
  flags: IncidentFlags & { readonly place: string; readonly recording: Recording | undefined },
): Promise<IncidentResult> {
  const { environment, terminal, stop } = context;
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const kind = flags.live ? "real" : "virtual";
  const onProgress = ({ step, stageMs }: StageProgress) => {
    const passed = `${durationText(stageMs)} of ${kind} time`;
    progress.show(`${flags.place}${incident.name}${fix ? " with the fix" : ""}: ${step}`, passed);
  };
  const { seed, recording } = flags;
  const options = { seed, fix, onProgress, ...(recording !== undefined && { recording }) };
  const say = (line: string): void => {
    progress.clear();
    terminal.writeError(`${line}\n`);
  };
  try {
    return await (flags.live
      ? playInFolder(context, incident, { ...options, say })
      : playInVirtualTime(incident, { ...options, signal: stop }));
  } finally {
    progress.clear();
  }
}

async function playInFolder(
  context: CommandContext,
  incident: Incident,
  {
    say,
    ...options
  }: Pick<LivePlayOptions, "seed" | "fix" | "onProgress" | "recording"> & {
    readonly say: (line: string) => void;
  },
): Promise<IncidentResult> {
  const environment = { ...context.environment, log: errorsOnly(context.environment.log) };
  const { folder, cleaned } = await makeRunFolder(environment, "incident");
  try {
    if (cleaned !== undefined) say(`${cleaned}\n`);
    const onInvitation = (invitation: Invitation): void => {
      // The play does not wait for it, and goes on without whoever would have watched.
      void inviteToWatch(environment, folder, invitation).then(say, (error: unknown) =>
        environment.log.error("nobody can watch the play from outside", { error }),
      );
    };
    say("Once its clusters stand, a command to watch it with from another terminal follows.");
    const live = { environment, folder, signal: context.stop, onInvitation };
    return await playLive(incident, { ...options, ...live });
  } finally {
    await environment.files.remove(folder);
  }
}

/** The folder is looked at first: nobody wants to hear of it after the play. */
async function prepareSaving({ environment, terminal }: CommandContext, path: string) {
  const { files } = environment;
  const folder = absolute(path);
  try {
    await checkSaveFolder(files, folder);
    await files.makeDirectory(folder);
  } catch (error) {
    const isTold = error instanceof SaveFolderError || error instanceof FilesError;
    throw isTold ? new UsageError(error.message, { cause: error }) : error;
  }
  const recording = new Recording();
  const finish = async (): Promise<void> => {
    const { files: count, bytes, parts } = await recording.write(files, folder);
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    terminal.writeError(`Saved ${count} files, ${size}: ${folder}/ (${parts.join(", ")})\n`);
  };
  return { recording, finish };
}

function show(
  context: CommandContext,
  { incident }: Run,
  result: IncidentResult,
  { compare }: IncidentFlags,
): void {
  const { terminal } = context;
  const options = { width: widthOf(context), paint: paintFor(terminal) };
  const lines = compare ? sideBySideLines(result, options) : resultLines(incident, result, options);
  terminal.write(`${lines.join("\n")}\n\n`);
}

function showSummary(context: CommandContext, results: readonly IncidentResult[]): void {
  const { terminal } = context;
  const paint = paintFor(terminal);
  const options = { width: widthOf(context), paint };
  const lines = [
    paint.strong("All incidents"),
    ...summaryHead(options),
    ...results.flatMap((result) => summaryLines(result, options)),
    ...summaryFoot(results, options),
  ];
  terminal.write(`${lines.join("\n")}\n`);
}

/** What somebody who has seen this wants to see next. */
function nextStep(context: CommandContext, [result]: readonly IncidentResult[]): string {
  const { secondary } = paintFor(context.terminal);
  const command = typedCommand(
    context.environment.processes,
    `incident ${result?.name ?? "NAME"} --fix`,
  );
  return `${secondary("What its fix does:")}  ${command}`;
}

function listing(context: CommandContext, { json }: IncidentFlags): string {
  const paint = paintFor(context.terminal);
  if (json) {
    const incidents = allIncidents.map((one) => ({ name: one.name, ...toldOf(one) }));
    return `${JSON.stringify({ kind: "lockstep-incident-names", version: 1, incidents })}\n`;
  }
  const width = widthOf(context);
  const named = allIncidents.flatMap(({ name, summary, cause, fix }) => [
    paint.strong(name),
    ...wrapText(summary, { width, first: "  ", rest: "  " }),
    ...wrapText(`cause: ${cause}`, { width, first: "  ", rest: "  " }).map(paint.secondary),
    ...wrapText(`fix: ${fix}`, { width, first: "  ", rest: "  " }).map(paint.secondary),
  ]);
  const [first] = allIncidents;
  const { processes } = context.environment;
  return `${named.join("\n")}

Play one with:   ${typedCommand(processes, `incident ${first?.name ?? "NAME"}`)}
and with --fix:  what the write-up did about it
or all of them:  ${typedCommand(processes, "incident --all")}
`;
}

function widthOf({ terminal }: CommandContext): number {
  return Math.max(widthMin, Math.min(terminal.columns, widthMax));
}
