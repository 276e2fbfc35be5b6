// `lockstep blame`: flags and help.
import { Command, Option } from "commander";
import type { LogFormat } from "../../../access-log/log-format.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import {
  anyText,
  duration,
  listOf,
  logFormat,
  refuse,
  type TimeGiven,
  timeAgo,
  wholeNumber,
} from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runBlame } from "./run.ts";

export interface BlameFlags {
  readonly accessLog: readonly string[];
  readonly logFormat?: LogFormat;
  readonly recording: readonly string[];
  readonly objects: readonly string[];
  readonly cluster: readonly string[];
  readonly status: readonly number[];
  readonly since?: TimeGiven;
  readonly until?: TimeGiven;
  readonly skew: number;
  readonly lines: number;
  readonly json: boolean;
}

const defaultStatuses: readonly number[] = [502, 503, 504];

/** Clocks that follow a time server differ by no more. */
const defaultSkewMs = 100;

const skewMostMs = 3_600_000;

/** One screen; --json prints all. */
const defaultLines = 5;

const linesMost = 100_000;

const epilogue = `
Each request with status 502, 503 or 504 gets a verdict. It names the pod behind the address, the time
since the pod was terminating or dead, and the late step with its delay. If the endpoint was not
stale, it names the other cause. Each verdict has a confidence: "certain" (no other explanation fits
the times), "likely" (another one is possible) or "cannot tell" (unknown, with the reason). Delays
that are not known exactly are printed as a range or as "at most". Large inputs are read with limited
memory. Skipped data is printed as "Limits reached" and is in the JSON summary as "limits".

Input data, at least one of:
  --recording FILE   recording of lockstep record or lockstep watch --record (best)
  --objects PATH     objects saved with kubectl, file or folder; cluster=PATH sets the name:
    kubectl get pods,svc,nodes,endpointslices,events -A -o json > objects.json
    kubectl cluster-info dump --all-namespaces --output-directory=dump
    kubectl get pods -A --watch --output-watch-events -o json > pods.json
    Several saves at different times and audit logs (level RequestResponse)
    help too. Saved objects contain only pods that existed at that time; for
    pods deleted between two saves the time is approximate.

Known access logs: nginx with upstream addresses, ingress-nginx, Envoy, Istio, Contour, Traefik,
APISIX, Kong, AWS ALB and JSON. They may be compressed with gzip or prefixed by kubectl logs, stern,
container log files and log stores. For other formats use --log-format with the log_format of nginx.

Exit codes: 0 success, 2 error or no line of the access logs has a known format.

Examples:
  lockstep blame --access-log access.log --recording pods.jsonl
  kubectl logs deploy/ingress-nginx-controller -n ingress-nginx |
    lockstep blame --access-log - --objects prod=objects.json
  lockstep blame --access-log a.log --recording pods.jsonl --status 499,502
  lockstep blame --access-log a.log --recording pods.jsonl --since 2h --json |
    jq 'select(.isStale)'`;

export function blameCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("blame")
    .optionsGroup("Input:")
    .requiredOption(
      "--access-log <file>",
      "access log of a proxy, - for standard input; repeatable",
      listOf(anyText),
    )
    .option("--log-format <text>", "format of the access logs, as log_format of nginx", logFormat)
    .option("--recording <file>", "recording of lockstep record; repeatable", listOf(anyText), [])
    .option("--objects <path>", "objects saved with kubectl; repeatable", listOf(anyText), [])
    .optionsGroup("Which requests:")
    .option("--cluster <name>", "only pods of this cluster; repeatable", listOf(anyText), [])
    .addOption(
      new Option("--status <codes>", "status codes of the requests to judge")
        .argParser(statuses)
        .default(defaultStatuses, defaultStatuses.join(",")),
    )
    .option("--since <time>", "start: 2026-01-31T12:00:00Z, or 2h for two hours ago", timeAgo)
    .option("--until <time>", "end, in the same form", timeAgo)
    .addOption(
      new Option("--skew <time>", "maximum difference between the clocks of the machines")
        .argParser(duration({ toMs: skewMostMs }))
        .default(defaultSkewMs, "100ms"),
    )
    .optionsGroup("Output:")
    .option(
      "--lines <n>",
      "number of requests to show besides the summary",
      wholeNumber(0, linesMost),
      defaultLines,
    )
    .option("--json", "print JSON, one object a line: every request, then the summary", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: BlameFlags) => done(await runBlame(context, flags)));
}

function statuses(text: string): readonly number[] {
  const codes = text.split(",").map((code) => Number(code.trim()));
  if (codes.every((code) => Number.isInteger(code) && code >= 100 && code <= 599)) {
    return [...new Set(codes)].sort((one, other) => one - other);
  }
  return refuse("It must be status codes from 100 to 599, such as 502,503,504.");
}
