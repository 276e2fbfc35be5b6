// One line of any log, as it is found in files and as people paste it: the message of the component,
// without the layers that runtimes, collectors and chats put around it. Header forms of klog, zap,
// logrus, capnslog and nginx are read. A line without a header is a message without a time.

export type LogSeverity = "info" | "warning" | "error" | "fatal";

export interface LogLine {
  readonly severity: LogSeverity | undefined;
  /** Milliseconds on the log's own clock. Without a year in the log, the year is 2000. */
  readonly atMs: number | undefined;
  /** The program, if a layer or the line names it: `kube-apiserver`, or a container's name. */
  readonly program: string | undefined;
  /** `request.go:638`. */
  readonly caller: string | undefined;
  /** Without quotes when the line is structured. */
  readonly message: string;
  /** The values of a structured line; empty for a plain one. */
  readonly values: ReadonlyMap<string, string>;
}

/** A shipper, a runtime and a wrapper may each add one; more is not a log. */
const layersMax = 6;

/** JSON longer than this is an object, not a line of a log. */
const jsonBytesMax = 262_144;

const noValues: ReadonlyMap<string, string> = new Map();

interface Unwrapped {
  readonly text: string;
  readonly atMs: number | undefined;
  readonly program: string | undefined;
}

export function readLogLine(line: string): LogLine {
  let layer: Unwrapped = { text: withoutDecoration(line), atMs: undefined, program: undefined };
  for (let depth = 0; depth < layersMax; depth += 1) {
    const found = contentOf(layer);
    if (found.type === "line") return found.line;
    if (found.type === "plain") break;
    layer = {
      text: found.layer.text,
      atMs: layer.atMs ?? found.layer.atMs,
      program: layer.program ?? found.layer.program,
    };
  }
  const { text, atMs, program } = layer;
  return { severity: undefined, atMs, program, caller: undefined, message: text, values: noValues };
}

type Content =
  | { readonly type: "line"; readonly line: LogLine }
  | { readonly type: "layer"; readonly layer: Unwrapped }
  | { readonly type: "plain" };

const plain: Content = { type: "plain" };

/** Outer layers first; what stands before a header that is not at the start may be a layer, too. */
function contentOf(layer: Unwrapped): Content {
  const { text } = layer;
  const first = klogStart.test(text) ? parseKlogHeader(text) : undefined;
  if (first?.prefix === "") return klogContentOf(layer, first);
  if (text.startsWith("{") && text.length <= jsonBytesMax) return jsonContent(layer);
  const other = prefixContent(text) ?? headerContent(layer);
  if (other !== undefined) return other;
  const klog = parseKlogHeader(text);
  return klog === undefined ? plain : klogContentOf(layer, klog);
}

function klogContentOf(layer: Unwrapped, klog: KlogLine): Content {
  const { prefix, severity, caller, message, values } = klog;
  const program = layer.program ?? programBefore(prefix);
  // klog is the more exact one, unless only the layer has a year.
  const carriedMs = layer.atMs ?? timeBefore(prefix);
  const hasYear = carriedMs !== undefined && carriedMs >= Date.UTC(unknownYear + 1, 0);
  const atMs = hasYear ? carriedMs : klog.atMs;
  return { type: "line", line: { severity, atMs, program, caller, message, values } };
}

// ---- klog: the same header since glog, without a year or a zone ----

interface KlogLine {
  /** The text before the header. */
  readonly prefix: string;
  readonly severity: LogSeverity;
  /** On the component's clock, in the year 2000. */
  readonly atMs: number;
  /** `request.go:638`. */
  readonly caller: string;
  /** Without quotes when the line is structured. */
  readonly message: string;
  /** The values of a structured line; empty for a plain one. */
  readonly values: ReadonlyMap<string, string>;
}

const klogSeverities: Readonly<Record<string, LogSeverity>> = {
  I: "info",
  W: "warning",
  E: "error",
  F: "fatal",
};

/**
 * Spaces may be collapsed, as they are where logs are published. Rancher's page glues its own time to it:
 * `12:17:54 AMI0411 05:17:54.489811`.
 */
const klogHeader =
  /(?:(?<![A-Za-z0-9])|(?<=\d [AP]M))([IWEF])(\d\d)(\d\d)\s+(\d\d):(\d\d):(\d\d(?:\.\d+)?)\s+\d+\s+([^\s:\]]+:\d+)\]\s?/;

const klogStart = /^[IWEF]\d{4}\s/;

const structuredMessage = /^"((?:[^"\\]|\\.)*)"(?=\s|$)/;

