// Runs `lockstep incident`: replays one or all incidents, in simulated time or live, and prints the
// results.

import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { FilesError } from "../../../environment/files.ts";
import { allIncidents } from "../../../lab/incidents/all-incidents.ts";
import type { Incident, IncidentResult } from "../../../lab/incidents/incident.ts";
import { type LivePlayOptions, playLive } from "../../../lab/incidents/live-stage.ts";
import type { ObservablePlay, StageProgress } from "../../../lab/incidents/stage.ts";
import { playInVirtualTime } from "../../../lab/incidents/virtual-stage.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { checkSaveFolder, Recording, SaveFolderError } from "../../../lab/saved/recording.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, refuseBoth } from "../../flags.ts";
import { missingNginxFiles, nginxInstall } from "../../nginx-files.ts";
import { errorsOnly } from "../../quiet-log.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { reportColumns } from "../../terminal/text.ts";
import { typedCommand } from "../../typed-command.ts";
import type { IncidentFlags } from "./command.ts";
import {
  listing,
  nextStep,
  reportDocument,
  sideBySideFoot,
  sideBySideLines,
  summaryFoot,
  summaryHead,
  summaryLines,
} from "./summary.ts";
import { didHold, resultLines } from "./view.ts";

/** One replay. */
interface Run {
  readonly incident: Incident;
  readonly fix: boolean;
}

export async function runIncidents(
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

/** Flags of a replay without an incident are a mistake. */
function refuseWithoutName({ fix, live, compare, save }: IncidentFlags): void {
  const option =
    (fix && "--fix") ||
    (live && "--live") ||
    (compare && "--compare") ||
    (save !== undefined && "--save");
  if (option) {
    throw new UsageError(`${option} needs an incident: give one of ${namesText()}, or --all.`);
  }
}

function runsOf(
  name: string | undefined,
  { all, fix, compare, save }: IncidentFlags,
): readonly Run[] {
  if (all) {
    refuseBoth({ [name ?? ""]: name !== undefined, "--all": true });
    refuseBoth({ "--save": save !== undefined, "--all": true });
    // Every incident is replayed without and with its fix.
    refuseBoth({ "--fix": fix, "--all": true });
    const ways = compare ? [false] : [false, true];
    return allIncidents.flatMap((incident) => ways.map((way) => ({ incident, fix: way })));
  }
  const incident = allIncidents.find((one) => one.name === name);
  if (incident !== undefined) return [{ incident, fix }];
  throw new UsageError(`there is no incident ${name}: give one of ${namesText()}.`);
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
      : playInVirtualTime(incident, { ...options, examine: true, signal: stop }));
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
      // The replay does not wait for it: it works without an observer too.
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

/** The folder is checked before the replay starts. */
async function prepareSaving({ environment, terminal }: CommandContext, folder: string) {
  const { files } = environment;
  await asUsage([SaveFolderError, FilesError], async () => {
    await checkSaveFolder(files, folder);
    await files.makeDirectory(folder);
  });
  const recording = new Recording();
  const finish = async (): Promise<void> => {
    const { files: count, bytes, parts } = await recording.write(files, folder);
    const size = `${(bytes / 1e6).toFixed(1)} MB`;
    terminal.writeError(`Saved ${count} files, ${size}: ${folder}/ (${parts.join(", ")})\n`);
  };
  return { recording, finish };
}

async function needNginx({ environment }: CommandContext): Promise<void> {
  const missing = await missingNginxFiles(environment);
  if (missing.length === 0) return;
  throw new UsageError(
    `--live needs nginx with Lua; missing: ${missing.join(", ")}. ${nginxInstall}`,
  );
}

/** Writes a kubeconfig to the folder of the run. Returns the command that watches it from another terminal. */
async function inviteToWatch(
  { files, processes }: Pick<Environment, "files" | "processes">,
  folder: string,
  { access, proxies, accessLogs }: ObservablePlay,
): Promise<string> {
  const { name, server } = access;
  const { authorization = "" } = await access.credentials();
  const path = `${folder}/kubeconfig`;
  const token = authorization.replace(/^Bearer /, "");
  await files.write(path, kubeconfig([{ name, server, token }]), { mode: 0o600 });
  const words = [
    `--kubeconfig ${path}`,
    ...proxies.map((address) => `--proxy ingress-nginx=http://${address}`),
    ...accessLogs.map((log) => `--access-log ${log}`),
  ];
  const command = typedCommand(processes, `watch ${words.join(" \\\n    ")}`);
  return `Watch it from another terminal:\n  ${command}\n`;
}

function show(
  { terminal }: CommandContext,
  { incident }: Run,
  result: IncidentResult,
  { compare }: IncidentFlags,
): void {
  const options = { width: reportColumns(terminal), paint: paintFor(terminal) };
  const lines = compare ? sideBySideLines(result, options) : resultLines(incident, result, options);
  terminal.write(`${lines.join("\n")}\n\n`);
}

function showSummary({ terminal }: CommandContext, results: readonly IncidentResult[]): void {
  const paint = paintFor(terminal);
  const options = { width: reportColumns(terminal), paint };
  const lines = [
    paint.strong("All incidents"),
    ...summaryHead(options),
    ...results.flatMap((result) => summaryLines(result, options)),
    ...summaryFoot(results, options),
  ];
  terminal.write(`${lines.join("\n")}\n`);
}
