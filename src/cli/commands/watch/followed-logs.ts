// The access logs that `--access-log` names, read as they grow: the hop `traffic`. A log that ends or
// whose lines cannot be understood is said to, and harms nothing else.
import { AccessLogParser } from "../../../access-log/access-log-parser.ts";
import type { IsService } from "../../../access-log/backend-name.ts";
import { LogFormat, LogFormatError } from "../../../access-log/log-format.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { KubeClient } from "../../../kube/client/client.ts";
import type { ObservedCluster } from "../../../observe/observer.ts";
import {
  type LogPlace,
  LogPlaceError,
  logChunks,
  readLogPlace,
} from "../../../observe/traffic/log-place.ts";
import { TrafficSource } from "../../../observe/traffic/traffic-source.ts";
import type { TrafficInput, TrafficTarget } from "../../../observe/traffic/traffic-witness.ts";
import type { JourneyEvent } from "../../../timeline/journey-event.ts";
import { throwAsUsage } from "../../as-usage.ts";
import { type CommandContext, UsageError } from "../../command.ts";

export interface LogsAsked {
  /** As `--access-log` gives them. */
  readonly accessLogs: readonly string[];
  /** As nginx's `log_format` has it; undefined when it is one of the known ones. */
  readonly logFormat: string | undefined;
}

export interface FollowedLogsOptions extends LogsAsked {
  readonly environment: Environment;
  readonly stdin: CommandContext["stdin"];
  readonly target: TrafficTarget & { readonly isService: IsService };
  readonly clusters: readonly ObservedCluster[];
  /** Called with what each log reports, by the log's name. */
  readonly onInput?: (name: string, input: TrafficInput) => void;
}

export class FollowedLogs {
  readonly #sources: readonly TrafficSource[];

  /** Throws a `UsageError` for a place or a format that cannot be. */
  constructor(options: FollowedLogsOptions) {
    const { environment, accessLogs, target, onInput } = options;
    const clients = new Map(options.clusters.map(({ cluster, client }) => [cluster, client]));
    const format = formatOf(options.logFormat);
    this.#sources = accessLogs.map((text) => {
      const place = placeOf(text);
      refuseForeignCluster(place, clients);
      return new TrafficSource({
        ...environment,
        name: text,
        parser: new AccessLogParser({
          format,
          isService: (service) => target.isService(service),
        }),
        target,
        ...(onInput && { onInput: (input) => onInput(text, input) }),
        chunks: (stream) =>
          logChunks(place, { ...environment, ...stream, clients, stdin: () => stdinOf(options) }),
      });
    });
  }

  start(): void {
    // It never rejects: what becomes of a log is in its status.
    for (const source of this.#sources) void source.start();
  }

  /** To be told of every step of every change before anything else is made of it. */
  onEvent(event: JourneyEvent): void {
    for (const source of this.#sources) source.onEvent(event);
  }

  /** What somebody should know who misses the hop. */
  notes(): readonly string[] {
    return this.#sources.flatMap(({ status }) => {
      const { name, state, problem, report } = status;
      const { example, notUnderstood, lines, withoutEndpoints } = report;
      return [
        ...(state === "failed" ? [`cannot read access log ${name}: ${problem}`] : []),
        ...(example === undefined
          ? []
          : [
              `access log ${name}: ${notUnderstood} of ${lines} lines have an unknown format. ` +
                `The first is line ${example.line}: ${example.problem}`,
            ]),
        ...(withoutEndpoints === 0
          ? []
          : [`access log ${name} does not contain the endpoint of each request`]),
      ];
    });
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.stop()));
  }
}

/**
 * A file that is not there now was probably misspelt; one that goes away later is waited for. In a
 * folder nothing is ever logged.
 */
export async function refuseMissingLogs(
  { files }: Pick<Environment, "files">,
  { accessLogs }: Pick<LogsAsked, "accessLogs">,
): Promise<void> {
  for (const text of accessLogs) {
    const place = placeOf(text);
    if (place.type !== "file") continue;
    const { path } = place;
    const kind = await files.kind(path);
    if (kind === "folder") {
      throw new UsageError(`the access log ${path} is a folder: give a file.`);
    }
    if (kind !== undefined) continue;
    throw new UsageError(`access log ${path} does not exist.`);
  }
}

function formatOf(format: string | undefined): LogFormat | undefined {
  if (format === undefined) return undefined;
  try {
    return new LogFormat({ name: "given", format });
  } catch (error) {
    return throwAsUsage([LogFormatError], error, "--log-format: ");
  }
}

function placeOf(text: string): LogPlace {
  try {
    return readLogPlace(text);
  } catch (error) {
    return throwAsUsage([LogPlaceError], error, "--access-log: ");
  }
}

function refuseForeignCluster(place: LogPlace, clients: ReadonlyMap<string, KubeClient>): void {
  if (place.type !== "pod" || place.cluster === undefined || clients.has(place.cluster)) return;
  const names = [...clients.keys()].join(", ");
  throw new UsageError(`${place.cluster} is not a watched cluster. Watched clusters: ${names}.`);
}

function stdinOf({ stdin }: FollowedLogsOptions): AsyncIterable<Uint8Array> {
  if (stdin !== undefined) return stdin();
  throw new UsageError("no access log on standard input: pipe one in, or give a file.");
}
