// Removes the prefix that container runtimes, kubectl and journald put before a line of a log. Its
// time is kept: it is often more exact than the proxy's own.
import { type LogTime, logTime } from "./log-time.ts";

export interface CarriedLine {
  /** The proxy's own line. */
  readonly text: string;
  /** When it was written, by the outermost who says so. */
  readonly carriedAt: LogTime | undefined;
  /** A container runtime has cut the line here; the rest follows in a line of its own. */
  readonly isPartial: boolean;
}

/** Each takes off one layer: a shipper may have put several around a line. */
const layersMax = 4;

/** `[pod/name/container] `, as of `kubectl logs --prefix`; docker compose's `name  | `. */
const kubectlPrefix = /^\[pod\/[^\]\s]+\] /;
const composePrefix = /^[A-Za-z0-9._-]+ +\| /;
/** `2026-11-15T20:31:31.123456789Z stdout F `. */
const criPrefix =
  /^(\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})) (?:stdout|stderr) ([FP])(?: |$)/;
/** `2026-11-15T20:31:31.123456789Z `, as of `kubectl logs --timestamps`. */
const timePrefix = /^(\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|[+-]\d{2}:?\d{2})) /;
/** `pod container `, as of stern, with the namespace before them; only where a log line follows. */
const sternPrefix =
  /^(?:[a-z0-9-]+ )?[a-z][a-z0-9.-]*-[a-z0-9]+ [a-z0-9]+(?:-[a-z0-9]+)* (?=\d+\.\d+\.|[[{]|[0-9a-f]*:)/;
/** `namespace/pod[container]: `, as of kail, and kubetail's `[pod container] `. */
const kailPrefix = /^[a-z0-9-]+\/[a-z0-9.-]+\[[a-z0-9-]+\]: /;
const kubetailPrefix = /^\[[a-z][a-z0-9.-]*-[a-z0-9]+(?: [a-z0-9-]+)?\] /;
/** `{app="ingress"} `, as of logcli. */
const lokiPrefix = /^\{(?:[A-Za-z_]\w*="[^"]*"(?:, ?)?)+\} +/;
/** `<190>1 2026-11-15T20:31:31.123Z host nginx 12 - - `, syslog's newer form. */
const syslogHeader =
  /^<\d{1,3}>1 (\d{4}-\d{2}-\d{2}T[0-9:.]+(?:Z|[+-]\d{2}:\d{2})) \S+ \S+ \S+ \S+ (?:-|\[[^\]]*\]) \uFEFF?/;
/** `<190>Nov 15 20:31:31 host nginx[12]: `, and journald's short forms. */
const syslogPrefix =
  /^(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d{2}:\d{2}:\d{2}(?:\.\d+)?|\d{4}-\d{2}-\d{2}T[0-9:.,]+(?:Z|[+-]\d{2}:?\d{2})) \S+ [^\s:[\]]+(?:\[\d+\])?: /;

export function withoutPrefix(line: string): CarriedLine {
  let text = line;
  let carriedAt: LogTime | undefined;
  for (let layer = 0; layer < layersMax; layer += 1) {
    const cri = criPrefix.exec(text);
    if (cri !== null) {
      const [prefix, time = "", tag] = cri;
      const rest = text.slice(prefix.length);
      return { text: rest, carriedAt: carriedAt ?? logTime(time), isPartial: tag === "P" };
    }
    const other = firstMatch(text);
    if (other === undefined) break;
    if (other[1] !== undefined) carriedAt ??= logTime(other[1]);
    text = text.slice(other[0].length);
  }
  return { text, carriedAt, isPartial: false };
}

const prefixes = [
  syslogPrefix,
  syslogHeader,
  kubectlPrefix,
  kubetailPrefix,
  composePrefix,
  timePrefix,
  lokiPrefix,
  kailPrefix,
  sternPrefix,
];

function firstMatch(text: string): RegExpExecArray | undefined {
  for (const prefix of prefixes) {
    const match = prefix.exec(text);
    if (match !== null) return match;
  }
  return undefined;
}
