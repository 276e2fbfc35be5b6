// The status of a running `lockstep sync`: its listener, and the command that asks it.
import type { Registry } from "prom-client";
import { counted } from "../../../environment/counted.ts";
import { ageText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import { type Listener, NetworkError } from "../../../environment/network.ts";
import { Deadline } from "../../../kube/client/deadline.ts";
import { readBounded } from "../../../kube/client/http-client-body.ts";
import type { ServiceSyncer, SyncerReport } from "../../../outputs/slices/service-syncer.ts";
import {
  jsonAnswer,
  type ShownReadiness,
  startStatusListener,
} from "../../../telemetry/status-listener.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import type { SyncFlags } from "./command.ts";
import type { SyncConfig } from "./config.ts";

const statePath = "/state";

const askDeadlineMs = 10_000;

const answerMaxBytes = 4_000_000;

export async function startSyncStatus(
  { network }: Environment,
  { statusHost: host, statusPort: port }: Pick<SyncConfig, "statusHost"> & { statusPort: number },
  metrics: Registry,
  syncer: Pick<ServiceSyncer, "report">,
): Promise<Listener> {
  return await startStatusListener({
    network,
    host,
    port,
    metrics,
    readiness: () => readinessOf(syncer.report()),
    pages: [{ path: statePath, answer: () => jsonAnswer(syncer.report()) }],
  });
}

/** Not ready when it is blind: without the target, or with no source that it can see. */
export function readinessOf({
  target,
  targetProblem,
  sources,
  rules,
}: SyncerReport): ShownReadiness {
  const notes = sources
    .filter(({ watches }) => watches.some(({ state }) => state === "stale"))
    .map(({ cluster, watches }) => `${cluster}: ${staleWatches(watches)}`);
  for (const problem of rules?.problems ?? []) notes.push(problem);
  if (targetProblem !== null) return { problem: `${target}: ${targetProblem}`, notes };
  const isBlind = sources.every(({ isListed, isUnreachable }) => !isListed || isUnreachable);
  return { problem: isBlind ? "no source can be read" : undefined, notes };
}

/** Asks the running sync of this configuration. */
export async function printStatus(
  { environment, terminal, stop }: CommandContext,
  { statusHost, statusPort }: SyncConfig,
  { json }: Pick<SyncFlags, "json">,
): Promise<ExitCode> {
  if (statusPort === undefined) {
    throw new UsageError("The config file has no statusPort. Without it, sync has no status.");
  }
  const report = await ask(environment, `http://${statusHost}:${statusPort}${statePath}`, stop);
  const { problem } = readinessOf(report);
  terminal.write(json ? `${JSON.stringify(report)}\n` : statusText(report));
  return problem === undefined ? 0 : 1;
}

async function ask(
  { network, timers }: Environment,
  url: string,
  stop: AbortSignal,
): Promise<SyncerReport> {
  const deadline = new Deadline({ timers, deadlineMs: askDeadlineMs, signal: stop, what: url });
  try {
    const response = await network.request({ method: "GET", url, signal: deadline.signal });
    const text = (await readBounded(response.body, answerMaxBytes, url)).toString("utf8");
    if (response.status === 200) return JSON.parse(text) as SyncerReport;
    throw new UsageError(`${url} answered ${response.status}: the port may be another program's`);
  } catch (error) {
    if (error instanceof SyntaxError) {
      throw new UsageError(`${url} did not answer as a sync: the port may be another program's`);
    }
    if (!(error instanceof NetworkError)) throw error;
    throw new UsageError(`No sync answers at ${url}: ${error.message}`);
  } finally {
    deadline.release();
  }
}

export function statusText(report: SyncerReport): string {
  const { target, targetProblem, isWriting, writer, sources, services, pending, blocked } = report;
  const role = isWriting ? "writing" : "standby";
  return [
    `${target}: ${targetProblem ?? "up to date"}, ${role}${writer === null ? "" : `, writer ${writer}`}`,
    ...sources.map((one) => `${one.cluster}: ${sourceText(one)}`),
    // The queue of a standby is not worked on.
    `${counted(services, "service")} synced, ${isWriting ? `${pending} pending, ` : ""}${blocked} blocked`,
    ...ruleLines(report.rules),
    `last error: ${report.lastError ?? "none"}`,
    "",
  ].join("\n");
}

function ruleLines(rules: SyncerReport["rules"]): readonly string[] {
  if (rules === null) return [];
  const { ingresses, problems, problemCount, pending, lastError } = rules;
  const more = problemCount - problems.length;
  return [
    `${ingresses} ${ingresses === 1 ? "Ingress" : "Ingresses"} delivered, ` +
      `${pending} pending, ${counted(problemCount, "problem")}`,
    ...problems.map((problem) => `  ${problem}`),
    ...(more > 0 ? [`  and ${more} more`] : []),
    ...(lastError === null ? [] : [`last error of Ingresses: ${lastError}`]),
  ];
}

type SourceReport = SyncerReport["sources"][number];

function sourceText(source: SourceReport): string {
  const { isListed, isUnreachable, services, currentMsAgo, watches } = source;
  const count = `${counted(services, "service")} in this cluster`;
  const age = currentMsAgo === null ? "" : ` ${ageText(currentMsAgo)} ago`;
  if (isUnreachable) {
    const last = age === "" ? "never up to date" : `last up to date${age}`;
    return `unreachable, ${last}, ${count}, ${staleWatches(watches)}`;
  }
  if (!isListed) return `not listed yet, ${staleWatches(watches)}`;
  const others = staleWatches(watches);
  return others === "" ? `up to date as of${age}, ${count}` : `${count}, ${others}`;
}

function staleWatches(watches: SourceReport["watches"]): string {
  return watches
    .filter(({ state }) => state !== "fresh")
    .map(({ name, state, detail }) => `${name} ${state}${detail === "" ? "" : ` (${detail})`}`)
    .join(", ");
}
