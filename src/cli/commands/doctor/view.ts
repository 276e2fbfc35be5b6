// How a diagnosis is printed: for a terminal, as JSON, or as Markdown for an incident channel.

import { visible } from "../../../decide/routing/shown-text.ts";
import { allCauses, type Diagnosis } from "../../../doctor/diagnose.ts";
import type { JourneyEvidence } from "../../../doctor/evidence/evidence.ts";
import type { ObjectFacts } from "../../../doctor/evidence/objects.ts";
import { publishedLag } from "../../../doctor/evidence/published-lag.ts";
import type { ReadSummary } from "../../../doctor/evidence/read-paths.ts";
import { placeText, type SignGroup } from "../../../doctor/evidence/sign-log.ts";
import { type Finding, pageOf } from "../../../doctor/finding.ts";
import type { AnonymousTexts } from "../../../doctor/report/anonymous.ts";
import type { Difference } from "../../../doctor/report/differences.ts";
import { jsonReport } from "../../../doctor/report/json.ts";
import { markdownLines } from "../../../doctor/report/markdown.ts";
import { withoutSecrets, withTexts } from "../../../doctor/report/redacted.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import { findingText } from "../../terminal/finding-text.ts";
import { jsonLine } from "../../terminal/json-line.ts";
import { wrapText } from "../../terminal/text.ts";
import type { LiveSummary } from "./live.ts";

export interface Examined extends ReadSummary {
  readonly signs: readonly SignGroup[];
  readonly objects: ObjectFacts;
  /** Undefined when none were observed. */
  readonly changes: JourneyEvidence | undefined;
  /** Processes whose metrics were read twice. */
  readonly metrics: number;
  /** From a second body of evidence; undefined unless one was given. */
  readonly differences?: readonly Difference[] | undefined;
  /** Undefined when only files were read. */
  readonly live?: LiveSummary | undefined;
}

interface ViewOptions {
  readonly output: "text" | "json" | "markdown";
  readonly terminal: Pick<Terminal, "columns">;
}

const widthMax = 100;

const interruptedText = "Stopped early: this is the result of what was read until then.";

export function reportText(
  given: Diagnosis,
  examined: Examined,
  { output, terminal }: ViewOptions,
): string {
  const clean = withTexts(given, withoutSecrets);
  const { live } = examined;
  if (output === "json") {
    const about = live === undefined ? {} : { cluster: live.cluster, notExamined: live.problems };
    const { differences } = examined;
    const compared = differences === undefined ? {} : { differences };
    return `${jsonLine({ ...jsonReport(clean), ...about, ...compared })}\n`;
  }
  const diagnosis = withTexts(clean, visibleLines);
  if (output === "markdown") return markdown(diagnosis, examined);
  const width = Math.min(terminal.columns, widthMax);
  return [
    ...(live === undefined ? [] : [`Cluster ${visible(live.cluster)}`]),
    ...(live?.isInterrupted === true ? [interruptedText] : []),
    verdict(diagnosis),
    "",
    ...shownInFull(diagnosis).flatMap((finding) => [
      findingText(finding, { width }),
      ...below(finding, width),
    ]),
    ...besideLines(diagnosis, width),
    ...openLines(diagnosis, width),
    ...differenceLines(examined),
    ...examinedLines(examined),
    ...notExaminedLines(live, width),
    ...unexaminedLines(diagnosis, width),
    "",
  ].join("\n");
}

/** The same without names and addresses. */
export function anonymousReport(
  texts: AnonymousTexts,
  { diagnosis, examined }: { readonly diagnosis: Diagnosis; readonly examined: Examined },
  options: ViewOptions,
): string {
  const of = (text: string): string => texts.of(text);
  const { live } = examined;
  const shownLive = live && { ...live, cluster: of(live.cluster), problems: live.problems.map(of) };
  const text = reportText(withTexts(diagnosis, of), { ...examined, live: shownLive }, options);
  // The words of JSON stay, whatever names the evidence has.
  return options.output === "json" ? text : of(text);
}

/** Texts of logs and objects may hold characters that a terminal obeys. */
function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

