// `lockstep incident`: plays the incidents of the write-ups, in virtual time or live, and shows what
// came out beside what was seen elsewhere.
import { resolve as absolute } from "node:path";
import { Command } from "commander";
import { durationText } from "../../../environment/duration-text.ts";
import { FilesError } from "../../../environment/files.ts";
import { allIncidents } from "../../../lab/incidents/all-incidents.ts";
import type { Incident, IncidentResult } from "../../../lab/incidents/incident.ts";
import { type LivePlayOptions, playLive } from "../../../lab/incidents/live-stage.ts";
import type { ObservablePlay, StageProgress } from "../../../lab/incidents/stage.ts";
import { playInVirtualTime } from "../../../lab/incidents/virtual-stage.ts";
import { checkSaveFolder, Recording, SaveFolderError } from "../../../lab/saved/recording.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { typedCommand } from "../../typed-command.ts";
import { wholeNumber } from "../../whole-number.ts";
import { inviteToWatch } from "./invite-to-watch.ts";
import { needNginx } from "./need-nginx.ts";
import { reportDocument, toldOf } from "./report-document.ts";
import { resultLines } from "./result-lines.ts";
import { sideBySideFoot, sideBySideLines } from "./side-by-side.ts";
import { didHold, summaryFoot, summaryHead, summaryLines } from "./summary-lines.ts";

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
The lab replays published incident reports in simulated time, with its own Kubernetes components.
The numbers are results of the simulation. Each number has a reference with a lower and an upper
bound: the incident report, or a measurement of the real binaries. Assumptions are listed. Numbers
that follow directly from an assumption are not compared.
"stock (model)" is the lab's model of the standard components. Lockstep handles the same requests.

--live runs in real time over real sockets on 127.0.0.0/8, with a real nginx for each proxy. It takes
one to three minutes per incident and uses fewer objects and shorter times. The reference numbers are
then shown, but not compared.

--compare shows only the goals, stock beside Lockstep, for each incident without its fix.

Exit codes: 0 every compared number is within its bounds and Lockstep met every goal, 1 at least one
check failed, 2 error or stopped.

Examples:
  lockstep incident                                list the incidents
  lockstep incident throttled-controller           replay one
  lockstep incident throttled-controller --fix     replay it with the fix from the report
  lockstep incident --all                          all incidents, without and with the fix
  lockstep incident --all --json | jq .held
  lockstep incident apiserver-fight --live         in real time, about one minute
  lockstep incident --all --live --compare         stock beside Lockstep, several minutes
  lockstep incident throttled-controller --seed 7  with another random seed
  lockstep incident apiserver-fight --save ./seen  save logs, metrics and objects to ./seen`;

export function incidentCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("incident")
    .description("replay a real incident, and compare stock with Lockstep")
    .argument("[name]", "name of the incident; without it all incidents are listed")
    .option("--all", "every incident, without and with its fix", false)
    .option("--fix", "with the fix from the incident report", false)
    .option("--seed <n>", "random seed", wholeNumber(0, 2 ** 31 - 1), 1)
    .option("--live", "in real time over real sockets, with fewer objects", false)
    .option("--compare", "show only the goals: stock beside Lockstep", false)
    .option("--save <dir>", "save logs, metrics, audit and access logs and a dump in this folder")
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
    throw new UsageError(`${option} needs an incident: give one of ${namesText()}, or --all`);
  }
}

function runsOf(
  name: string | undefined,
  { all, fix, compare, save }: IncidentFlags,
): readonly Run[] {
  if (all) {
    if (name !== undefined) throw new UsageError(`give either ${name} or --all, not both`);
    if (save !== undefined)
      throw new UsageError("--save works with one incident only: give its name instead of --all");
    if (fix)
      throw new UsageError("--all replays every incident without and with its fix: remove --fix");
    const ways = compare ? [false] : [false, true];
    return allIncidents.flatMap((incident) => ways.map((way) => ({ incident, fix: way })));
  }
  const incident = allIncidents.find((one) => one.name === name);
  if (incident !== undefined) return [{ incident, fix }];
  throw new UsageError(`there is no incident ${name}; available: ${namesText()}`);
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
  const kind = flags.live ? "real" : "simulated";
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
    const onObservable = (invitation: ObservablePlay): void => {
      // The play does not wait for it, and goes on without whoever would have watched.
      void inviteToWatch(environment, folder, invitation).then(say, (error: unknown) =>
        environment.log.error("cannot print the command for watching this replay", { error }),
      );
    };
    say(
      "When the clusters are ready, a command for watching them from another terminal appears here.",
    );
    const live = { environment, folder, signal: context.stop, onObservable };
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
  return `${secondary("Replay it with the fix:")}  ${command}`;
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

Replay one:      ${typedCommand(processes, `incident ${first?.name ?? "NAME"}`)}
With its fix:    add --fix
All of them:     ${typedCommand(processes, "incident --all")}
`;
}

function widthOf({ terminal }: CommandContext): number {
  return Math.max(widthMin, Math.min(terminal.columns, widthMax));
}
