// Reads a proxy's access log line by line, each by its own format: a pod's log mixes lines of its
// proxy, its controller and its runtime, and formats change while a proxy runs. No line can make it
// fail; lines that were not understood are counted, with an example and the expected format.
import type { Line } from "../environment/line-splitter.ts";
import type { AccessLogEntry } from "./access-log-entry.ts";
import { albFormat, albValues } from "./alb-line.ts";
import type { IsService } from "./backend-name.ts";
import { readJsonLine, variableNamed } from "./json-line.ts";
import { exactFormats, knownFormats, labelledFormat, labelsVariable } from "./known-formats.ts";
import { withoutPrefix } from "./line-prefix.ts";
import type { LogFormat, LogValues } from "./log-format.ts";
import { type LogTime, logTime } from "./log-time.ts";
import { type EntryContext, entryOf } from "./log-values.ts";

/** Twice the longest request line and headers that nginx takes by default (4 × 8 kB). */
export const lineBytesMax = 65_536;

export type LogLine = Pick<Line, "number" | "text" | "isCut">;

export interface AccessLogParserOptions {
  /** Looked for before all others: the format that the proxy was configured with. */
  readonly format?: LogFormat | undefined;
  /** Resolves a name that could mean several services. */
  readonly isService?: IsService | undefined;
}

/** The results for the lines. */
export interface AccessLogReport {
  readonly lines: number;
  /** By the format's name. */
  readonly entries: ReadonlyMap<string, number>;
  /** Lines of an error log or of a controller, which a pod's log has between the others. */
  readonly otherLines: number;
  readonly notUnderstood: number;
  /** The first of them. */
  readonly example: LineProblem | undefined;
  /** Entries whose format does not name the endpoints that were tried. */
  readonly withoutEndpoints: number;
}

export interface LineProblem {
  readonly line: number;
  /** A piece of it, with everything spelled out that is more than text to a terminal. */
  readonly excerpt: string;
  /** A sentence: why it was not understood and what was expected. */
  readonly problem: string;
}

const expected =
  "expected nginx's combined format, ingress-nginx's, Envoy's, Traefik's, APISIX's, AWS ALB's, or a " +
  "JSON object with nginx's variables; give the proxy's log_format with --log-format if it has another";

/** `[03/Mar/2026:09:01:45.655] frontend backend/server 10/0/30/69/109 200`, as of HAProxy. */
const haproxyLine =
  /\[\d{2}\/\w{3}\/\d{4}:[\d:.]+\] \S{1,200} \S{1,200}\/\S{1,200} -?\d+\/-?\d+\/[-+\d/]+ \d{3} /;

const haproxyProblem =
  "this is the format of HAProxy, which has server names instead of addresses; use a log-format with " +
  'JSON that contains {"start_time":"%trl","duration_ms":%Ta,"status":%ST,"upstream_addr":"%si:%sp"}';

/** Seconds since 1970, a space and a status: no line with a request is shorter. */
const requestLengthMin = 14;

/** Enough to recognise a line by. */
const excerptMax = 120;

/** Envelopes in envelopes: a shipper may have read what another wrote. */
const envelopesMax = 3;

/** klog's header, nginx's error log, and the frame of ingress-nginx's greeting. */
const otherLine =
  /^(?:[IWEF]\d{4} \d{2}:\d{2}:\d{2}\.\d+ |\d{4}\/\d{2}\/\d{2} \d{2}:\d{2}:\d{2} \[\w+\] |-{20,}$)/;

/**
 * Lockstep's own log and greeting, beside the access log that `lockstep ingress` prints. A field of
 * such a line may have the name of a request's, so these are known by how they begin.
 */
const ownLine = new RegExp(
  "^(?:" +
    '\\{"level":"(?:debug|info|warn|error)","time":"|' +
    "● serving | {2}(?:pods (?:of|from) |truth table: |endpoints and reasons: )|Stopping: )",
);

interface Found {
  readonly format: string;
  readonly values: LogValues;
  readonly carriedAt: LogTime | undefined;
}

export class AccessLogParser {
  readonly #options: AccessLogParserOptions;
  readonly #entries = new Map<string, number>();
  /** The first part of a line that a container runtime cut. */
  #partial = "";
  /** The exact format that was read last: most logs have one. */
  #latest: LogFormat | undefined;
  #lines = 0;
  #otherLines = 0;
  #notUnderstood = 0;
  #withoutEndpoints = 0;
  #example: LineProblem | undefined;

  constructor(options: AccessLogParserOptions = {}) {
    this.#options = options;
  }

