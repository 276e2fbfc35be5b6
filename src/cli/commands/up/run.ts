// Runs `lockstep up`, which is what `npm start` starts: an incident in simulated time, then a release
// with and without the fix in real time. Without --once the system then keeps running.

import { webcrypto } from "node:crypto";
import type { Environment } from "../../../environment/environment.ts";
import type { IncidentResult } from "../../../lab/incidents/incident.ts";
import type { StageProgress } from "../../../lab/incidents/stage.ts";
import { throttledController } from "../../../lab/incidents/throttled-controller/play.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { shopHost } from "../../../lab/shop.ts";
import { LabWorker } from "../../../lab/thread/lab-worker.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { aborted, type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { missingNginxFiles, nginxInstall } from "../../nginx-files.ts";
import { warningsOnly } from "../../quiet-log.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { namingPortFlags } from "../../taken-port.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { typedCommand } from "../../typed-command.ts";
import { summaryHead, summaryLines } from "../incident/summary.ts";
import { LaterChanges } from "./changes.ts";
import { type Check, checksOf } from "./checks.ts";
import type { UpFlags } from "./command.ts";
import { host } from "./ingress-side.ts";
import { UpPage } from "./page/up-page.ts";
import { playStory, type StoryResult } from "./story.ts";
import { TrafficCount } from "./traffic-count.ts";
import { Narrator } from "./view.ts";
import { World } from "./world.ts";

export async function runUp(context: CommandContext, flags: UpFlags): Promise<ExitCode> {
  const { environment } = context;
  const missing = flags.proxies
    ? await nginxProblem(context)
    : "No proxies and no traffic (--no-proxies).";
  if (missing === undefined) await refuseTakenPorts(environment, portsOf(flags));
  // With --json there is nothing to print its address on.
  const hasPage = flags.page && !flags.json;
  const page = hasPage ? await UpPage.start(context, flags.pagePort) : undefined;
  try {
    return await runStory(context, flags, { page, missing });
  } finally {
    await page?.stop();
  }
}

interface StoryParts {
  readonly page: UpPage | undefined;
  /** Why there are no proxies; undefined when there are. */
  readonly missing: string | undefined;
}

async function runStory(
  context: CommandContext,
  flags: UpFlags,
  { page, missing }: StoryParts,
): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const narrator = new Narrator({ terminal, quiet: flags.json, listener: page?.story });
  if (page !== undefined) narrator.text(`Page: ${page.url}\n`);
  const { folder, cleaned } = await makeRunFolder(environment);
  try {
    for (const line of introduction(flags, missing)) narrator.text(line);
    if (cleaned !== undefined) narrator.step(cleaned);
    if (flags.incidents) await showIncident(context, narrator);
    stop.throwIfAborted();
    return await runWorld(context, flags, { page, narrator, missing, folder });
  } catch (error) {
    if (!stop.aborted) throw error;
    narrator.text("\nStopped. Everything was removed.");
    return flags.once ? 2 : 0;
  } finally {
    await environment.files.remove(folder);
  }
}

function portsOf({ port, stockPort }: UpFlags) {
  return { stock: stockPort, lockstep: port };
}

/**
 * The incident that parts 3 and 4 show in real time. A thread of its own plays it: the page is served
 * meanwhile.
 */
async function showIncident(
  { environment, terminal, stop }: CommandContext,
  narrator: Narrator,
): Promise<void> {
  narrator.act(1, "A real incident, in simulated time");
  const worker = new LabWorker();
  const { name } = throttledController;
  const job = { name, fix: false, seed: 1, size: "full", releaseOnly: true } as const;
  const onProgress = ({ step, stageMs }: StageProgress): void =>
    narrator.counters({
      seconds: stageMs / 1000,
      isVirtual: true,
      stock: undefined,
      lockstep: undefined,
      waiting: `${name}: ${step}`,
    });
  let result: IncidentResult;
  try {
    const played = { type: "incident", ...job, examine: false } as const;
    ({ result } = await worker.run(played, { signal: stop, onProgress }));
  } finally {
    await worker.stop();
  }
  const options = { width: widthMin, paint: paintFor(terminal) };
  const lines = [...summaryHead(options, "simulated time"), ...summaryLines(result, options)];
  for (const line of lines) narrator.text(line);
  const assumptions = `Assumptions (not in the incident report): ${result.fitted.join("; ")}.`;
  for (const line of wrapText(assumptions, { width: widthMin })) narrator.text(line);
  const { processes } = environment;
  narrator.text(`All incidents, with charts: ${typedCommand(processes, "incident --all")}`);
}

