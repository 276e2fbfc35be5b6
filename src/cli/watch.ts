// `lockstep watch`: every change of every endpoint, with its time at every hop, as it happens. It reads
// only, and works beside whatever ingress there is.
import { Command, InvalidArgumentError, Option } from "commander";
import { defaultHistoryPathText } from "../history/default-history-path.ts";
import { leastSizeBytes } from "../history/history-retention.ts";
import { leastRecordingBytes } from "../recording/recording-writer.ts";
import { byteSize } from "./byte-size.ts";
import { type CommandContext, type ExitCode, UsageError } from "./command.ts";
import { helpText } from "./help-text.ts";
import { longDuration } from "./long-duration.ts";
import { repeatable } from "./repeatable.ts";
import { timeFlag } from "./time-flag.ts";
import { runReplay } from "./watch/run-replay.ts";
import { runWatch } from "./watch/run-watch.ts";
import { replaySettings, type WatchFlags, watchSettings } from "./watch/watch-settings.ts";
import { wholeNumber } from "./whole-number.ts";

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
A change is an endpoint that joins (+) or leaves (−). Its clock starts when the pod shows it, and each
hop says how long after that it showed it too:

  published   the cluster's EndpointSlices or Endpoints
  synced      the copy in an access cluster
  routed      a proxy: the last of its replicas
  traffic     first request to an address that joined, last to one that left

  340 ms      shown after so long       4.1 s…     not shown yet, for so long
  ▲31.2 s     slow: --slow or more      ✗53 s…     stuck: longer than 30 s
  ≥ ≤ ~       not known more exactly    same       had it so all along
  never       ended without it          passed     went on to a later change
  ?           nobody reports this hop: unknown, which is not fast
  ✗12 fail    so many requests went to an address after it had left, and failed
  12 req      so many were answered there; no req: none came

Lines that are over scroll away; those in flight stay below them, above the lags of all hops since the
start: the median, the worst of a hundred, the longest, and the oldest change that is still awaited.
After 15 minutes those of the last 15 stand below them, or on a small screen instead of them.

--json prints objects with a "type": "shown" when a witness shows a change, "stuck" when a hop has not
for 30 s, "found" when sources disagree,
"over" once for each change, "status" every 10 s and "summary" as the last. The change is
under "journey", as lockstep journeys --json prints it; docs/watch.md names every field.

--history keeps every change for lockstep journeys: for 30 days and in 256 MiB, unless
--history-max-age and --history-max-size say otherwise; the oldest go first.

--record writes everything that is observed to a file, with the watches there are anyway. --replay
shows such a file again, without a cluster: space pauses, → or s goes to the next change, + and −
change the speed. --anonymize replaces names and addresses, so that the file can be shared.

--proxy names a replica that says what it routes to; give it once for each:
  lockstep=http://10.0.0.5:10260         a Lockstep ingress, by its status port
  ingress-nginx=http://127.0.0.1:10246   an ingress-nginx, by a port-forward
  http://…                               whichever of them answers there

--access-log reads what a proxy logs of its requests: FILE as it grows, - for standard input, or
pod:NAMESPACE/NAME[:CONTAINER][@CONTEXT] over the API. The formats of nginx with upstream addresses,
ingress-nginx, Envoy, Istio, Contour, Traefik, APISIX, Kong and AWS ALB, and JSON are known; give another
with --log-format, as nginx's log_format has it.

Needed are list and watch of services, pods, endpointslices (or endpoints) and nodes, in the
namespaces given or in all; whatever is missing costs a hop, and that is said at the start.

Exit codes: 0 it ended when told to, 1 no cluster could be read, 2 it could not be done as asked.

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
    .description("show every change of endpoints and how long each hop takes, until stopped")
    .option(
      "--context <name>",
      "a context, or name=context; repeatable; the current one unless given",
      repeatable,
      [],
    )
    .option("--all-contexts", "every cluster of the kubeconfig, by its first context", false)
    .option("--kubeconfig <file>", "instead of $KUBECONFIG or ~/.kube/config")
    .option(
      "--access-context <name>",
      "where copies of endpoints are looked for; repeatable; every cluster unless given",
      repeatable,
      [],
    )
    .option("--namespace <name>", "only this one; repeatable", repeatable, [])
    .option("--service <namespace/name>", "only this one; repeatable", repeatable, [])
    .addOption(
      new Option("--slow <time>", "from here on a lag is slow")
        .argParser(timeFlag(slowestMs))
        .default(defaultSlowMs, "2s"),
    )
    .option(
      "--proxy <url>",
      "a proxy replica that says what it routes to; repeatable",
      repeatable,
      [],
    )
    .option("--access-log <where>", "a proxy's access log; repeatable", repeatable, [])
    .option("--log-format <text>", "of the access logs, in nginx's notation")
    .option(
      "--max-qps <n>",
      "at most so many requests a second to each cluster",
      wholeNumber(1, qpsMost),
    )
    .option("--json", "print JSON, one object a line", false)
    .option("--history [file]", `keep changes in a file (${defaultHistoryPathText})`)
    .option("--history-max-age <time>", "older ones go: 12h, 7d (default: 30d)", age)
    .option(
      "--history-max-size <bytes>",
      "the oldest go for new ones: 100M, 1G (default: 256M)",
      byteSize(leastSizeBytes),
    )
    .option("--record <file>", "write down what is observed, for --replay and lockstep blame")
    .option(
      "--max-size <bytes>",
      "of the recording, both files together: 500M, 2G (default: 256M)",
      byteSize(leastRecordingBytes),
    )
    .option("--anonymize", "replace names and addresses in the recording", false)
    .option("--replay <file>", "show a recording as if it happened now; needs no cluster")
    .option("--speed <n>", "of the replay: 10 is ten times as fast, max without waiting", speed)
    .option(
      "--from <time>",
      "skip what was before: 2026-01-31T12:00:00Z, or 10m after it began",
      from,
    )
    .option("--metrics-port <port>", "answer Prometheus there; 0 for any", wholeNumber(0, 65_535))
    .option("--metrics-address <ip>", "where that port listens", "127.0.0.1")
    .option(
      "--metrics-host <name>",
      "answer there for this name too, beside IP addresses and localhost; repeatable",
      repeatable,
      [],
    )
    .addOption(
      new Option("--service-labels <n>", "metrics of so many services by name")
        .argParser(wholeNumber(0, serviceLabelsMost))
        .default(0, "none"),
    )
    .option("--otlp <url>", "send each change as a trace there (OTLP over HTTP)")
    .option("--utc", "times of day in UTC", false)
    .option("--for <time>", "end by itself after so long", timeFlag(longestMs))
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: WatchFlags, command: Command) => {
      if (flags.replay !== undefined) {
        refuseOtherThanReplay(command);
        done(await runReplay(context, replaySettings(flags, flags.replay)));
        return;
      }
      if (flags.speed !== undefined || flags.from !== undefined) {
        throw new UsageError("--speed and --from are of a replay: give --replay too.");
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
  throw new UsageError(`${other.long} is of a cluster, and --replay reads a file: leave it out.`);
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
