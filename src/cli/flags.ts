// Values of flags, for all commands alike: how each kind of value is read, and the sentence that says
// how to correct a wrong one. A reader throws `InvalidArgumentError`. The command line then prints the
// flag, the value and that sentence; a config file adds its line and column instead.
// Rules about two flags together, and problems with the files and addresses they name, are `UsageError`s.
import { resolve as absolute } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { LogFormat, LogFormatError } from "../access-log/log-format.ts";
import type { WallMs } from "../environment/clock.ts";
import { parseGoDuration } from "../environment/go-duration.ts";
import { isIp, parseNetwork } from "../environment/ip-address.ts";
import { UsageError } from "./command.ts";

/** Throws `InvalidArgumentError` with a sentence that begins "It must be". */
export type Read<Value> = (text: string) => Value;

export function refuse(sentence: string): never {
  throw new InvalidArgumentError(sentence);
}

export function anyText(text: string): string {
  return text === "" ? refuse("It must not be empty.") : text;
}

/** Relative to the working directory. */
export function filePath(text: string): string {
  return absolute(anyText(text));
}

export function wholeNumber(from: number, to: number): Read<number> {
  return (text) => {
    const value = Number(text);
    if (text.trim() !== "" && Number.isInteger(value) && value >= from && value <= to) return value;
    return refuse(`It must be a whole number from ${from} to ${to}.`);
  };
}

export const portNumber = wholeNumber(1, 65_535);