/** Undefined for a line without such a header. */
function parseKlogHeader(text: string): KlogLine | undefined {
  // The search is slow; a caller is a Go file.
  const found = text.includes(".go:") ? klogHeader.exec(text) : null;
  if (found === null) return undefined;
  const [whole, letter = "", month, day, hours, minutes, seconds, caller = ""] = found;
  const severity = klogSeverities[letter];
  if (severity === undefined) return undefined;
  const start = Date.UTC(
    unknownYear,
    Number(month) - 1,
    Number(day),
    Number(hours),
    Number(minutes),
  );
  const rest = text.slice(found.index + whole.length).trimEnd();
  return {
    prefix: text.slice(0, found.index),
    severity,
    atMs: start + Math.round(Number(seconds) * 1000),
    caller,
    ...klogContent(rest),
  };
}

function klogContent(text: string): Pick<KlogLine, "message" | "values"> {
  const message = structuredMessage.exec(text);
  if (message === null) return { message: text, values: new Map() };
  const values = keyValues(text.slice(message[0].length));
  return { message: unescaped(message[1] ?? ""), values };
}

// ---- layers in front of a line ----

const rfc3339 = String.raw`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)`;

interface Prefix {
  readonly pattern: RegExp;
  /** Groups: the time and the program, where the layer has them. */
  readonly groups: { readonly at?: number; readonly program?: number };
}

const prefixes: readonly Prefix[] = [
  // CRI: `2026-11-15T20:31:31.123456789Z stdout F `.
  { pattern: new RegExp(`^(${rfc3339}) (?:stdout|stderr) [FP] `), groups: { at: 1 } },
  // `kubectl logs --prefix`: `[pod/name/container] `.
  { pattern: /^\[pod\/[^\]\s/]+\/([^\]\s]+)\] /, groups: { program: 1 } },
  // syslog and journald, with the host left out by some people.
  {
    pattern:
      /^(?:<\d{1,3}>)?([A-Za-z][a-zéû]{2,3}\.? +\d{1,2} \d\d:\d\d:\d\d(?:\.\d+)?) (?:\S+ )?([^\s:[\]]+)(?:\[\d+\])?: /,
    groups: { at: 1, program: 2 },
  },
  {
    pattern: new RegExp(String.raw`^(${rfc3339}) \S+ ([^\s:[\]]+)\[\d+\]: `),
    groups: { at: 1, program: 2 },
  },
  // docker compose and Rancher: `kube-apiserver  | `.
  { pattern: /^([A-Za-z][\w.-]*) +\| /, groups: { program: 1 } },
  // `kubectl logs --timestamps`, and collectors.
  {
    pattern: new RegExp(String.raw`^(${rfc3339})\s+(?=[IWEF]\d{4} |\{|time=|level=|\d{4}[-/])`),
    groups: { at: 1 },
  },
  // A date alone, as people cut journald's lines.
  { pattern: /^[A-Z][a-z]{2} +\d{1,2} +(?=Trace\[)/, groups: {} },
  // kail: `namespace/pod[container]: `.
  { pattern: /^[a-z0-9-]+\/[a-z0-9.-]+\[([a-z0-9-]+)\]: /, groups: { program: 1 } },
];

function prefixContent(text: string): Content | undefined {
  for (const { pattern, groups } of prefixes) {
    const match = pattern.exec(text);
    if (match === null) continue;
    const at = groups.at === undefined ? undefined : match[groups.at];
    const program = groups.program === undefined ? undefined : match[groups.program];
    const atMs = at === undefined ? undefined : timeOf(at);
    return { type: "layer", layer: { text: text.slice(match[0].length), atMs, program } };
  }
  return undefined;
}

