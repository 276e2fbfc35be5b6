// `lockstep serve`: flags and help.
import { Command } from "commander";
import type { CommandContext, ExitCode } from "../../command.ts";
import { UsageError } from "../../command.ts";
import { addContextFlags, anyText, filePath, listOf, refuse } from "../../flags.ts";
import { helpText } from "../../help-text.ts";
import { addHistoryFlags, addSourceFlags, replaySpeed, slowOption } from "../watch/command.ts";
import { type SourceFlags, sourceSettings } from "../watch/settings.ts";
import { serveReplay } from "./replay.ts";
import { runServe } from "./run.ts";

export interface ServeFlags extends SourceFlags {
  readonly listen: ListenAddress;
  readonly hostName: readonly string[];
  readonly tokenFile?: string;
  readonly metrics: readonly ClusterMetricsUrl[];
  readonly replay?: string;
  readonly speed?: number | "max";
}

/** Of the first watched cluster unless it names one. */
export interface ClusterMetricsUrl {
  readonly cluster: string | undefined;
  readonly url: string;
}

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** `lockstep up` has the next one, so both can run. */
const defaultListen: ListenAddress = { host: "127.0.0.1", port: 7070 };

const epilogue = `
The page shows clusters, API servers and proxy replicas, the lag of each hop, and every change on a
time axis. It also shows each endpoint of a service in each source, and the findings of the doctor. It
reads the same sources as lockstep watch and writes nothing to a cluster.

On loopback no token is needed. On any other address the page needs one: from --token-file, or a new
one that is printed. The printed address contains the token; a browser keeps it as a cookie. Other
clients send it as Authorization: Bearer TOKEN. The page has no TLS: use kubectl port-forward, an SSH
tunnel or a proxy with TLS. Names other than IP addresses and localhost need --host-name.

--history keeps every change in a file, as in lockstep watch; the page then lists older changes too.
--replay shows a recording and needs no cluster. A recording can also be dropped onto the page.

The API of the page is at /api/v1; /api/v1/openapi.json describes it. docs/page.md has the rest.

Required permissions: as for lockstep watch. For the charts of the control plane, the command reads
every 10 s the metrics of kube-controller-manager through its pods (pods/proxy), the Leases of nodes
and the leader lock, and every 30 s /metrics of the API server. If a permission is missing, the page
names it. In managed clusters give the address of the other metrics with --metrics. The doctor needs
more permissions (deploy/rbac/doctor.yaml); it reads only when a person starts it.

Exit codes: 0 stopped by Ctrl-C or SIGTERM; 2 error.

Examples:
  lockstep serve
  lockstep serve --context shop-1 --context shop-2 --access-context edge
  lockstep serve --proxy lockstep=http://10.0.0.5:10260 --history
  lockstep serve --metrics http://prometheus:9090
  lockstep serve --listen 0.0.0.0:7070 --token-file token.txt --host-name lockstep.example
  lockstep serve --replay incident.jsonl`;

export function serveCommand(context: CommandContext, done: (code: ExitCode) => void): Command {
  const command = new Command("serve").optionsGroup("Which clusters and services:");
  addSourceFlags(addContextFlags(command))
    .option(
      "--metrics <url>",
      "metrics for the control plane charts: a /metrics page or a Prometheus, CLUSTER=URL for one of several clusters; repeatable",
      metricsUrls,
      [],
    )
    .optionsGroup("Page:")
    .option(
      "--listen <host:port>",
      "address of the page; port 0: any (default: 127.0.0.1:7070)",
      listenAddress,
      defaultListen,
    )
    .option(
      "--host-name <name>",
      "also accept this host name, besides IP addresses and localhost; repeatable",
      listOf(anyText),
      [],
    )
    .option("--token-file <file>", "file with the token of the page", filePath)
    .addOption(slowOption())
    .optionsGroup("Files:");
  return addHistoryFlags(command)
    .option("--replay <file>", "show a recording; needs no cluster", filePath)
    .option(
      "--speed <n>",
      "speed of the replay: 10 is ten times as fast (default: max)",
      replaySpeed,
    )
    .addHelpText("after", helpText(context, epilogue))
    .action(async (flags: ServeFlags) => {
      if (flags.replay !== undefined) {
        refuseOtherThanReplay(command);
        done(await serveReplay(context, flags, flags.replay));
        return;
      }
      if (flags.speed !== undefined) throw new UsageError("--speed needs --replay.");
      done(await runServe(context, flags, sourceSettings(context.environment, flags)));
    });
}

/** `http://127.0.0.1:10252/metrics`, `shop-1=http://prometheus:9090`. */
function metricsUrls(
  text: string,
  before: readonly ClusterMetricsUrl[],
): readonly ClusterMetricsUrl[] {
  const [, cluster, url] = /^(?:([^=/]+)=)?(https?:\/\/\S+)$/.exec(text) ?? [];
  if (url === undefined || !URL.canParse(url)) {
    return refuse("It must be an http address, or CLUSTER=ADDRESS.");
  }
  return [...before, { cluster, url }];
}

/** `127.0.0.1:7070`, `[::1]:0`, or a port alone. */
function listenAddress(text: string): ListenAddress {
  const [, inBrackets, plain, digits] = /^(?:\[([^\]]+)\]:|([^:]+):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits ?? Number.NaN);
  if (!(port >= 0 && port <= 65_535)) {
    return refuse("It must be HOST:PORT, such as 127.0.0.1:7070 or [::1]:0.");
  }
  return { host: inBrackets ?? plain ?? defaultListen.host, port };
}

/** The only flags for --replay; all others are about clusters. */
const replayFlags = [
  "replay",
  "speed",
  "slow",
  "namespace",
  "service",
  "listen",
  "hostName",
  "tokenFile",
];

function refuseOtherThanReplay(command: Command): void {
  const other = command.options.find((option) => {
    const name = option.attributeName();
    return command.getOptionValueSource(name) === "cli" && !replayFlags.includes(name);
  });
  if (other === undefined) return;
  throw new UsageError(`${other.long} cannot be used with --replay: remove it.`);
}