/** One port, or all of a range: `8090`, `9000-9009`. */
export function portRange(text: string): readonly number[] {
  const [, first = "", last = first] = /^(\d+)(?:-(\d+))?$/.exec(text) ?? [];
  const [from, to] = [Number(first), Number(last)];
  if (first === "" || from < 1 || to > 65_535 || from > to) {
    return refuse("It must be a port from 1 to 65535, or a range such as 9000-9009.");
  }
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Also 0, for any free port. */
export const portOrAny = wholeNumber(0, 65_535);

export const randomSeed = wholeNumber(0, 2 ** 31 - 1);

/** More requests a second would harm the other clients of an API server. */
export const clientQps = wholeNumber(1, 1_000);

export function choice<Name extends string>(names: readonly Name[]): Read<Name> {
  return (text) =>
    names.find((name) => name === text) ?? refuse(`It must be one of ${names.join(", ")}.`);
}

export function ipAddress(text: string): string {
  return isIp(text) ? text : refuse("It must be an IP address.");
}

/** `10.0.0.0/8`, or a single address. */
export function network(text: string): string {
  if (parseNetwork(text) !== undefined) return text;
  return refuse("It must be an IP address or a network such as 10.0.0.0/8.");
}

export function objectName(text: string): { readonly namespace: string; readonly name: string } {
  const [, namespace, name] = /^([^/\s]+)\/([^/\s]+)$/.exec(text) ?? [];
  if (namespace !== undefined && name !== undefined) return { namespace, name };
  return refuse("It must be namespace/name, such as shop/web.");
}

/** `shop/web`. */
export function serviceName(text: string): string {
  objectName(text);
  return text;
}

const secondMs = 1_000;
const hourMs = 3_600 * secondMs;
const dayMs = 24 * hourMs;

interface DurationBounds {
  readonly fromMs?: number;
  readonly toMs: number;
  /** Accept days too: `7d`, `1d12h`. */
  readonly days?: boolean;
}

/** In milliseconds: `500ms`, `5s`, `1m30s`; 0 needs no unit. */
export function duration({ fromMs = 0, toMs, days = false }: DurationBounds): Read<number> {
  return (text) => {
    const ms = (days ? parseLongDuration(text) : parseGoDuration(text)) ?? -1;
    if (ms >= fromMs && ms <= toMs) return ms;
    const examples = days ? "90s, 12h or 7d" : "500ms, 5s or 1m30s";
    const bounds =
      fromMs === 0 ? `up to ${shortText(toMs)}` : `from ${shortText(fromMs)} to ${shortText(toMs)}`;
    return refuse(`It must be a duration such as ${examples}, ${bounds}.`);
  };
}

/** `50ms`, `90s`, `1m`, `1h`, `365d`: as it can be typed. */
function shortText(ms: number): string {
  if (ms > dayMs && ms % dayMs === 0) return `${ms / dayMs}d`;
  if (ms % hourMs === 0) return `${ms / hourMs}h`;
  if (ms % 60_000 === 0) return `${ms / 60_000}m`;
  return ms % secondMs === 0 ? `${ms / secondMs}s` : `${ms}ms`;
}

/** Also with days: `7d`, `1d12h`. Undefined when the text is no duration. */
function parseLongDuration(text: string): number | undefined {
  const [, days, rest = ""] = /^(?:(\d+(?:\.\d+)?)d)?(.*)$/.exec(text) ?? [];
  if (days === undefined) return parseGoDuration(text);
  const more = rest === "" ? 0 : parseGoDuration(rest);
  return more === undefined ? undefined : Number(days) * dayMs + more;
}

/** A duration (`90s`, `1h30m`, `7d`), or an instant (`2026-03-01T12:00:00Z`; without a zone: local time). */
export type TimeGiven =
  | { readonly type: "duration"; readonly ms: number; readonly text: string }
  | { readonly type: "instant"; readonly wallMs: WallMs; readonly text: string };

/** Ten years: nothing was recorded before. */
const longestAgoMs = 3_650 * dayMs;

/** `meaning` says what a duration counts from: "how long ago". */
export function timeGiven(meaning: string): Read<TimeGiven> {
  return (text) => {
    const ms = parseLongDuration(text);
    if (ms !== undefined && ms >= 0 && ms <= longestAgoMs) return { type: "duration", ms, text };
    // `Date.parse` accepts a bare number; in a flag it is a mistake.
    const wallMs = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN;
    if (!Number.isNaN(wallMs)) return { type: "instant", wallMs: wallMs as WallMs, text };
    return refuse(
      `It must be a time such as 2026-03-01T12:00:00Z, or ${meaning}: 90s, 1h30m or 7d.`,
    );
  };
}

export const timeAgo = timeGiven("how long ago");

/** Of a time whose duration counts back from now. */
export function instantOf(given: TimeGiven, nowMs: WallMs): WallMs {
  return given.type === "instant" ? given.wallMs : ((nowMs - given.ms) as WallMs);
}

const unitBytes: Readonly<Record<string, number>> = { K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 };

/** `500M`, `2G`, in powers of 1,024. The minimum is a whole number of MiB. */
export function byteSize(minBytes: number): Read<number> {
  return (text) => {
    const [, digits, unit = ""] = /^(\d+)([KMG])?i?B?$/i.exec(text) ?? [];
    const bytes = Number(digits) * (unitBytes[unit.toUpperCase()] ?? 1);
    if (bytes >= minBytes) return bytes;
    return refuse(`It must be a size such as 500M or 2G, at least ${minBytes / 2 ** 20}M.`);
  };
}

/** A flag that may be given more than once; the values keep their order. */
export function listOf<Value>(
  read: Read<Value>,
): (text: string, earlier?: readonly Value[]) => readonly Value[] {
  return (text, earlier = []) => [...earlier, read(text)];
}

/** As `log_format` of nginx. */
export function logFormat(format: string): LogFormat {
  try {
    return new LogFormat({ name: "--log-format", format });
  } catch (error) {
    if (!(error instanceof LogFormatError)) throw error;
    return refuse("It must be a log_format of nginx with $status, so that requests can be judged.");
  }
}

/** The same words in every command that reads clusters. */
export const kubeconfigHelp = "kubeconfig file (default: $KUBECONFIG or ~/.kube/config)";

export interface ContextFlags {
  readonly context: readonly string[];
  readonly allContexts: boolean;
  readonly kubeconfig?: string;
  readonly namespace: readonly string[];
  readonly maxQps?: number;
}

/** The flags of a command that watches clusters. */
export function addContextFlags(command: Command): Command {
  return command
    .option(
      "--context <name>",
      "context, or name=context; repeatable (default: the current context)",
      listOf(anyText),
      [],
    )
    .option("--all-contexts", "every cluster in the kubeconfig, by its first context", false)
    .option("--kubeconfig <file>", kubeconfigHelp)
    .option("--namespace <name>", "only this namespace; repeatable", listOf(anyText), [])
    .option("--max-qps <n>", "maximum requests a second to each cluster", clientQps);
}

/** Each flag with whether it was given. */
type Given = Readonly<Record<string, boolean>>;

/** Refuses two flags that exclude each other. */
export function refuseBoth(flags: Given): void {
  const given = Object.entries(flags).flatMap(([flag, isGiven]) => (isGiven ? [flag] : []));
  if (given.length < 2) return;
  throw new UsageError(`${given.join(" and ")} cannot be used together: remove one of them.`);
}

/** Refuses a flag that means nothing without another one. */
export function refuseWithout(needed: string, isNeededGiven: boolean, flags: Given): void {
  const [flag] = Object.entries(flags).find(([, isGiven]) => isGiven) ?? [];
  if (isNeededGiven || flag === undefined) return;
  throw new UsageError(`${flag} needs ${needed}: add ${needed}, or remove ${flag}.`);
}

type ErrorKind = new (...args: never[]) => Error;

/** Runs the work. An error of one of these kinds becomes a `UsageError`, for example an unreadable file. */
export async function asUsage<Result>(
  kinds: readonly ErrorKind[],
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    return throwAsUsage(kinds, error);
  }
}

/** Throws an error of one of these kinds as a `UsageError`, any other error unchanged. */
export function throwAsUsage(kinds: readonly ErrorKind[], error: unknown, before = ""): never {
  if (!(error instanceof Error) || !kinds.some((kind) => error instanceof kind)) throw error;
  throw new UsageError(`${before}${error.message}`, { cause: error });
}
