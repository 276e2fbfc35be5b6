// Runs `lockstep doctor`: reads the given texts and clusters, weighs every cause and prints the diagnosis.
import { resolve as absolute } from "node:path";
import { visible } from "../../../decide/routing/shown-text.ts";
import { allCauses, type Diagnosis, diagnose } from "../../../doctor/diagnose.ts";
import {
  type Evidence,
  evidenceIn,
  type Facts,
  noFacts,
} from "../../../doctor/evidence/evidence.ts";
import {
  emptySummary,
  NoSuchPathError,
  type ReadSummary,
  readPath,
  readStream,
} from "../../../doctor/evidence/read-paths.ts";
import { type Finding, severities } from "../../../doctor/finding.ts";
import { withEffects } from "../../../doctor/fix-effect.ts";
import { readMetricsUrl } from "../../../doctor/live/metrics-url.ts";
import { AnonymousTexts } from "../../../doctor/report/anonymous.ts";
import { type Difference, differencesOf } from "../../../doctor/report/differences.ts";
import { withTexts } from "../../../doctor/report/redacted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import { FilesError } from "../../../environment/files.ts";
import { CredentialsError } from "../../../kube/credentials/credentials.ts";
import type { ObservedCluster } from "../../../observe/observer.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { asUsage, refuseWithout } from "../../flags.ts";
import { ProgressLine } from "../../terminal/progress-line.ts";
import { watchedClusters } from "../../watched-clusters.ts";
import { fixEffects } from "../whatif/fix-effect.ts";
import type { DoctorFlags } from "./command.ts";
import { examineLive, type LiveCluster, readHealthy } from "./live.ts";
import { anonymousReport, explanation, reportText } from "./view.ts";

/** Two looks at a metrics page. */
const metricsForMs = 30_000;

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
  const { context: contexts, allContexts = false } = flags;
  const isLive = contexts.length > 0 || allContexts;
  refuseWithout("--context", isLive, {
    "--kubeconfig": flags.kubeconfig !== undefined && flags.compare === undefined,
    "--for": flags.for !== undefined && !flags.metrics.some(isUrl),
    "--max-qps": flags.maxQps !== undefined,
    "--save": flags.save !== undefined,
  });
  if (paths.length === 0 && !isLive && flags.metrics.length === 0) {
    throw new UsageError(
      "give at least one file or folder with logs or objects, or - for standard input, or --context " +
        "for a live cluster",
    );
  }
  const healthy = await healthyOf(context, flags);
  if (!isLive) return diagnoseOne(context, flags, { paths, healthy });
  if (paths.length > 0 && (contexts.length > 1 || allContexts)) {
    throw new UsageError("files can be read together with one --context only: remove the others.");
  }
  const asked = { kubeconfig: flags.kubeconfig, contexts, allContexts };
  const { clusters, accesses, leftOut } = await asUsage([CredentialsError], () =>
    watchedClusters(
      context.environment,
      { ...asked, accessContexts: [], userAgent: "lockstep-doctor" },
      context.stop,
    ),
  );
  for (const sentence of leftOut) context.terminal.writeError(`! ${visible(sentence)}\n`);
  const codes: ExitCode[] = [];
  // One after the other: what is found in one cluster says nothing about another one.
  for (const cluster of clusters) {
    const access = accesses.get(cluster.cluster);
    codes.push(
      await diagnoseOne(context, flags, { paths, cluster: { ...cluster, access }, healthy }),
    );
    if (context.stop.aborted) break;
  }
  if (codes.includes(1)) return 1;
  return codes.includes(0) ? 0 : 2;
}

interface Subject {
  readonly paths: readonly string[];
  readonly cluster?: LiveCluster;
  readonly healthy: Healthy | undefined;
}

/** To compare with. */
type Healthy =
  | { readonly type: "path"; readonly path: string }
  | { readonly type: "cluster"; readonly cluster: ObservedCluster };

/** The files, a cluster, or both as one body of evidence. */
async function diagnoseOne(
  context: CommandContext,
  flags: DoctorFlags,
  { paths, cluster, healthy }: Subject,
): Promise<ExitCode> {
  const facts = noFacts();
  const summary = await readAll(context, facts, paths);
  await readMetrics(context, { facts, summary }, flags);
  const live = cluster && (await examineLive(context, cluster, facts, flags));
  if (live?.isObserved === false && paths.length === 0) {
    const problems = live.problems.map((text) => `  ${visible(text)}`);
    const name = visible(live.cluster);
    context.terminal.writeError(
      `${[`${name}: nothing could be examined`, ...problems].join("\n")}\n`,
    );
    return 2;
  }
  const causes = allCauses.filter(({ name }) => !flags.ignore.includes(name));
  const evidence = evidenceIn(facts);
  const diagnosis = await predicted(context, evidence, diagnose(evidence, causes), flags);
  const { objects, journeys: changes, metrics } = evidence;
  const read = { objects, changes, metrics: metrics.length, signs: facts.signs.all };
  const differences = await comparedWith(context, flags, { facts, summary, healthy });
  const examined = { ...summary, ...read, live, differences };
  const options = { ...flags, terminal: context.terminal };
  if (flags.anonymize !== true) {
    // Paths as they are given, to keep lines short; a program that reads JSON may run elsewhere.
    const near = (text: string): string => text.replaceAll(`${absolute(".")}/`, "");
    const shown = flags.output === "json" ? diagnosis : withTexts(diagnosis, near);
    context.terminal.write(reportText(shown, examined, options));
  } else {
    const { random } = context.environment;
    const texts = new AnonymousTexts(random.uuid() + random.uuid(), { evidence, diagnosis });
    for (const name of [live?.cluster ?? "", ...paths]) texts.addNames(name);
    context.terminal.write(anonymousReport(texts, { diagnosis, examined }, options));
  }
  const isSevere = ({ severity }: Finding): boolean =>
    severities.indexOf(severity) >= severities.indexOf(flags.failOn);
  return diagnosis.findings.some(isSevere) ? 1 : 0;
}

