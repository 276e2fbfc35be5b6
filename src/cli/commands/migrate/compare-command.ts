// `lockstep migrate compare`: flags and help.
import { Command, Option } from "commander";
import type { LogFormat } from "../../../access-log/log-format.ts";
import type { CommandContext, ExitCode } from "../../command.ts";
import {
  anyText,
  duration,
  filePath,
  kubeconfigHelp,
  listOf,
  logFormat,
  refuse,
  wholeNumber,
} from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { runCompare } from "./compare-run.ts";

export interface CompareFlags {
  readonly old: string;
  readonly new: string;
  readonly insecure: boolean;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly class: readonly string[];
  readonly accessLog?: string;
  readonly logFormat?: LogFormat;
  readonly host?: string;
  readonly skip: readonly string[];
  readonly limit: number;
  readonly rate: number;
  readonly timeout: number;
  readonly maxBody: number;
  readonly header: readonly string[];
  readonly ignoreHeader: readonly string[];
  readonly allBodies: boolean;
  readonly json: boolean;
}

const defaultLimit = 200;
const limitMost = 100_000;

const defaultRate = 5;
/** More would be a load test. */
const rateMost = 50;

const defaultTimeoutMs = 10_000;
const timeoutMostMs = 120_000;

const defaultBodyKib = 1_024;
const bodyMostKib = 65_536;

const epilogue = `
Only GET and HEAD are sent, never anything else, and redirects are not followed. Requests have no
body, no cookies and no credentials. A GET can still have an effect in a badly made program: --skip
leaves such paths out.

Requests come from the rules of the Ingresses, each host and path once, or from an access log, each
different request once. For a path that is a regular expression its literal start is sent. A request
goes to the address in --old and --new with the host in the Host header and, for https, in SNI.

The command compares the status, headers that browsers and caches use, redirects, and size and hash of
the body. --header adds a header, --ignore-header leaves one out. Other headers, values of cookies, and
bodies of redirects and errors are left out, and their names are printed. If two answers differ, the
request is sent once more. A part that one side changes is then reported as "changes by itself".

Exit codes: 0 all answers are the same or change by themselves, 1 answers differ, 2 error.

Examples:
  lockstep migrate compare --old http://192.0.2.1 --new http://127.0.0.1:8080 --context prod
  lockstep migrate compare --old https://192.0.2.1 --new https://127.0.0.1:8443 --insecure
    --access-log access.log
  lockstep migrate compare --old http://a --new http://b manifests/ --json | jq '.requests[]'`;

export function compareCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  return new Command("compare")
    .description("send the same GET and HEAD requests to two proxies and list answers that differ")
    .argument("[path...]", "files or folders with Ingresses, - for standard input")
    .optionsGroup("Proxies:")
    .requiredOption("--old <url>", "address of the ingress you have, http or https", baseUrl)
    .requiredOption("--new <url>", "address of Lockstep", baseUrl)
    .option("--insecure", "do not verify certificates", false)
    .optionsGroup("Requests:")
    .option("--context <name>", "context of the cluster with the Ingresses", anyText)
    .option("--kubeconfig <file>", kubeconfigHelp, filePath)
    .option("--class <name>", "only Ingresses of this class; repeatable", listOf(anyText), [])
    .option("--access-log <file>", "access log of a proxy, - for standard input", anyText)
    .option("--log-format <text>", "format of the access log, as log_format of nginx", logFormat)
    .option("--host <name>", "host of requests, if the log has none", anyText)
    .option(
      "--skip <text>",
      "no requests with this text in path or query; repeatable",
      listOf(anyText),
      [],
    )
    .option("--limit <n>", "maximum number of requests", wholeNumber(1, limitMost), defaultLimit)
    .option("--rate <n>", "requests a second to each proxy", wholeNumber(1, rateMost), defaultRate)
    .addOption(
      new Option("--timeout <time>", "time for an answer")
        .argParser(duration({ fromMs: 100, toMs: timeoutMostMs }))
        .default(defaultTimeoutMs, "10s"),
    )
    .option(
      "--max-body <KiB>",
      "part of a body that is read",
      wholeNumber(1, bodyMostKib),
      defaultBodyKib,
    )
    .optionsGroup("Output:")
    .option("--header <name>", "also compare this header; repeatable", listOf(headerName), [])
    .option("--ignore-header <name>", "do not compare it; repeatable", listOf(headerName), [])
    .option("--all-bodies", "also compare bodies of redirects and errors", false)
    .option("--json", "print JSON", false)
    .addHelpText("after", helpText(context, epilogue))
    .action(async (paths: readonly string[], flags: CompareFlags) => {
      done(await runCompare(context, paths, flags));
    });
}

/** Without a slash at the end. */
function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isBase = url !== undefined && /^https?:$/.test(url.protocol) && url.pathname === "/";
  if (isBase && url.search === "" && url.hash === "" && url.username === "") return url.origin;
  return refuse("It must be an address such as https://192.0.2.1:8443, without a path.");
}

function headerName(text: string): string {
  if (/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(text)) return text.toLowerCase();
  return refuse("It must be the name of a header, such as x-frame-options.");
}
