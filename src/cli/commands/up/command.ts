// `lockstep up`, which is what `npm start` runs: the whole path in a few minutes, losing requests and
// not losing them, and then a system to play with.
import { webcrypto } from "node:crypto";
import { Command } from "commander";
import {
  playThrottledController,
  throttledController,
} from "../../../lab/incidents/throttled-controller/play.ts";
import { playInVirtualTime } from "../../../lab/incidents/virtual-stage.ts";
import { kubeconfig } from "../../../lab/kubeconfig.ts";
import { shopHost } from "../../../lab/shop.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { aborted, type CommandContext, type ExitCode } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { warningsOnly } from "../../quiet-log.ts";
import { makeRunFolder } from "../../run-folder.ts";
import { paintFor } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { typedCommand } from "../../typed-command.ts";
import { wholeNumber } from "../../whole-number.ts";
import { summaryHead, summaryLines } from "../incident/summary-lines.ts";
import { type Check, checksOf } from "./checks.ts";
import { LaterChanges } from "./later-changes.ts";
import { Narrator } from "./narrator.ts";
import { refuseTakenPorts } from "./refuse-taken-ports.ts";
import { type StoryResult, tellStory } from "./story.ts";
import { TrafficCount } from "./traffic-count.ts";
import { World } from "./world.ts";

interface UpFlags {
  readonly once: boolean;
  readonly json: boolean;
  readonly followSlices: boolean;
  readonly incidents: boolean;
  readonly proxies: boolean;
  readonly port: number;
  readonly stockPort: number;
}

/** What every terminal has. */
const widthMin = 80;

const epilogue = `
The demonstration has four parts:
  1  a real incident in simulated time: incident report, stock (model), Lockstep
  2  real time: three clusters, six ingress replicas with real nginx, traffic
  3  real time: a release while the controller manager is throttled, and the cause
  4  real time: the fix, and a second release
Then everything keeps running until Ctrl-C. Every number is measured in this run.

Without nginx and its Lua module, parts 2 to 4 show the control plane only.

Exit codes: 0 all checks passed, 1 at least one check failed, 2 error, or stopped with --once.

Examples:
  lockstep up
  lockstep up --once                   run the four parts, then exit
  lockstep up --once --follow-slices   route by EndpointSlices only: the checks fail
  lockstep up --once --json            print the numbers as one JSON object`;

export function upCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("up")
    .description("show a demonstration: clusters, ingress, a slow control plane, the fix")
    .option("--once", "exit after part 4; the exit code shows if all checks passed", false)
    .option("--json", "print the result as one JSON object", false)
    .option("--follow-slices", "route by EndpointSlices only, without the pod watches", false)
    .option("--no-incidents", "skip part 1")
    .option("--no-proxies", "show the control plane only, without nginx and traffic")
    .option(
      "--port <n>",
      "port for requests to Lockstep; 0: any free port",
      wholeNumber(0, 65_535),
      0,
    )
    .option(
      "--stock-port <n>",
      "port for requests to stock; 0: any free port",
      wholeNumber(0, 65_535),
      0,
    )
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: UpFlags) => done(await runUp(context, flags)));
}

async function runUp(context: CommandContext, flags: UpFlags): Promise<ExitCode> {
  const { environment, terminal, stop } = context;
  const narrator = new Narrator({ terminal, quiet: flags.json });
  const missing = flags.proxies
    ? await whatIsMissing(context)
    : "No proxies and no traffic (--no-proxies).";
  if (missing === undefined) await refuseTakenPorts(environment, portsOf(flags));
  const { folder, cleaned } = await makeRunFolder(environment);
  try {
    for (const line of introduction(flags, missing)) narrator.text(line);
    if (cleaned !== undefined) narrator.step(cleaned);
    if (flags.incidents) await showIncident(context, narrator);
    stop.throwIfAborted();
    return await runWorld(context, flags, { narrator, missing, folder });
  } catch (error) {
    if (!stop.aborted) throw error;
    narrator.text("\nStopped. Everything was removed.");
    return flags.once ? 2 : 0;
  } finally {
    await environment.files.remove(folder);
  }
}

/** What will be seen, and about how long each part takes on a machine that is not busy. */
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

function portsOf({ port, stockPort }: UpFlags) {
  return { stock: stockPort, lockstep: port };
}

/** The incident that the later acts show live, without the settings it is compared with. */
async function showIncident(
  { environment, terminal, stop }: CommandContext,
  narrator: Narrator,
): Promise<void> {
  narrator.act("1  A real incident, in simulated time");
  const result = await playInVirtualTime(
    {
      ...throttledController,
      play: (open) => playThrottledController(open, { releaseOnly: true }),
    },
    {
      seed: 1,
      signal: stop,
      onProgress: ({ step, stageMs }) => {
        narrator.counters({
          seconds: stageMs / 1000,
          isVirtual: true,
          stock: undefined,
          lockstep: undefined,
          waiting: `${throttledController.name}: ${step}`,
        });
      },
    },
  );
  const options = { width: widthMin, paint: paintFor(terminal) };
  const lines = [...summaryHead(options), ...summaryLines(result, options)];
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
    narrator,
    missing,
    folder,
  }: {
    readonly narrator: Narrator;
    readonly missing: string | undefined;
    readonly folder: string;
  },
): Promise<ExitCode> {
  const { terminal, stop } = context;
  const environment = { ...context.environment, log: warningsOnly(context.environment.log) };
  narrator.act("2  Three clusters, six ingress replicas, traffic, in real time");
  if (missing !== undefined) narrator.late(missing);
  /** After the story, every change is shown as it arrives. */
  let watching: ((event: JourneyEvent) => void) | undefined;
  const world = new World({
    environment,
    crypto: webcrypto,
    folder,
    proxies: missing === undefined,
    followSlices: flags.followSlices,
    ports: portsOf(flags),
    onStep: (text) => narrator.step(text),
    onJourney: (event) => watching?.(event),
    signal: stop,
  });
  let traffic: TrafficCount | undefined;
  try {
    await world.start();
    if (world.sides.length > 0) {
      traffic = new TrafficCount({ environment, sides: world.sides, ledger: world.ledger, folder });
      traffic.start();
    }
    const { columns } = terminal;
    const told = { environment, world, traffic, narrator, columns, signal: stop };
    const result = await tellStory(told);
    const checks = checksOf(result);
    const held = checks.every(({ holds }) => holds);
    report(context, flags, narrator, { result, checks, held });
    if (!flags.once) {
      const later = new LaterChanges({ ...environment, narrator, traffic });
      watching = (event) => later.note(event);
      await keepRunning(context, narrator, world, folder);
    }
    return held ? 0 : 1;
  } finally {
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

/** Undefined when nginx with Lua is there; else a sentence that says what to install. */
async function whatIsMissing({ environment }: CommandContext): Promise<string | undefined> {
  const { files } = environment;
  const needed = ["/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_http_lua_module.so"];
  const absent: string[] = [];
  for (const path of needed) if ((await files.read(path)) === undefined) absent.push(path);
  if (absent.length === 0) return undefined;
  return (
    `nginx with Lua is missing (${absent.join(", ")}), so there are no proxies and no traffic.\n` +
    "Install it with: apt-get install nginx libnginx-mod-http-lua lua-resty-core lua-cjson"
  );
}
