// Runs `lockstep migrate compare`: plans the requests, sends them to both proxies and prints the answers
// that differ.
import { resolve as absolute } from "node:path";
import { accessLogEntries } from "../../../access-log/access-log-entries.ts";
import { AccessLogParser } from "../../../access-log/access-log-parser.ts";
import { AccessLogFileError, fileChunks, plainChunks } from "../../../access-log/file-chunks.ts";
import { allUnlessAborted } from "../../../access-log/until-aborted.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import { comparedHeaders } from "../../../migrate/compare/answer-difference.ts";
import {
  type ComparedRequest,
  Comparison,
  NoAnswerError,
} from "../../../migrate/compare/comparison.ts";
import { RequestPlan } from "../../../migrate/compare/planned-request.ts";
import { chooseIngresses } from "../../../migrate/ingress-choice.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, refuseBoth, refuseWithout } from "../../flags.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import { paintFor } from "../../terminal/paint.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { reportColumns } from "../../terminal/text.ts";
import type { CompareFlags } from "./compare-command.ts";
import { compareJson, compareLines } from "./compare-view.ts";
import { inputErrors, readObjects } from "./objects.ts";

export async function runCompare(
  context: CommandContext,
  paths: readonly string[],
  flags: CompareFlags,
): Promise<ExitCode> {
  const { context: name, accessLog } = flags;
  const sources = {
    PATH: paths.length > 0,
    "--context": name !== undefined,
    "--access-log": accessLog !== undefined,
  };
  refuseBoth(sources);
  if (!Object.values(sources).includes(true)) {
    throw new UsageError("give files with Ingresses, --context or --access-log for the requests");
  }
  refuseWithout("--access-log", accessLog !== undefined, {
    "--log-format": flags.logFormat !== undefined,
    "--host": flags.host !== undefined,
  });
  const plan = new RequestPlan(flags);
  await asUsage([...inputErrors, AccessLogFileError], async () => {
    if (accessLog === undefined) await planFromIngresses(context, paths, flags, plan);
    else await planFromLog(context, accessLog, flags, plan);
  });
  if (plan.requests.length === 0) {
    throw new UsageError(["there is no request to send", ...plan.notes].join("; "));
  }
  return await compareAll(context, flags, plan);
}

async function planFromIngresses(
  context: CommandContext,
  paths: readonly string[],
  flags: CompareFlags,
  plan: RequestPlan,
): Promise<void> {
  const found = await readObjects(context, paths, {
    ...flags,
    secrets: false,
    onlyIngresses: true,
  });
  for (const problem of found.problems) context.terminal.writeError(`! ${visible(problem)}\n`);
  for (const ingresses of chooseIngresses(found, flags.class).byClass.values()) {
    for (const ingress of ingresses) plan.addIngress(ingress);
  }
}

async function planFromLog(
  { environment, stdin, stop }: CommandContext,
  file: string,
  { logFormat: format, host }: CompareFlags,
  plan: RequestPlan,
): Promise<void> {
  const ignore = () => undefined;
  if (file === "-" && stdin === undefined) {
    throw new UsageError("no data on standard input: give the file of the access log instead of -");
  }
  const chunks =
    file === "-" && stdin !== undefined
      ? plainChunks(stdin(), file, ignore)
      : fileChunks(environment.files, absolute(file), ignore);
  const parser = new AccessLogParser({ format });
  for await (const entry of accessLogEntries(allUnlessAborted(chunks, stop), parser)) {
    plan.addLogged(entry, host);
  }
  const { entries, notUnderstood, example } = parser.report;
  if (entries.size === 0 && notUnderstood > 0) {
    throw new UsageError(
      `no line of ${visible(file)} has a known format: ${example?.problem ?? ""}`,
    );
  }
}

async function compareAll(
  { environment, terminal, stop, version = "" }: CommandContext,
  flags: CompareFlags,
  plan: RequestPlan,
): Promise<ExitCode> {
  const { old, new: now, insecure, header, ignoreHeader } = flags;
  const ignored = new Set(ignoreHeader);
  const comparison = new Comparison({
    ...environment,
    old: { base: old, insecure },
    new: { base: now, insecure },
    headers: new Set([...comparedHeaders, ...header].filter((one) => !ignored.has(one))),
    allBodies: flags.allBodies,
    perSecond: flags.rate,
    timeoutMs: flags.timeout,
    maxBodyBytes: flags.maxBody * 1_024,
    userAgent: `lockstep-migrate/${version}`,
    signal: stop,
  });
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const compared: ComparedRequest[] = [];
  const { requests } = plan;
  try {
    for (const request of requests) {
      progress.show("comparing", `${compared.length} of ${requests.length} requests`);
      compared.push(await comparison.compare(request));
    }
  } catch (error) {
    if (error instanceof NoAnswerError)
      throw new UsageError(visible(error.message), { cause: error });
    // The summary is of what was compared until Ctrl-C.
    if (!stop.aborted) throw error;
  } finally {
    progress.clear();
  }
  const notes = [...plan.notes];
  if (compared.length < requests.length) {
    notes.push(`${requests.length - compared.length} requests not sent: stopped`);
  }
  if (flags.json) terminal.write(`${jsonLine(compareJson(compared, notes, flags))}\n`);
  else {
    const view = { width: reportColumns(terminal), paint: paintFor(terminal) };
    terminal.write(`${compareLines(compared, notes, view).join("\n")}\n`);
  }
  return compared.some(({ verdict }) => verdict === "differs") ? 1 : 0;
}
