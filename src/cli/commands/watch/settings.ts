// The settings of `lockstep watch` from its flags. Flags that contradict each other are refused.
import { resolve as absolute } from "node:path";
import type { LogFormat } from "../../../access-log/log-format.ts";
import type { Environment } from "../../../environment/environment.ts";
import {
  defaultHistoryPath,
  defaultHistoryPathText,
} from "../../../history/default-history-path.ts";
import type { Retention } from "../../../history/history-retention.ts";
import type { ServiceBounds } from "../../../observe/service-filter.ts";
import { defaultRecordingBytes } from "../../../recording/recording-writer.ts";
import { UsageError } from "../../command.ts";
import { type ContextFlags, refuseWithout, type TimeGiven } from "../../flags.ts";
import type { ReplaySettings } from "./replay.ts";

/** Flags of sources and of kept data; the same in `lockstep watch` and `lockstep serve`. */
export interface SourceFlags extends ContextFlags {
  readonly accessContext: readonly string[];
  readonly service: readonly string[];
  readonly slow: number;
  readonly accessLog: readonly string[];
  readonly logFormat?: LogFormat;
  readonly proxy: readonly string[];
  readonly history?: string | true;
  readonly historyMaxAge?: number;
  readonly historyMaxSize?: number;
}

export interface WatchFlags extends SourceFlags {
  readonly json: boolean;
  readonly metricsPort?: number;
  readonly metricsAddress: string;
  readonly metricsHost: readonly string[];
  readonly serviceLabels: number;
  readonly otlp?: string;
  readonly utc: boolean;
  readonly for?: number;
  readonly record?: string;
  readonly maxSize?: number;
  readonly anonymize: boolean;
  readonly replay?: string;
  readonly speed?: ReplaySettings["speed"];
  readonly from?: TimeGiven;
}

export interface SourceSettings {
  readonly contexts: readonly string[];
  readonly allContexts: boolean;
  readonly kubeconfig: string | undefined;
  readonly accessContexts: readonly string[];
  readonly bounds: ServiceBounds & { readonly maxQps?: number };
  readonly slowMs: number;
  readonly accessLogs: readonly string[];
  readonly logFormat: LogFormat | undefined;
  readonly proxies: readonly string[];
  readonly historyPath: string | undefined;
  readonly retention: Partial<Retention>;
}

export interface WatchSettings extends SourceSettings {
  readonly json: boolean;
  readonly metricsPort: number | undefined;
  readonly metricsAddress: string;
  readonly metricsHosts: readonly string[];
  readonly serviceLabels: number;
  readonly otlp: string | undefined;
  readonly utc: boolean;
  readonly durationMs: number | undefined;
  /** Absolute; undefined without --record. */
  readonly recordPath: string | undefined;
  readonly recordMaxBytes: number;
  readonly anonymize: boolean;
}

export function sourceSettings(
  { processes }: Pick<Environment, "processes">,
  flags: SourceFlags,
): SourceSettings {
  const { namespace, service, maxQps, history, logFormat } = flags;
  refuseServices(flags);
  refuseWithout("--access-log", flags.accessLog.length > 0, {
    "--log-format": logFormat !== undefined,
  });
  return {
    contexts: flags.context,
    allContexts: flags.allContexts,
    kubeconfig: flags.kubeconfig,
    accessContexts: flags.accessContext,
    bounds: {
      ...(namespace.length > 0 && { namespaces: namespace }),
      ...(service.length > 0 && { services: service }),
      ...(maxQps !== undefined && { maxQps }),
    },
    slowMs: flags.slow,
    accessLogs: flags.accessLog,
    logFormat,
    proxies: flags.proxy,
    historyPath: historyPath(history, processes),
    retention: retentionOf(flags),
  };
}

export function watchSettings(
  environment: Pick<Environment, "processes">,
  flags: WatchFlags,
): WatchSettings {
  refuseWithout("--record", flags.record !== undefined, {
    "--max-size": flags.maxSize !== undefined,
    "--anonymize": flags.anonymize,
  });
  return {
    ...sourceSettings(environment, flags),
    json: flags.json,
    metricsPort: flags.metricsPort,
    metricsAddress: flags.metricsAddress,
    metricsHosts: flags.metricsHost,
    serviceLabels: flags.serviceLabels,
    otlp: flags.otlp,
    utc: flags.utc,
    durationMs: flags.for,
    recordPath: flags.record,
    recordMaxBytes: flags.maxSize ?? defaultRecordingBytes,
    anonymize: flags.anonymize,
  };
}

export function replaySettings(flags: WatchFlags, path: string): ReplaySettings {
  refuseServices(flags);
  const { namespace, service, slow, utc, json, speed, from } = flags;
  return {
    path,
    speed,
    from,
    slowMs: slow,
    utc,
    json,
    bounds: {
      ...(namespace.length > 0 && { namespaces: namespace }),
      ...(service.length > 0 && { services: service }),
    },
  };
}

function refuseServices({ namespace, service }: Pick<WatchFlags, "namespace" | "service">): void {
  for (const name of service) {
    const own = name.slice(0, name.indexOf("/"));
    if (namespace.length === 0 || namespace.includes(own)) continue;
    throw new UsageError(
      `--service ${name} is not in one of the given namespaces: remove --namespace, or add ${own}.`,
    );
  }
}

function retentionOf(flags: SourceFlags): Partial<Retention> {
  const { history, historyMaxAge: ageMaxMs, historyMaxSize: sizeMaxBytes } = flags;
  refuseWithout("--history", history !== undefined, {
    "--history-max-age": ageMaxMs !== undefined,
    "--history-max-size": sizeMaxBytes !== undefined,
  });
  return {
    ...(ageMaxMs !== undefined && { ageMaxMs }),
    ...(sizeMaxBytes !== undefined && { sizeMaxBytes }),
  };
}

function historyPath(
  asked: string | true | undefined,
  processes: Environment["processes"],
): string | undefined {
  if (asked === undefined) return undefined;
  if (asked !== true) return absolute(asked);
  const path = defaultHistoryPath(processes);
  if (path !== undefined) return path;
  throw new UsageError(
    `--history needs a file: HOME is not set, so ${defaultHistoryPathText} is not available.`,
  );
}
