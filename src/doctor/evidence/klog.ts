// Reads log lines of Kubernetes components. The header has been the same since glog: severity,
// month and day, time, process, file and line; no year and no zone. Prefixes of collectors
// (journald, docker's JSON, CRI) are skipped. Lines without a header are not klog lines.

export type KlogSeverity = "info" | "warning" | "error" | "fatal";

export interface KlogLine {
  readonly severity: KlogSeverity;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  /** Since midnight, in the zone of the component. */
  readonly timeOfDayMs: number;
  /** `request.go`. */
  readonly file: string;
  readonly line: number;
  /** Without quotes when the line is structured. */
  readonly message: string;
  /** The values of a structured line; empty for a plain one. */
  readonly values: ReadonlyMap<string, string>;
}

const severities: Readonly<Record<string, KlogSeverity>> = {
  I: "info",
  W: "warning",
  E: "error",
  F: "fatal",
};

/** Spaces may be collapsed, as they are where logs are published. */
const header =
  /(?<![A-Za-z0-9])([IWEF])(\d\d)(\d\d)\s+(\d\d):(\d\d):(\d\d(?:\.\d+)?)\s+\d+\s+([^\s:\]]+):(\d+)\]\s?(.*)$/s;

const quoted = String.raw`"((?:[^"\\]|\\.)*)"`;
const structuredMessage = new RegExp(String.raw`^${quoted}(?=\s|$)`);
const structuredValue = new RegExp(String.raw`\s([\w.\-/]+)=(?:${quoted}|(\S+))`, "g");

export function parseKlogLine(text: string): KlogLine | undefined {
  const found = header.exec(withoutDockerJson(text));
  if (found === null) return undefined;
  const [, letter, month, day, hours, minutes, seconds, file, line, rest] = found;
  const severity = severities[letter ?? ""];
  if (severity === undefined || file === undefined || rest === undefined) return undefined;
  const timeOfDayMs =
    (Number(hours) * 3600 + Number(minutes) * 60) * 1000 + Math.round(Number(seconds) * 1000);
  const at = { severity, month: Number(month), day: Number(day), timeOfDayMs };
  return { ...at, file, line: Number(line), ...contentOf(rest.trimEnd()) };
}

function contentOf(text: string): Pick<KlogLine, "message" | "values"> {
  const message = structuredMessage.exec(text);
  if (message === null) return { message: text, values: new Map() };
  const values = new Map<string, string>();
  for (const [, key, inQuotes, bare] of text.slice(message[0].length).matchAll(structuredValue)) {
    if (key !== undefined) values.set(key, inQuotes === undefined ? (bare ?? "") : plain(inQuotes));
  }
  return { message: plain(message[1] ?? ""), values };
}

/** Docker's log files have a JSON object per line, with the line as its first member. */
function withoutDockerJson(text: string): string {
  const found = new RegExp(String.raw`^\s*\{"log":${quoted}`).exec(text);
  return found === null ? text : plain(found[1] ?? "");
}

const escapes: Readonly<Record<string, string>> = { n: "\n", t: "\t", r: "\r" };

function plain(text: string): string {
  return text
    .replaceAll(/\\u([0-9a-fA-F]{4})/g, (_all, code: string) =>
      String.fromCharCode(Number.parseInt(code, 16)),
    )
    .replaceAll(/\\(.)/gs, (_all, letter: string) => escapes[letter] ?? letter);
}
