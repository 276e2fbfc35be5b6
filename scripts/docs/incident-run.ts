// The incident `throttled-controller` in virtual time, played once: its screen is the picture of
// docs/incidents.md, and what it saves is judged by `lockstep blame` for docs/blame.md.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Line, textOf } from "./docs-terminal.ts";
import { runCommand } from "./run-command.ts";

export interface IncidentRun {
  readonly screen: readonly Line[];
  /** The output of `lockstep blame`, up to the first request of each cause. */
  readonly blame: string;
}

/** The files of it that blame is given; the names of the logs are in its output. */
const recording = "seen/recording/recording.jsonl";
const accessLogs = [1, 2, 3].map((replica) => `seen/access/stock-${replica}.log`);

export async function incidentRun(): Promise<IncidentRun> {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-docs-"));
  try {
    const save = ["--save", join(folder, "seen")];
    const screen = await runCommand(["incident", "throttled-controller", ...save]);
    return { screen, blame: await blame(folder) };
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function blame(folder: string): Promise<string> {
  const logs = accessLogs.flatMap((path) => ["--access-log", path]);
  const text = textOf(await runCommand(["blame", "--recording", recording, ...logs], { folder }));
  return text.slice(0, text.indexOf("\nOthers, "));
}