  get report(): AccessLogReport {
    return {
      lines: this.#lines,
      entries: new Map(this.#entries),
      otherLines: this.#otherLines,
      notUnderstood: this.#notUnderstood,
      example: this.#example,
      withoutEndpoints: this.#withoutEndpoints,
    };
  }

  /** The request in the line; undefined when it has none. Never throws. */
  read({ number, text, isCut }: LogLine): AccessLogEntry | undefined {
    this.#lines += 1;
    if (text.length < requestLengthMin && this.#partial === "") {
      return text.trim() === "" ? undefined : this.#refuse(number, text, () => expected);
    }
    const { text: own, carriedAt, isPartial } = withoutPrefix(text);
    // One character more than a line may have, to know of one that is too long.
    const whole = `${this.#partial}${own}`.slice(0, lineBytesMax + 1);
    this.#partial = isPartial ? whole : "";
    if (isPartial || whole.trim() === "") return undefined;
    if (isCut || whole.length > lineBytesMax) {
      return this.#refuse(number, whole, () => `it is longer than ${lineBytesMax} bytes`);
    }
    const found = this.#values(whole, carriedAt);
    if (found === undefined || found === "own line") {
      if (found === "own line" || otherLine.test(whole)) {
        this.#otherLines += 1;
        return undefined;
      }
      return this.#refuse(number, whole, () => expectedOf(whole));
    }
    const { isService } = this.#options;
    return this.#entry(found, { line: number, carriedAt: found.carriedAt, isService }, whole);
  }

  #entry({ format, values }: Found, context: EntryContext, text: string) {
    const read = entryOf(values, context);
    if ("problem" in read) {
      return this.#refuse(context.line, text, () => `${read.problem}; ${expected}`);
    }
    this.#entries.set(format, (this.#entries.get(format) ?? 0) + 1);
    if (!values.has("upstream_addr")) this.#withoutEndpoints += 1;
    return read.entry;
  }

  /** Only the first is explained: looking closer at every line would take its time. */
  #refuse(line: number, text: string, problem: () => string): undefined {
    this.#notUnderstood += 1;
    this.#example ??= { line, excerpt: excerptOf(text), problem: problem() };
  }

  #values(line: string, carriedAt: LogTime | undefined): Found | "own line" | undefined {
    const { format } = this.#options;
    let text = line;
    let time = carriedAt;
    for (let envelope = 0; envelope < envelopesMax; envelope += 1) {
      if (ownLine.test(text)) return "own line";
      // A format that the caller gave may look like JSON and have names of its own.
      const given = format?.read(text);
      if (format !== undefined && given !== undefined) {
        return { format: format.name, values: given, carriedAt: time };
      }
      const json = text.startsWith("{") ? readJsonLine(text) : undefined;
      if (json === undefined) return this.#textValues(text, time);
      if (json.type === "values") return { format: "JSON", values: json.values, carriedAt: time };
      time ??= logTime(json.time ?? "");
      const inner = withoutPrefix(json.line.replace(/\r?\n$/, ""));
      time ??= inner.carriedAt;
      text = inner.text;
    }
    return undefined;
  }

  #textValues(text: string, carriedAt: LogTime | undefined): Found | undefined {
    const latest = this.#latest;
    const formats = latest === undefined ? knownFormats : [latest, ...knownFormats];
    for (const format of formats) {
      const values = format.read(text);
      if (values === undefined) continue;
      const found = { format: format.name, carriedAt };
      if (format === labelledFormat) return { ...found, values: withLabels(values) };
      if (exactFormats.includes(format)) this.#latest = format;
      if (format === albFormat) return { ...found, values: albValues(values) };
      return { ...found, values };
    }
    return undefined;
  }
}

/** Further values of `labelledFormat`: `rt=0.012 ua="10.0.0.1:80, 10.0.0.2:80"`. */
function withLabels(values: LogValues): LogValues {
  const all = new Map(values);
  const labels = values.get(labelsVariable) ?? "";
  for (const [, name = "", quoted, bare] of labels.matchAll(
    /([A-Za-z_][\w-]{0,40})(?:=|: ?)(?:"([^"]*)"|([^\s",]*(?:(?:, | : )[^\s",=]+)*))/g,
  )) {
    const variable = shortLabels.get(name) ?? variableNamed(name);
    if (variable !== undefined && !all.has(variable)) all.set(variable, quoted ?? bare ?? "");
  }
  return all;
}

/** nginx's own examples and those of its monitoring shorten the names. */
const shortLabels: ReadonlyMap<string, string> = new Map([
  ["rt", "request_time"],
  ["ua", "upstream_addr"],
  ["us", "upstream_status"],
  ["ut", "upstream_response_time"],
  ["urt", "upstream_response_time"],
  ["uht", "upstream_header_time"],
  ["ul", "upstream_response_length"],
]);

function expectedOf(line: string): string {
  return haproxyLine.test(line) ? haproxyProblem : expected;
}

function excerptOf(text: string): string {
  const piece = text.length > excerptMax ? `${text.slice(0, excerptMax)}…` : text;
  return piece.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, "0")}` : `\\u{${code.toString(16)}}`;
  });
}
