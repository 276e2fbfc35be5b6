// `lockstep watch`: flags and help. `settings.ts` checks the flags together.
import { Command, Option } from "commander";
import { defaultHistoryPathText } from "../../../history/default-history-path.ts";
import { leastSizeBytes } from "../../../history/history-retention.ts";
import { leastRecordingBytes } from "../../../recording/recording-writer.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import {
  addContextFlags,
  anyText,
  byteSize,
  duration,
  filePath,
  listOf,
  logFormat,
  portOrAny,
  refuse,
  refuseWithout,
  serviceName,
  timeGiven,
  wholeNumber,
} from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runReplay } from "./replay.ts";
import { runWatch } from "./run.ts";
import { replaySettings, type WatchFlags, watchSettings } from "./settings.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const yearMs = 365 * 24 * hourMs;

const defaultSlowMs = 2_000;

/** Each service adds about ten series for every hop and direction. */
const serviceLabelsMost = 10_000;

const epilogue = `
A change is the addition (+) or the removal (−) of an endpoint. Timing starts when the pod changes.
Each column shows how long after that the change was visible there:

  published   listed in the EndpointSlices or Endpoints (for removals: no longer listed)
  synced      the same in the copy in an access cluster
  routed      used by the proxies; the time of the slowest replica
  traffic     first request to an added address, last request to a removed one

  340 ms      visible after 340 ms      4.1 s…     not visible yet, after 4.1 s
  ▲31.2 s     slow: --slow or more      ✗53 s…     stuck: more than 30 s
  ≥ ≤ ~       not known exactly         same       was already in this state
  never       ended before visible      passed     skipped: shows a later change
  ?           unknown: no source reports this column
  ✗12 fail    12 requests were sent to a removed address and failed
  12 req      12 requests were sent there and answered; no req: no requests

Finished changes scroll up. Changes in flight stay below them. The table shows the lags since the
start: median (p50), p99, maximum, and the oldest change that is not visible yet. After 15 minutes it
also shows the last 15 minutes; a small screen then shows only these.

--json prints one object a line. Its "type" is "shown" (a source reports a change), "found" (sources
disagree, the start is unknown), "stuck" (not visible after 30 s), "over" (once for each change),
"status" (every 10 s) or "summary" (at the end).
The change is in "journey", as in lockstep journeys --json. docs/watch.md describes every field.

--history keeps every change for lockstep journeys, for 30 days and up to 256 MiB. The limits are
--history-max-age and --history-max-size. The oldest changes are deleted first.

--record writes all observations to a file, without extra watches. --replay shows such a file again
and needs no cluster. Keys: space pauses, → or s jumps to the next change, + and − change the speed.
--anonymize replaces names and addresses, so that the file can be shared.

--proxy is the address of a proxy replica that reports its endpoints; repeat it for each replica:
  lockstep=http://10.0.0.5:10260         status port of a Lockstep ingress
  ingress-nginx=http://127.0.0.1:10246   port-forward to an ingress-nginx pod
  envoy=http://127.0.0.1:9001            admin port of Envoy: Contour, Envoy Gateway (19000), Istio
  traefik=http://127.0.0.1:8080          API of Traefik
  haproxy=http://127.0.0.1:1024          statistics of HAProxy; a path is allowed
  http://…                               detect the kind
  auto                                   find them in the clusters; needs get of pods/proxy

--access-log reads the access log of a proxy: a FILE that grows, - for standard input, or
pod:NAMESPACE/NAME[:CONTAINER][@CONTEXT] over the API. Known formats: nginx with upstream addresses,
ingress-nginx, Envoy, Istio, Contour, Traefik, APISIX, Kong, AWS ALB and JSON. For other formats use
--log-format with the log_format of nginx.

Required permissions: list and watch of services, pods, endpointslices (or endpoints) and nodes, in
the given namespaces or in all. Missing permissions and their effect are printed at the start.

Exit codes: 0 stopped by Ctrl-C, SIGTERM or --for; 1 no cluster could be read; 2 error.

Examples:
  lockstep watch
  lockstep watch --context shop-1 --context shop-2 --access-context edge
  lockstep watch --service shop/web --slow 500ms --proxy http://127.0.0.1:10260
  lockstep watch --proxy auto
  lockstep watch --all-contexts --max-qps 5 --history --history-max-age 90d
  lockstep watch --record incident.jsonl
  lockstep watch --replay incident.jsonl --speed 10
  lockstep watch --json | jq -c 'select(.type == "stuck") | .journey'`;

