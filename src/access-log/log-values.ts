// One request from nginx's variables, wherever they were read from. Missing values stay undefined;
// only a request without a time or a status is useless.
import type { WallMs } from "../environment/clock.ts";
import type { AccessLogEntry } from "./access-log-entry.ts";
import { type IsService, serviceNamed } from "./backend-name.ts";
import type { LogValues } from "./log-format.ts";
import { type LogTime, logTime, msecTime } from "./log-time.ts";
import {
  type LoggedTries,
  namesNoEndpoint,
  secondsToMs,
  statusOf,
  triesOf,
} from "./upstream-lists.ts";

export interface EntryContext {
  /** Counts from 1. */
  readonly line: number;
  /** When the line was written, by its carrier: a container runtime, journald. */
  readonly carriedAt: LogTime | undefined;
  readonly isService: IsService | undefined;
}

export type ReadEntry =
  | { readonly entry: AccessLogEntry }
  /** The missing value. */
  | { readonly problem: string };

export function entryOf(values: LogValues, context: EntryContext): ReadEntry {
  const status = statusOf(values.get("status"));
  if (status === undefined) return { problem: "it has no status of three digits" };
  const times = timesOf(values);
  const durationMs = durationOf(values) ?? lengthBetween(times.start, times.end);
  const ended = endOf(times, durationMs, context.carriedAt);
  if (ended === undefined) return { problem: "it has no time that can be read" };
  const { method, target } = requestOf(values);
  const backend = backendOf(values);
  const { tries, leftOut } = triesIn(values, status);
  const triesUnknown = tries.length > 0 ? undefined : unknownTries(values);
  return {
    entry: {
      line: context.line,
      endedMs: ended.wallMs,
      resolutionMs: ended.resolutionMs,
      ...(ended.isZoneGuessed === true && { isZoneGuessed: true }),
      durationMs,
      status,
      method: method && atMost(method, methodMax),
      host: hostOf(values),
      target: target && atMost(target, targetMax),
      service: plausible(serviceOf(values, backend, context.isService)),
      ...(backend !== undefined && { backend: atMost(backend, nameMost) }),
      tries,
      ...(leftOut !== undefined && { triesLeftOut: leftOut }),
      ...(triesUnknown !== undefined && { triesUnknown }),
    },
  };
}

/**
 * The kept length of each text of a request. A URL of this length identifies it; names have 253.
 */
const targetMax = 1_024;
const nameMost = 255;
const methodMax = 32;