async function runWorld(
  context: CommandContext,
  flags: UpFlags,
  {
    page,
    narrator,
    missing,
    folder,
  }: StoryParts & { readonly narrator: Narrator; readonly folder: string },
): Promise<ExitCode> {
  const { terminal, stop } = context;
  const environment = { ...context.environment, log: warningsOnly(context.environment.log) };
  narrator.act(2, "Three clusters, six ingress replicas, traffic, in real time");
  if (missing !== undefined) narrator.late(missing);
  /** After part 4, every change is printed when it arrives. */
  let watching: ((event: JourneyEvent) => void) | undefined;
  const world = new World({
    environment,
    crypto: webcrypto,
    folder,
    proxies: missing === undefined,
    followSlices: flags.followSlices,
    routes: flags.routes,
    ports: portsOf(flags),
    onStep: (text) => narrator.step(text),
    onJourney: (event) => {
      page?.onEvent(event);
      watching?.(event);
    },
    onClusters: () => page?.clustersRun(),
    signal: stop,
  });
  page?.follow(world);
  let traffic: TrafficCount | undefined;
  try {
    await world.start();
    if (world.sides.length > 0) {
      traffic = new TrafficCount({ environment, sides: world.sides, ledger: world.ledger, folder });
      traffic.start();
      page?.trafficRuns(traffic);
    }
    const result = await playStory({
      environment,
      world,
      traffic: traffic?.window(),
      narrator,
      columns: terminal.columns,
      onFinding: (finding) => page?.found(finding),
      signal: stop,
    });
    if (result.fixed !== undefined) page?.found(undefined);
    const checks = checksOf(result);
    page?.story.judged(checks);
    const held = checks.every(({ holds }) => holds);
    report(context, flags, narrator, { result, checks, held });
    if (!flags.once) {
      page?.story.over();
      const later = new LaterChanges({ ...environment, narrator, traffic: traffic?.window() });
      watching = (event) => later.note(event);
      await keepRunning(context, narrator, world, folder);
    }
    return held ? 0 : 1;
  } finally {
    await page?.leaveWorld();
    await traffic?.stop();
    await world.stop();
  }
}

function report(
  { terminal }: CommandContext,
  flags: UpFlags,
  narrator: Narrator,
  outcome: { result: StoryResult; checks: readonly Check[]; held: boolean },
): void {
  const { checks, held } = outcome;
  narrator.text("");
  for (const { text, goal, holds } of checks) {
    const [first = "", ...rest] = wrapText(`${text} (goal: ${goal})`, { width: widthMin - 2 });
    narrator.judge(holds, [first, ...rest.map((line) => `  ${line}`)].join("\n"));
  }
  const failed = checks.filter(({ holds }) => !holds).length;
  narrator.text(held ? "All checks passed." : `${failed} of ${checks.length} checks failed.`);
  if (flags.json) terminal.write(`${JSON.stringify(outcome)}\n`);
}

async function keepRunning(
  { environment, stop }: CommandContext,
  narrator: Narrator,
  world: World,
  folder: string,
): Promise<void> {
  const { processes } = environment;
  const path = `${folder}/kubeconfig`;
  await environment.files.write(path, kubeconfig(world.contexts), { mode: 0o600 });
  const urls = world.sides.map(
    ({ name, entry }) => `  curl -H 'Host: ${shopHost}' ${entry.url}/   # ${name}`,
  );
  narrator.text(`
Everything keeps running. Ctrl-C stops it and removes everything.
${urls.join("\n")}
  export KUBECONFIG=${path}
  kubectl --context alpha rollout restart deployment shop
  kubectl --context alpha scale deployment shop --replicas=6

On your own cluster, read-only:
  ${typedCommand(processes, "watch --context CONTEXT")}
  ${typedCommand(processes, "sync --from CONTEXT --to CONTEXT --dry-run")}
`);
  await aborted(stop);
  narrator.text("\nStopped. Everything was removed.");
}

/** Undefined when nginx with Lua is installed; else a sentence with the command that installs it. */
async function nginxProblem({ environment }: CommandContext): Promise<string | undefined> {
  const missing = await missingNginxFiles(environment);
  if (missing.length === 0) return undefined;
  return (
    `nginx with Lua is missing (${missing.join(", ")}), so there are no proxies and no traffic.\n` +
    nginxInstall
  );
}

/** The parts, and how long each takes on an idle machine. */
function introduction(flags: UpFlags, missing: string | undefined): readonly string[] {
  const acts = [
    ...(flags.incidents
      ? ["1  a real incident, replayed in simulated time            (about 15 s)"]
      : []),
    missing === undefined
      ? "2  three clusters, six replicas with real nginx, traffic  (about 10 s)"
      : "2  three clusters                                         (about 10 s)",
    "3  a release with a throttled controller manager, cause   (about 45 s)",
    "4  the fix, and a second release                          (about 15 s)",
  ];
  const end = flags.once ? "" : " Then everything keeps running until Ctrl-C.";
  return [
    "Everything runs on this machine. The times in brackets are real time:",
    ...acts.map((act) => `  ${act}`),
    `Every number is measured in this run.${end}`,
    ...(missing === undefined
      ? ['"stock" is a model of ingress-nginx with its default settings, for comparison.']
      : []),
  ];
}

/** Every terminal has this width. */
const widthMin = 80;

/** The entries listen only when all is ready, so a port in use is refused before that. 0 is any free port. */
async function refuseTakenPorts(
  environment: Pick<Environment, "network" | "processes">,
  { stock, lockstep }: { readonly stock: number; readonly lockstep: number },
): Promise<void> {
  if (stock === lockstep && stock !== 0) {
    throw new UsageError(`--port and --stock-port must be different; both are ${stock}.`);
  }
  const flags = [
    { flag: "--port", port: lockstep },
    { flag: "--stock-port", port: stock },
  ].filter(({ port }) => port !== 0);
  await namingPortFlags(environment, flags, async () => {
    for (const { port } of flags) {
      const listener = await environment.network.listen({ host, port }, (exchange) =>
        exchange.abort(),
      );
      await listener.close();
    }
  });
}