/** Flags of the sources beside the clusters. */
export function addSourceFlags(command: Command): Command {
  return command
    .option(
      "--access-context <name>",
      "cluster with copies of endpoints; repeatable (default: every cluster)",
      listOf(anyText),
      [],
    )
    .option("--service <namespace/name>", "only this service; repeatable", listOf(serviceName), [])
    .optionsGroup("Proxies and requests:")
    .option(
      "--proxy <url>",
      "proxy replica that reports its endpoints, or auto; repeatable",
      listOf(anyText),
      [],
    )
    .option("--access-log <where>", "access log of a proxy; repeatable", listOf(anyText), [])
    .option("--log-format <text>", "format of the access logs, as log_format of nginx", logFormat);
}

export function slowOption(): Option {
  return new Option("--slow <time>", "mark lags at or above this")
    .argParser(duration({ toMs: hourMs }))
    .default(defaultSlowMs, "2s");
}

export function addHistoryFlags(command: Command): Command {
  return command
    .option("--history [file]", `keep changes in a file (default: ${defaultHistoryPathText})`)
    .option(
      "--history-max-age <time>",
      "delete older changes: 12h, 7d (default: 30d)",
      // The history deletes old changes once a minute.
      duration({ fromMs: minuteMs, toMs: yearMs, days: true }),
    )
    .option(
      "--history-max-size <bytes>",
      "maximum size of the history: 100M, 1G (default: 256M)",
      byteSize(leastSizeBytes),
    );
}

export function watchCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("watch").optionsGroup("Which clusters and services:");
  addSourceFlags(addContextFlags(command))
    .optionsGroup("Output:")
    .addOption(slowOption())
    .option("--for <time>", "stop after this time", duration({ toMs: yearMs, days: true }))
    .option("--json", "print JSON, one object a line", false)
    .option("--utc", "print times in UTC", false)
    .optionsGroup("Files:");
  return addHistoryFlags(command)
    .option(
      "--record <file>",
      "write all observations to a file, for --replay and lockstep blame",
      filePath,
    )
    .option(
      "--max-size <bytes>",
      "maximum size of the recording, both files together: 500M, 2G (default: 256M)",
      byteSize(leastRecordingBytes),
    )
    .option("--anonymize", "replace names and addresses in the recording", false)
    .optionsGroup("Replay:")
    .option("--replay <file>", "show a recording again; needs no cluster", filePath)
    .option(
      "--speed <n>",
      "speed of the replay: 10 is ten times as fast, max is without waiting",
      replaySpeed,
    )
    .option(
      "--from <time>",
      "start of the replay: 2026-01-31T12:00:00Z, or 10m after the beginning",
      timeGiven("how long after the beginning"),
    )
    .optionsGroup("Metrics and traces:")
    .option(
      "--metrics-port <port>",
      "serve Prometheus metrics on this port; 0: any free port",
      portOrAny,
    )
    .option("--metrics-address <ip>", "listen address of that port", "127.0.0.1")
    .option(
      "--metrics-host <name>",
      "also accept this host name there, besides IP addresses and localhost; repeatable",
      listOf(anyText),
      [],
    )
    .addOption(
      new Option("--service-labels <n>", "number of services with their own metrics labels")
        .argParser(wholeNumber(0, serviceLabelsMost))
        .default(0, "none"),
    )
    .option("--otlp <url>", "send each change as a trace to this URL (OTLP over HTTP)")
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: WatchFlags) => {
      if (flags.replay !== undefined) {
        refuseOtherThanReplay(command);
        done(await runReplay(context, replaySettings(flags, flags.replay)));
        return;
      }
      refuseWithout("--replay", false, {
        "--speed": flags.speed !== undefined,
        "--from": flags.from !== undefined,
      });
      done(await runWatch(context, watchSettings(context.environment, flags)));
    });
}

/** The only flags for --replay; all others are about clusters. */
const replayFlags = ["replay", "speed", "from", "json", "utc", "slow", "namespace", "service"];

function refuseOtherThanReplay(command: Command): void {
  const isGiven = (name: string) => command.getOptionValueSource(name) === "cli";
  const other = command.options.find((option) => {
    const name = option.attributeName();
    return isGiven(name) && !replayFlags.includes(name);
  });
  if (other === undefined) return;
  throw new UsageError(`${other.long} cannot be used with --replay: remove it.`);
}

const slowestReplay = 1 / 16;
const fastestReplay = 100_000;

export function replaySpeed(text: string): number | "max" {
  if (text === "max") return "max";
  const times = Number(text.replace(/x$/, ""));
  if (times >= slowestReplay && times <= fastestReplay) return times;
  return refuse("It must be max, or a number from 0.0625 to 100000, such as 0.5, 1 or 10.");
}