/** With the effect of fixes; Ctrl-C leaves it out. */
async function predicted(
  { environment, terminal, stop }: CommandContext,
  evidence: Evidence,
  diagnosis: Diagnosis,
  flags: DoctorFlags,
): Promise<Diagnosis> {
  if (!flags.predict || stop.aborted) return diagnosis;
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  try {
    return await withEffects(diagnosis, evidence, {
      causes: allCauses,
      predict: fixEffects(environment),
      signal: stop,
      onProgress: (step, detail) => progress.show(step, detail),
    });
  } catch (error) {
    if (!stop.aborted) throw error;
    return diagnosis;
  } finally {
    progress.clear();
  }
}

/** Differences from a second body of evidence, files or a cluster; undefined unless one is given. */
async function comparedWith(
  context: CommandContext,
  flags: DoctorFlags,
  {
    facts,
    summary,
    healthy,
  }: Pick<Subject, "healthy"> & { readonly facts: Facts; readonly summary: ReadSummary },
): Promise<readonly Difference[] | undefined> {
  if (healthy === undefined) return undefined;
  const other = noFacts();
  if (healthy.type === "path") await readAll(context, other, [healthy.path]);
  else summary.limits.push(...(await readHealthy(context, healthy.cluster, other, flags)));
  return differencesOf(facts, other);
}

/** A file or folder, or else a context of the kubeconfig. */
async function healthyOf(
  context: CommandContext,
  { compare: name, kubeconfig }: DoctorFlags,
): Promise<Healthy | undefined> {
  if (name === undefined) return undefined;
  const isThere = (await context.environment.files.kind(absolute(name))) !== undefined;
  if (isThere) return { type: "path", path: name };
  const asked = { kubeconfig, contexts: [name], allContexts: false, accessContexts: [] };
  try {
    const { clusters } = await watchedClusters(
      context.environment,
      { ...asked, userAgent: "lockstep-doctor" },
      context.stop,
    );
    const [cluster] = clusters;
    if (cluster !== undefined) return { type: "cluster", cluster };
  } catch (error) {
    if (!(error instanceof CredentialsError) && !(error instanceof UsageError)) throw error;
    const text = `--compare ${visible(name)}: there is no such file or folder, and ${error.message}`;
    throw new UsageError(text, { cause: error });
  }
  throw new UsageError(`the kubeconfig gives no access to ${visible(name)}`);
}

function isUrl(text: string): boolean {
  return /^https?:\/\//.test(text);
}

async function readMetrics(
  context: CommandContext,
  { facts, summary }: { readonly facts: Facts; readonly summary: ReadSummary },
  flags: DoctorFlags,
): Promise<void> {
  const { environment, terminal, stop } = context;
  const { files, log } = environment;
  const forMs = flags.for ?? metricsForMs;
  const options = { files, log, facts, signal: stop, areMetrics: true };
  for (const place of flags.metrics) {
    if (!isUrl(place)) await asPaths(() => readPath(options, absolute(place), summary));
    else {
      terminal.writeError(`Reading ${visible(place)} over ${durationText(forMs)}.\n`);
      const given = { ...environment, signal: stop, metrics: facts.metrics, forMs };
      const problem = await readMetricsUrl(given, place);
      if (problem !== undefined) summary.limits.push(problem);
    }
  }
}

/** Paths that cannot be read are mistakes of the command line. */
async function asPaths(read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    if (error instanceof NoSuchPathError || error instanceof FilesError) {
      throw new UsageError(error.message, { cause: error });
    }
    throw error;
  }
}

function unknownCause(name: string): UsageError {
  const names = allCauses.map((cause) => cause.name).join(", ");
  return new UsageError(`there is no cause ${visible(name)}; the causes are ${names}`);
}

async function readAll(
  context: CommandContext,
  facts: Facts,
  paths: readonly string[],
): Promise<ReadSummary> {
  const { environment, terminal, stop, stdin } = context;
  const progress = new ProgressLine({ terminal, clock: environment.clock });
  const summary = emptySummary();
  const onProgress = ({ bytes }: ReadSummary, path: string): void =>
    progress.show(`reading ${visible(path)}`, `${Math.round(bytes / 1e6)} MB`);
  const { files, log } = environment;
  const options = { files, log, facts, signal: stop, onProgress };
  try {
    await asPaths(async () => {
      for (const path of paths) {
        if (path !== "-") await readPath(options, absolute(path), summary);
        else if (stdin === undefined)
          throw new UsageError("nothing is piped in: give a file instead of -");
        else await readStream(options, stdin(), { name: "standard input", summary });
      }
    });
  } finally {
    progress.clear();
  }
  return summary;
}