function verdict({ findings, open }: Diagnosis): string {
  const [first] = findings;
  if (first === undefined && open.length > 0) {
    return `No cause is proved. Something points to: ${open.map(({ rule }) => rule).join(", ")}`;
  }
  if (first === undefined) return "Nothing found in what was read.";
  if (first.severity === "info") {
    return `Nothing above information was found. For information: ${first.rule}`;
  }
  const others = findings.length === 1 ? "" : ` (${findings.length} findings)`;
  return `Most important: ${first.rule}${others}`;
}

/** Beside something worse, information is a line. */
function shownInFull({ findings }: Diagnosis): readonly Finding[] {
  const worse = findings.filter(({ severity }) => severity !== "info");
  return worse.length === 0 ? findings : worse;
}

function besideLines(diagnosis: Diagnosis, width: number): readonly string[] {
  const full = shownInFull(diagnosis);
  const others = diagnosis.findings.filter((finding) => !full.includes(finding));
  if (others.length === 0) return [];
  return [
    "For information",
    ...others.flatMap(({ rule, cause, evidence: [seen] }) =>
      wrapText(`${rule}: ${cause}${seen === undefined ? "" : ` (${seen.source})`}`, {
        width,
        first: "  · ",
        rest: "    ",
      }),
    ),
    "",
  ];
}

function below({ rule, consequences }: Finding, width: number): readonly string[] {
  return consequences.length === 0
    ? []
    : [
        `Consequences of ${rule}`,
        ...consequences.flatMap(({ rule: effect, evidence: [seen] }) =>
          wrapText(seen === undefined ? effect : `${effect}: ${seen.text} (${seen.source})`, {
            width,
            first: "  · ",
            rest: "    ",
          }),
        ),
        "",
      ];
}

function openLines({ open }: Diagnosis, width: number): readonly string[] {
  if (open.length === 0) return [];
  return [
    "Not enough evidence",
    ...open.flatMap(({ rule, evidence, missing }) => [
      ...evidence.flatMap(({ text, source }) =>
        wrapText(`${rule}: ${text} (${source})`, { width, first: "  ", rest: "    " }),
      ),
      `  ${rule}: this alone does not prove it. Missing:`,
      ...missing.flatMap((text) => wrapText(text, { width, first: "  · ", rest: "    " })),
    ]),
    "",
  ];
}

function differenceLines({ differences }: Examined): readonly string[] {
  if (differences === undefined) return [];
  const rows = differences.map(
    ({ what, here, there }) => `  ${visible(what)}: ${visible(here)} here, ${visible(there)} there`,
  );
  return ["Differences", ...(rows.length === 0 ? ["  none in what both have"] : rows), ""];
}

function examinedLines(examined: Examined): readonly string[] {
  const { files, lines, bytes, binary, limits, signs, objects, live } = examined;
  const known = signs.reduce((sum, { count }) => sum + count, 0);
  const counts = [
    [objects.pods.size, "pod", "pods"],
    [objects.services.size, "service", "services"],
    [objects.endpoints.size, "Endpoints object", "Endpoints"],
    [objects.nodes.size, "node", "nodes"],
    [objects.ingresses.size, "Ingress", "Ingresses"],
    [objects.leaders.length, "leader record", "leader records"],
  ] as const;
  const found = counts
    .filter(([count]) => count > 0)
    .map(([count, one, many]) => `${count} ${count === 1 ? one : many}`);
  return [
    "Examined",
    ...(live === undefined
      ? []
      : [
          `  cluster ${visible(live.cluster)}: ${counted(live.requests, "request")}, ${live.watches} watches, ${counted(live.samples, "sample")}, ${live.lines} lines of logs${files === 0 ? `, ${known} of them known log messages` : ""}`,
        ]),
    ...(files === 0 && live !== undefined
      ? []
      : [
          `  ${files} ${files === 1 ? "file" : "files"}, ${sizeText(bytes)}, ${lines} lines, ${known} of them known log messages`,
        ]),
    ...changesLines(examined),
    ...serverLines(objects),
    ...(found.length === 0 ? [] : [`  ${found.join(", ")}`]),
    ...objects.tooLarge.map(
      (place) =>
        `  ${visible(placeText(place))} was not read: a list of more than 64 MB. Save it with -o yaml`,
    ),
    ...(binary.length === 0 ? [] : [`  ${binary.length} files were skipped: they are no text`]),
    ...limits.map((text) => `  ${text}`),
  ];
}

