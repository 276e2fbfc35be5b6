// `lockstep watch`: every change of every endpoint, with its time at every hop, as it happens. It reads
// only, and works beside whatever ingress there is.
import { Command, InvalidArgumentError, Option } from "commander";
import { defaultHistoryPathText } from "../../../history/default-history-path.ts";
import { leastSizeBytes } from "../../../history/history-retention.ts";
import { leastRecordingBytes } from "../../../recording/recording-writer.ts";
import { byteSize } from "../../byte-size.ts";
import { type CommandContext, type ExitCode, UsageError } from "../../command.ts";
import { helpText } from "../../help-text.ts";
import { longDuration } from "../../long-duration.ts";
import { repeatable } from "../../repeatable.ts";
import { timeFlag } from "../../time-flag.ts";
import { wholeNumber } from "../../whole-number.ts";
import { runReplay } from "./replay.ts";
import { runWatch } from "./run.ts";
import { replaySettings, type WatchFlags, watchSettings } from "./watch-settings.ts";

/** Longer than anybody waits for one. */
const slowestMs = 3_600_000;
const longestMs = 365 * 24 * 3_600_000;

const defaultSlowMs = 2_000;

/** A history is tidied once a minute. */
const leastAgeMs = 60_000;

/** What one client may ask of an API server that others need too. */
const qpsMost = 1_000;

/** Each is some ten series more for every hop and direction. */
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
  ≥ ≤ ~       not known exactly         same       already in this state before
  never       ended without it          passed     continued with a later change
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
  http://…                               detect the kind

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
  lockstep watch --all-contexts --max-qps 5 --history --history-max-age 90d
  lockstep watch --record incident.jsonl
  lockstep watch --replay incident.jsonl --speed 10
  lockstep watch --json | jq -c 'select(.type == "stuck") | .journey'`;

export function watchCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("watch")
    .description("show every endpoint change and how long each step takes, until stopped")
    .option(
      "--context <name>",
      "context, or name=context; repeatable (default: the current context)",
      repeatable,
      [],
    )
    .option("--all-contexts", "every cluster in the kubeconfig, by its first context", false)
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option(
      "--access-context <name>",
      "cluster with copies of endpoints; repeatable (default: every cluster)",
      repeatable,
      [],
    )
    .option("--namespace <name>", "only this one; repeatable", repeatable, [])
    .option("--service <namespace/name>", "only this one; repeatable", repeatable, [])
    .addOption(
      new Option("--slow <time>", "mark lags at or above this")
        .argParser(timeFlag(slowestMs))
        .default(defaultSlowMs, "2s"),
    )
    .option("--proxy <url>", "proxy replica that reports its endpoints; repeatable", repeatable, [])
    .option("--access-log <where>", "access log of a proxy; repeatable", repeatable, [])
    .option("--log-format <text>", "format of the access logs, as log_format of nginx")
    .option("--max-qps <n>", "maximum requests a second to each cluster", wholeNumber(1, qpsMost))
    .option("--json", "print JSON, one object a line", false)
    .option("--history [file]", `keep changes in a file (default: ${defaultHistoryPathText})`)
    .option("--history-max-age <time>", "delete older changes: 12h, 7d (default: 30d)", age)
    .option(
      "--history-max-size <bytes>",
      "maximum size of the history: 100M, 1G (default: 256M)",
      byteSize(leastSizeBytes),
    )
    .option("--record <file>", "write all observations to a file, for --replay and lockstep blame")
    .option(
      "--max-size <bytes>",
      "maximum size of the recording, both files together: 500M, 2G (default: 256M)",
      byteSize(leastRecordingBytes),
    )
    .option("--anonymize", "replace names and addresses in the recording", false)
    .option("--replay <file>", "show a recording again; needs no cluster")
    .option(
      "--speed <n>",
      "speed of the replay: 10 is ten times as fast, max is without waiting",
      speed,
    )
    .option(
      "--from <time>",
      "start of the replay: 2026-01-31T12:00:00Z, or 10m after the beginning",
      from,
    )
    .option(
      "--metrics-port <port>",
      "serve Prometheus metrics on this port; 0: any free port",
      wholeNumber(0, 65_535),
    )
    .option("--metrics-address <ip>", "listen address of that port", "127.0.0.1")
    .option(
      "--metrics-host <name>",
      "also accept this host name there, besides IP addresses and localhost; repeatable",
      repeatable,
      [],
    )
    .addOption(
      new Option("--service-labels <n>", "number of services with their own metrics labels")
        .argParser(wholeNumber(0, serviceLabelsMost))
        .default(0, "none"),
    )
    .option("--otlp <url>", "send each change as a trace to this URL (OTLP over HTTP)")
    .option("--utc", "print times in UTC", false)
    .option("--for <time>", "stop after this time", timeFlag(longestMs))
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: WatchFlags, command: Command) => {
      if (flags.replay !== undefined) {
        refuseOtherThanReplay(command);
        done(await runReplay(context, replaySettings(flags, flags.replay)));
        return;
      }
      if (flags.speed !== undefined || flags.from !== undefined) {
        throw new UsageError("--speed and --from need --replay.");
      }
      done(await runWatch(context, watchSettings(context.environment, flags)));
    });
}

function age(text: string): number {
  const ms = longDuration(text);
  if (ms !== undefined && ms >= leastAgeMs && ms <= longestMs) return ms;
  throw new InvalidArgumentError("It must be a time such as 12h or 7d, from 1m to 365d.");
}

/** With --replay; everything else is of clusters that are observed. */
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

function speed(text: string): number | "max" {
  if (text === "max") return "max";
  const times = Number(text.replace(/x$/, ""));
  if (times >= slowestReplay && times <= fastestReplay) return times;
  throw new InvalidArgumentError("It must be max or a number such as 0.5, 1 or 10.");
}

function from(text: string): { readonly atMs: number } | { readonly afterMs: number } {
  const afterMs = longDuration(text);
  if (afterMs !== undefined) return { afterMs };
  const atMs = /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(atMs)) return { atMs };
  throw new InvalidArgumentError("It must be a time such as 2026-01-31T12:00:00Z, or 10m.");
}
