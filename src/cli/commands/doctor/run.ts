// Runs `lockstep doctor`: reads the given texts, weighs every cause and prints the diagnosis.
import { resolve as absolute } from "node:path";
import { visible } from "../../../decide/routing/shown-text.ts";
import { allCauses, diagnose } from "../../../doctor/diagnose.ts";
import { noFacts } from "../../../doctor/evidence/evidence.ts";
import {
  emptySummary,
  NoSuchPathError,
  type ReadSummary,
  readPath,
  readStream,
} from "../../../doctor/evidence/read-paths.ts";
import { type Finding, severities } from "../../../doctor/finding.ts";
import { FilesError } from "../../../environment/files.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import type { DoctorFlags } from "./command.ts";
import { explanation, reportText } from "./view.ts";

export async function runDoctor(
  context: CommandContext,
  paths: readonly string[],
  flags: DoctorFlags,
): Promise<ExitCode> {
  for (const name of [...flags.ignore, ...(flags.explain === undefined ? [] : [flags.explain])]) {
    if (!allCauses.some((cause) => cause.name === name)) throw unknownCause(name);
  }
  if (flags.explain !== undefined) {
    context.terminal.write(explanation(flags.explain));
    return 0;
  }
  if (paths.length === 0) {
    throw new UsageError(
      "give at least one file or folder with logs or objects, or - for standard input",
    );
  }
  const facts = noFacts();
  const summary = await readAll(context, facts, paths);
  const causes = allCauses.filter(({ name }) => !flags.ignore.includes(name));
  const diagnosis = diagnose({ ...facts, metrics: [], journeys: undefined }, causes);
  const examined = { ...summary, signs: facts.signs.all, objects: facts.objects };
  context.terminal.write(reportText(diagnosis, examined, { ...flags, terminal: context.terminal }));
  const isSevere = ({ severity }: Finding): boolean =>
    severities.indexOf(severity) >= severities.indexOf(flags.failOn);
  return diagnosis.findings.some(isSevere) ? 1 : 0;
}

function unknownCause(name: string): UsageError {
  const names = allCauses.map((cause) => cause.name).join(", ");
  return new UsageError(`there is no cause ${visible(name)}; the causes are ${names}`);
}

async function readAll(
  context: CommandContext,
  facts: ReturnType<typeof noFacts>,
  paths: readonly string[],
): Promise<ReadSummary> {
  const { environment, terminal, stop, stdin } = context;
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const summary = emptySummary();
  const onProgress = ({ bytes }: ReadSummary, path: string): void =>
    progress.show(`reading ${visible(path)}`, `${Math.round(bytes / 1e6)} MB`);
  const options = { files: environment.files, facts, signal: stop, onProgress };
  try {
    for (const path of paths) {
      if (path !== "-") await readPath(options, absolute(path), summary);
      else if (stdin === undefined)
        throw new UsageError("nothing is piped in: give a file instead of -");
      else await readStream(options, stdin(), { name: "standard input", summary });
    }
  } catch (error) {
    if (error instanceof NoSuchPathError || error instanceof FilesError) {
      throw new UsageError(error.message, { cause: error });
    }
    throw error;
  } finally {
    progress.clear();
  }
  return summary;
}