/** A pasted text is small. */
function sizeText(bytes: number): string {
  return bytes < 1e5 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** `10.0.0.1:6443 (v1.17.3, current)`. */
function serverLines({ apiServers }: ObjectFacts): readonly string[] {
  const servers = apiServers.all.map(({ address, version, object, behindMs }) => {
    const state = behindMs > 0 ? `behind by ${durationText(behindMs)}` : "current";
    const known = object === undefined ? "cache unknown" : state;
    return `${address} (${version === undefined ? "not reached" : `${version}, ${known}`})`;
  });
  return servers.length === 0 ? [] : [`  API servers: ${visible(servers.join(", "))}`];
}

/** The observed changes, with their median lag. */
function changesLines({ changes, metrics }: Examined): readonly string[] {
  const lines = [];
  if (changes !== undefined) {
    const lags = (["join", "leave"] as const).flatMap((direction) => {
      const lag = publishedLag(changes, direction);
      const name = direction === "join" ? "added" : "removed";
      return lag === undefined
        ? []
        : [
            `${counted(lag.count, `${name} endpoint`)} published after a median of ${durationText(lag.medianMs)}, at most ${durationText(lag.maxMs)}`,
          ];
    });
    lines.push(`  changes: ${lags.length === 0 ? "none were observed" : lags.join("; ")}`);
  }
  if (metrics > 0) lines.push(`  metrics of ${counted(metrics, "program")}`);
  return lines;
}

function notExaminedLines(live: LiveSummary | undefined, width: number): readonly string[] {
  if (live === undefined || live.problems.length === 0) return [];
  const lines = live.problems.flatMap((text) =>
    wrapText(visible(text), { width, first: "  ", rest: "    " }),
  );
  return ["", "Could not be examined", ...lines];
}

/** Sources with their causes; a tired reader gets no further, and JSON has all. */
const providersShownMax = 4;

/** The evidence first: it is what a person can provide. */
function unexaminedLines({ unexamined }: Diagnosis, width: number): readonly string[] {
  if (unexamined.length === 0) return [];
  const rest = unexamined.slice(providersShownMax);
  const causes = rest.reduce((sum, { rules }) => sum + rules.length, 0);
  const others = `${counted(causes, "other cause")}: ${rest.map(({ provide }) => provide).join("; ")}`;
  const shown = unexamined
    .slice(0, providersShownMax)
    .map(({ rules, provide }) => `${provide}: ${rules.join(", ")}`);
  return [
    "",
    "Not examined, for lack of evidence",
    ...[...shown, ...(rest.length === 0 ? [] : [others])].flatMap((text) =>
      wrapText(text, { width, first: "  · ", rest: "    " }),
    ),
  ];
}

function markdown(diagnosis: Diagnosis, { files, lines, live }: Examined): string {
  const cluster = visible(live?.cluster ?? "");
  return [
    ...markdownLines(diagnosis),
    ...(live?.problems ?? []).map((text) => `- not examined: ${visible(text)}`),
    live === undefined
      ? `Read: ${files} files, ${lines} lines.`
      : `Read: cluster ${cluster}, ${counted(live.requests, "request")}; ${files} files, ${lines} lines.`,
    "",
  ]
    .join("\n")
    .trimStart();
}

/** The essentials of a cause; its section in the document has the rest. */
export function explanation(name: string): string {
  const cause = allCauses.find((one) => one.name === name);
  const effects = cause?.explains ?? [];
  return [
    name,
    `  ${cause?.summary ?? ""}`,
    "",
    `  late hop: ${cause?.hop ?? "none"}`,
    `  affected: ${cause?.affected ?? ""}`,
    ...(effects.length === 0 ? [] : [`  explains: ${effects.join(", ")}`]),
    `  more:     ${pageOf(name)}`,
    "",
  ].join("\n");
}