/** Markdown quotes, list marks and code marks, and colours of a terminal. */
function withoutDecoration(line: string): string {
  const text = line.includes("\u001b") ? line.replaceAll(colours, "") : line;
  const trimmed = text.replace(/^[\s>]*(?:[-*] )?`*/, "").trimEnd();
  let end = trimmed.length;
  while (trimmed[end - 1] === "`") end -= 1;
  return trimmed.slice(0, end);
}

const colours = new RegExp(String.raw`${"\u001b"}\[[0-9;]*m`, "g");

/** Of what stands before a klog header: a unit, a container or a pod's name. */
function programBefore(prefix: string): string | undefined {
  if (prefix === "") return undefined;
  const unit = /(\S+?)(?:\[\d+\])?:\s*$/.exec(prefix) ?? /([A-Za-z][\w.-]*)\s+\|\s*$/.exec(prefix);
  if (unit?.[1] !== undefined) return unit[1];
  // stern: `pod container `.
  const pair = /^(?:\S+ )?([a-z][\w.-]*-[\w.-]+) ([a-z][\w-]*)\s*$/.exec(prefix);
  return pair?.[2];
}

function timeBefore(prefix: string): number | undefined {
  if (prefix === "") return undefined;
  const found = new RegExp(rfc3339).exec(prefix);
  return found === null ? undefined : timeOf(found[0]);
}

// ---- JSON: docker, fluentd, klog, zap, logrus ----

const timeKeys = ["ts", "time", "timestamp", "@timestamp", "t"];
const messageKeys = ["msg", "message", "MESSAGE", "log"];
const callerKeys = ["caller", "source", "logger"];
const levelKeys = ["level", "lvl", "severity"];
const ownKeys = new Set([...timeKeys, ...messageKeys, ...callerKeys, ...levelKeys, "stream", "v"]);

function jsonContent(layer: Unwrapped): Content {
  const object = parseObject(layer.text) ?? cutObject(layer.text);
  if (object === undefined) return dockerStart(layer) ?? plain;
  const message = firstText(object, messageKeys);
  if (message === undefined) return plain;
  const at = firstText(object, timeKeys);
  const atMs = layer.atMs ?? (at === undefined ? undefined : timeOf(at));
  const program = layer.program ?? programOf(object);
  const text = withoutDecoration(message);
  const isWrapper = "log" in object || parseKlogHeader(text) !== undefined || text.startsWith("{");
  if (isWrapper) return { type: "layer", layer: { text, atMs, program } };
  const values = new Map<string, string>();
  for (const [key, value] of Object.entries(object)) {
    if (!ownKeys.has(key))
      values.set(key, typeof value === "string" ? value : JSON.stringify(value));
  }
  const severity = severityOf(firstText(object, levelKeys));
  const caller = firstText(object, callerKeys);
  return { type: "line", line: { severity, atMs, program, caller, message: text, values } };
}

/** Docker's JSON, cut off at its end as people paste it. */
function dockerStart({ text, atMs, program }: Unwrapped): Content | undefined {
  const match = /^\{"log":"((?:[^"\\]|\\.)*)/.exec(text);
  if (match?.[1] === undefined) return undefined;
  return { type: "layer", layer: { text: unescaped(match[1]).trim(), atMs, program } };
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

const textPair = /"([\w@. -]{1,64})":(?:"((?:[^"\\]|\\.)*)"|(-?\d[\d.]*)(?=[,}]))/g;

/** The first values of JSON that was cut off; of one name the outermost is the first one. */
function cutObject(text: string): Readonly<Record<string, unknown>> | undefined {
  if (!text.startsWith('{"') || text.startsWith('{"log":')) return undefined;
  const object: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [, key = "", quoted, bare] of text.matchAll(textPair)) {
    object[key] ??= quoted === undefined ? (bare ?? "") : unescaped(quoted);
  }
  return Object.keys(object).length === 0 ? undefined : object;
}

function firstText(
  object: Readonly<Record<string, unknown>>,
  keys: readonly string[],
): string | undefined {
  for (const key of keys) {
    const value = object[key];
    if (typeof value === "string") return value;
    if (typeof value === "number") return String(value);
  }
  return undefined;
}

function programOf(object: Readonly<Record<string, unknown>>): string | undefined {
  const kubernetes = object["kubernetes"];
  if (typeof kubernetes === "object" && kubernetes !== null) {
    const name = (kubernetes as Record<string, unknown>)["container_name"];
    if (typeof name === "string") return name;
  }
  return firstText(object, ["container_name", "container", "_COMM", "SYSLOG_IDENTIFIER"]);
}

// ---- other headers ----

interface HeaderForm {
  readonly pattern: RegExp;
  read(groups: readonly (string | undefined)[]): Omit<LogLine, "program">;
}

const headerForms: readonly HeaderForm[] = [
  {
    // logrus: `time="…" level=info msg="…" key=value`, whose time some programs leave out.
    pattern: /^(?:time="?([^"\s]+(?: [^"\s]+)*?)"? )?level=(\w+) (.*)$/s,
    read([at, level, rest]) {
      const values = keyValues(` ${rest ?? ""}`);
      const message = values.get("msg") ?? "";
      values.delete("msg");
      const severity = severityOf(level);
      return { severity, atMs: timeOf(at ?? ""), caller: undefined, message, values };
    },
  },
  {
    // capnslog: `2019-05-11 12:16:48.055669 W | etcdserver: read-only range request …`.
    pattern: /^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?) ([CEWNID]) \| (\w+): (.*)$/s,
    read([at, letter, caller, message]) {
      const severity = capnslogSeverities[letter ?? ""];
      return { severity, atMs: timeOf(at ?? ""), caller, message: message ?? "", values: noValues };
    },
  },
  {
    // nginx: `2021/07/08 19:44:28 [error] 43#43: *5131 connect() failed …`.
    pattern: /^(\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d) \[(\w+)\] \d+#\d+: (?:\*\d+ )?(.*)$/s,
    read([at, level, message]) {
      const atMs = timeOf((at ?? "").replaceAll("/", "-"));
      return {
        severity: severityOf(level),
        atMs,
        caller: "nginx",
        message: message ?? "",
        values: noValues,
      };
    },
  },
  {
    // zap's console form, with tabs: time, level, (logger,) caller, message, JSON.
    pattern: /^(\S+)\t(DEBUG|INFO|WARN|ERROR|FATAL|debug|info|warn|error|fatal)\t(.*)$/s,
    read([at, level, rest]) {
      const parts = (rest ?? "").split("\t");
      const json =
        parts.at(-1)?.startsWith("{") === true ? parseObject(parts.pop() ?? "") : undefined;
      const caller = parts.find((part) => /^[\w./@-]+\.go:\d+$/.test(part));
      const message = parts.filter((part) => part !== caller).at(-1) ?? "";
      const values = new Map(
        Object.entries(json ?? {}).map(([key, value]) => [
          key,
          typeof value === "string" ? value : JSON.stringify(value),
        ]),
      );
      return { severity: severityOf(level), atMs: timeOf(at ?? ""), caller, message, values };
    },
  },
  {
    // The end of a klog header, as people cut it: `97555 request.go:655] Throttling …`.
    pattern: /^(?:\d+\s+)?([\w-]+\.go:\d+)\]\s*(.*)$/s,
    read([caller, message]) {
      return {
        severity: undefined,
        atMs: undefined,
        caller,
        message: message ?? "",
        values: noValues,
      };
    },
  },
];