function atMost(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Enough of a name to know it by. */
const nameMax = 60;

/**
 * A field that is missing, or that holds something else, does not prove that no endpoint was tried.
 */
function unknownTries(values: LogValues): string | undefined {
  const addresses = values.get("upstream_addr");
  if (addresses === undefined) return "the log does not name the endpoints that were tried";
  if (namesNoEndpoint(addresses)) return undefined;
  return `the log names ${addresses.slice(0, nameMax)}, which is no endpoint's address`;
}

function triesIn(values: LogValues, status: number): LoggedTries {
  const { tries, leftOut } = triesOf({
    addresses: values.get("upstream_addr") ?? "",
    statuses: values.get("upstream_status") ?? "",
    responseTimes: values.get("upstream_response_time") ?? "",
    headerTimes: values.get("upstream_header_time") ?? "",
    responseLengths: values.get("upstream_response_length") ?? "",
  });
  const last = tries.at(-1);
  if (last === undefined || values.has("upstream_status")) return { tries, leftOut };
  // Where only the request has a status, it is that of what was tried last.
  const flags = values.get("response_flags");
  const answered = flags === undefined ? undefined : flags === "-" || flags === "";
  const decided = { ...last, status, ...(answered !== undefined && { answered }) };
  return { tries: [...tries.slice(0, -1), decided], leftOut };
}

/** Absent, empty and nginx's dash are one. */
function textOf(values: LogValues, variable: string): string | undefined {
  const value = values.get(variable);
  return value === undefined || value === "" || value === "-" ? undefined : value;
}

/** Other durations have their own units, recognised by names that only one product uses. */
function durationOf(values: LogValues): number | undefined {
  const inSeconds = secondsToMs(values.get("request_time"));
  const duration = values.get("milliseconds") ?? values.get("duration") ?? "";
  if (inSeconds !== undefined || !/^\d{1,18}$/.test(duration)) return inSeconds;
  const isInMs = ["milliseconds", "response_flags", "upstream_cluster"].some((name) =>
    values.has(name),
  );
  // Again no request takes thirty years.
  if (isInMs) return duration.length <= 12 ? Number(duration) : undefined;
  const isTraefiks = values.has("origin_duration");
  return isTraefiks ? Math.round(Number(duration) / nanosecondsInMs) : undefined;
}

const nanosecondsInMs = 1_000_000;

interface WrittenTimes {
  /** The most reliable and exact of the end times. */
  readonly end: LogTime | undefined;
  readonly start: LogTime | undefined;
}

function timesOf(values: LogValues): WrittenTimes {
  const time = logTime(values.get("time_iso8601") ?? "");
  const start = logTime(values.get("start_time") ?? "");
  // Envoy knows only when a request began, whatever that is called.
  const isStart = values.has("response_flags") && start === undefined;
  const ends = [
    msecTime(values.get("msec") ?? ""),
    isStart ? undefined : time,
    logTime(values.get("time_local") ?? ""),
  ];
  return { end: surest(ends), start: isStart ? time : start };
}

function surest(times: readonly (LogTime | undefined)[]): LogTime | undefined {
  return times
    .filter((time) => time !== undefined)
    .sort(
      (a, b) =>
        Number(a.isZoneGuessed ?? false) - Number(b.isZoneGuessed ?? false) ||
        a.resolutionMs - b.resolutionMs,
    )[0];
}

/** Where both were written to the millisecond. */
function lengthBetween(start: LogTime | undefined, end: LogTime | undefined): number | undefined {
  if (start === undefined || end === undefined) return undefined;
  if (start.resolutionMs > 1 || end.resolutionMs > 1) return undefined;
  return end.wallMs >= start.wallMs ? end.wallMs - start.wallMs : undefined;
}

function endOf(
  { end, start }: WrittenTimes,
  durationMs: number | undefined,
  carriedAt: LogTime | undefined,
): LogTime | undefined {
  const best = surest([end, startedFor(start, durationMs)]);
  if (best === undefined) return carriedAt;
  const ended = inZoneOf(best, carriedAt);
  return isWithin(carriedAt, ended) ? carriedAt : ended;
}

/** Without a duration, when it began: nothing is known of when it was over. */
function startedFor(
  start: LogTime | undefined,
  durationMs: number | undefined,
): LogTime | undefined {
  return start && { ...start, wallMs: (start.wallMs + (durationMs ?? 0)) as WallMs };
}

/** Zones differ by whole quarters of an hour, and a line is carried on soon after it was written. */
const zoneStepMs = 900_000;

function inZoneOf(time: LogTime, carriedAt: LogTime | undefined): LogTime {
  if (time.isZoneGuessed !== true || carriedAt === undefined) return time;
  const steps = Math.round((carriedAt.wallMs - time.wallMs) / zoneStepMs);
  const { resolutionMs } = time;
  return { wallMs: (time.wallMs + steps * zoneStepMs) as WallMs, resolutionMs };
}

/**
 * A runtime stamps a line as it is written, which proxies that do not buffer do at once. A stamp in
 * the very second that the proxy names says where in it.
 */
function isWithin(finer: LogTime | undefined, coarser: LogTime): finer is LogTime {
  if (finer === undefined || finer.resolutionMs >= coarser.resolutionMs) return false;
  const offsetMs = finer.wallMs - coarser.wallMs;
  return offsetMs >= 0 && offsetMs < coarser.resolutionMs;
}

function requestOf(values: LogValues): { method: string | undefined; target: string | undefined } {
  const [, method, target] = /^([A-Z][A-Z-]*) (\S+)/.exec(values.get("request") ?? "") ?? [];
  const path = textOf(values, "request_uri");
  const query = textOf(values, "args");
  const asked = path === undefined || path.includes("?") || query === undefined;
  return {
    method: textOf(values, "request_method") ?? method,
    target: (asked ? path : `${path}?${query}`) ?? target,
  };
}

function hostOf(values: LogValues): string | undefined {
  const host =
    textOf(values, "host") ?? textOf(values, "http_host") ?? textOf(values, "server_name");
  return host && atMost(host.replace(/:\d+$/, ""), nameMost);
}

/** A canary's name stands beside that of the service it stands in for. */
function backendOf(values: LogValues): string | undefined {
  const traefiks = textOf(values, "service_name");
  const service = textOf(values, "service");
  return (
    textOf(values, "proxy_alternative_upstream_name") ??
    textOf(values, "proxy_upstream_name") ??
    (traefiks?.includes("@") === true ? traefiks : undefined) ??
    (service?.includes("/") === false ? service : undefined)
  );
}

/** A service that Kubernetes could have: rubbish names none, and there is no end to rubbish. */
function plausible(service: string | undefined): string | undefined {
  const isName = /^[a-z0-9][a-z0-9.-]{0,62}\/[a-z0-9][a-z0-9.-]{0,62}$/;
  return service !== undefined && isName.test(service) ? service : undefined;
}

/** By the surest word first; a canary's location names the service that it stands in for. */
function serviceOf(
  values: LogValues,
  backend: string | undefined,
  isService: IsService | undefined,
): string | undefined {
  const [, lockstep] = /^([^/\s]+\/[^/:\s]+)(?::\S+)?$/.exec(values.get("service") ?? "") ?? [];
  const [, envoy, envoyNamespace] =
    /^outbound\|\d+\|[^|]*\|([^.|]+)\.([^.|]+)\.svc\./.exec(values.get("upstream_cluster") ?? "") ??
    [];
  if (lockstep !== undefined) return lockstep;
  if (envoy !== undefined) return `${envoyNamespace}/${envoy}`;
  const [, contour] =
    /^([^/|]+\/[^/|]+)\/\d+\/[0-9a-f]+$/.exec(values.get("upstream_cluster") ?? "") ?? [];
  if (contour !== undefined) return contour;
  const [namespace, name] = [textOf(values, "namespace"), textOf(values, "service_name")];
  const isCanary = textOf(values, "proxy_alternative_upstream_name") !== undefined;
  const isNamed = namespace !== undefined && name !== undefined && !name.includes("@");
  if (isNamed && !isCanary) return `${namespace}/${name}`;
  return backend === undefined ? undefined : serviceNamed(backend, isService);
}