const capnslogSeverities: Readonly<Record<string, LogSeverity>> = {
  C: "fatal",
  E: "error",
  W: "warning",
  N: "info",
  I: "info",
  D: "info",
};

function headerContent({ text, atMs, program }: Unwrapped): Content | undefined {
  for (const form of headerForms) {
    const match = form.pattern.exec(text);
    if (match === null) continue;
    const line = form.read(match.slice(1));
    const klog = parseKlogHeader(line.message);
    if (klog !== undefined) {
      return { type: "layer", layer: { text: line.message, atMs: atMs ?? line.atMs, program } };
    }
    return { type: "line", line: { ...line, atMs: atMs ?? line.atMs, program } };
  }
  return undefined;
}

const pair = /\s([\w.\-/@]+)=(?:"((?:[^"\\]|\\.)*)"|(\S*))/g;

/** `key="text" key=3`, each after a space. */
export function keyValues(text: string): Map<string, string> {
  const values = new Map<string, string>();
  for (const [, key, quoted, bare] of text.matchAll(pair)) {
    if (key !== undefined) values.set(key, quoted === undefined ? (bare ?? "") : unescaped(quoted));
  }
  return values;
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

/** A JSON or Go string without its quotes. */
export function unescaped(text: string): string {
  if (!text.includes("\\")) return text;
  return text.replaceAll(
    /\\(?:u([0-9a-fA-F]{4})|(.))/gs,
    (_all, code: string | undefined, letter: string) =>
      code === undefined
        ? (escapes[letter] ?? letter)
        : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

function severityOf(level: string | undefined): LogSeverity | undefined {
  const word = (level ?? "").toLowerCase();
  if (/^(?:fatal|panic|crit|critical|alert|emerg|dpanic)$/.test(word)) return "fatal";
  if (/^(?:err|error)$/.test(word)) return "error";
  if (/^warn(?:ing)?$/.test(word)) return "warning";
  return /^(?:info|debug|notice|trace)$/.test(word) ? "info" : undefined;
}

const monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec";

/** Logs without a year: a leap year, so that each day exists. */
export const unknownYear = 2000;

/** A time without a zone counts as UTC; undefined for text that is no time. */
function timeOf(text: string): number | undefined {
  const epoch = /^\d{9,19}(?:\.\d+)?$/.test(text) ? Number(text) : undefined;
  if (epoch !== undefined) {
    let ms = epoch;
    while (ms > 1e14) ms /= 1000;
    return ms > 1e11 ? ms : ms * 1000;
  }
  const syslog = /^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d(?:\.\d+)?)$/.exec(text);
  if (syslog !== null) {
    const [, month = "", day, hours, minutes, seconds] = syslog;
    const index = monthNames.indexOf(month) / 3;
    if (!Number.isInteger(index) || index < 0) return undefined;
    const start = Date.UTC(unknownYear, index, Number(day), Number(hours), Number(minutes));
    return start + Number(seconds) * 1000;
  }
  const iso = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:?\d\d)?$/.exec(text);
  if (iso === null) return undefined;
  const [, day, clock, fraction = "0", zone = "Z"] = iso;
  const offset = zone === "Z" || zone.includes(":") ? zone : `${zone.slice(0, 3)}:${zone.slice(3)}`;
  const ms = Date.parse(`${day}T${clock}${offset}`);
  return Number.isNaN(ms) ? undefined : ms + Number(`0.${fraction}`) * 1000;
}
