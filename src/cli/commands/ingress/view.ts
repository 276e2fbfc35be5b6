// Prints the start and end of `lockstep ingress`, the result of --shadow, and the endpoints of
// explain and endpoints.

import {
  ingressController,
  otherController,
} from "../../../decide/routing/ingress-class-filter.ts";
import { visible } from "../../../decide/routing/shown-text.ts";
import { overridesSlices } from "../../../decide/truth/truth.ts";
import { counted } from "../../../environment/counted.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { IngressReplica } from "../../../ingress/ingress-replica.ts";
import type { Readiness } from "../../../ingress/readiness.ts";
import type { PortReport, ReportedEndpoint } from "../../../ingress/service-report.ts";
import {
  kindOf,
  type ShadowCount,
  type ShadowProbes,
  type ShadowSummary,
  worthMentionMs,
} from "../../../ingress/shadow-report.ts";
import { clusterWatches } from "../../../sources/cluster-source.ts";
import { type Paint, paintFor } from "../../terminal/paint.ts";
import { leftText, textColumns, wrapText } from "../../terminal/text.ts";
import { hostAndPort } from "./host-and-port.ts";
import type { IngressConfig } from "./settings.ts";

/** These mean every address; on this machine 127.0.0.1 works. */
const anywhere: ReadonlySet<string> = new Set(["0.0.0.0", "::"]);

export function greetingLines(
  terminal: Terminal,
  config: IngressConfig,
  replica: IngressReplica,
): string {
  const paint = paintFor(terminal);
  const { statusAddress, statusPort, httpsPort } = config;
  const port = replica.statusAddress?.port ?? statusPort;
  const clusters = replica.loop.sources.map(({ cluster }) => cluster).join(", ");
  const served = config.listen
    .flatMap((address) => [
      `http://${hostAndPort(address, config.httpPort)}`,
      ...(httpsPort === undefined ? [] : [`https://${hostAndPort(address, httpsPort)}`]),
    ])
    .join(", ");
  const status = hostAndPort(anywhere.has(statusAddress) ? "127.0.0.1" : statusAddress, port);
  const what = config.shadow
    ? `shadow mode: only observing, for Ingress class ${config.class}`
    : `serving ${paint.strong(served)} for Ingress class ${config.class}`;
  return (
    `${paint.lockstep("●")} ${what}\n` +
    `  pods from ${clusters}; routes from ${replica.loop.asked.cluster}\n` +
    `  ${paint.secondary(`endpoints and reasons: http://${status}/state`)}\n`
  );
}

export function stoppingLine(config: IngressConfig, delayMs: number): string {
  const wait = delayMs === 0 ? "" : `serving for another ${durationText(delayMs)}, then `;
  const end = config.keepNginx
    ? "nginx continues alone"
    : `waiting up to ${durationText(config.drainTimeoutMs)} for requests in progress`;
  return `Stopping: ${wait}${end}. Press Ctrl-C again to stop immediately.\n`;
}

/**
 * The first log lines when everything is listed: each cluster's counts and missing watches, and the
 * routes.
 */
const lookAgainMs = 50;

export async function sayWhenReady(
  { timers, log }: Pick<Environment, "timers" | "log">,
  replica: IngressReplica,
  { className, signal }: { readonly className: string; readonly signal: AbortSignal },
): Promise<void> {
  const { loop } = replica;
  try {
    while (!loop.isReady) await timers.sleep(lookAgainMs, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return;
  }
  for (const source of loop.sources) {
    const notSeen = clusterWatches.filter((name) => source.watch(name).state !== "fresh");
    log.info("cluster watches: all listed", {
      cluster: source.cluster,
      ...source.counts,
      ...(notSeen.length > 0 && { notFresh: notSeen }),
    });
  }
  const { routes, truths } = loop.decisions;
  const endpoints = [...truths.values()].reduce(
    (sum, { truth }) => sum + truth.endpoints.length,
    0,
  );
  log.info("routes are ready", {
    hosts: routes.hosts.size,
    services: truths.size,
    endpoints,
    problems: routes.problems.length,
    ...(routes.problems.length > 0 && { namedIn: "/state and Events of the Ingresses" }),
  });
  const controller = otherController(loop.asked.classes(), className);
  if (controller === undefined || replica.shadow !== undefined) return;
  log.warn("the IngressClass belongs to another controller, so its Ingresses are ignored", {
    class: className,
    controller,
    ours: ingressController,
  });
}

/** The column of the counts; with less room they go below their labels. */
const countColumn = 34;
const narrowestBeside = 20;
const indentBelow = 6;

/** `10 min 45 s` with its margins. */
const durationColumns = 18;

export function shadowLines(
  terminal: Pick<Terminal, "colours" | "columns">,
  summary: ShadowSummary,
): readonly string[] {
  const { left, joined, probes, longest, forMs } = summary;
  const paint = paintFor(terminal);
  const width = terminal.columns;
  const lines = [
    ...wrapText(`Compared for ${durationText(forMs)}: ${verdict(summary)}`, { width }).map(
      paint.strong,
    ),
    ...countLines("removed pods still in slices", "still listed now", left, width),
    ...countLines("ready pods not yet in slices", "still missing now", joined, width),
    ...(probes === undefined ? [] : probeLines(probes, width)),
    ...(longest.length === 0 ? [] : ["  longest cases:"]),
    ...longest.flatMap((override) => {
      const { service, endpoint, lastedMs = 0 } = override;
      const what = kindOf(override) === "left" ? "still listed" : "not listed";
      const where = `${endpoint.podName ?? hostAndPort(endpoint.address, endpoint.port)} of ${service}`;
      const below = " ".repeat(width < 2 * durationColumns ? indentBelow : durationColumns);
      const [first = "", ...rest] = wrapText(`${what}: ${where}, ${endpoint.reason}`, {
        width,
        first: " ".repeat(durationColumns),
        rest: below,
      });
      const lasted = durationText(lastedMs).padStart(12);
      return [`    ${paint.late(lasted)}  ${first.slice(durationColumns)}`, ...rest];
    }),
  ];
  return lines.map((line) => `${line}\n`);
}

/** A label and its text, beside it or wrapped below it. */
function labelled(label: string, text: string, width: number): readonly string[] {
  const first = `  ${label}`.padEnd(countColumn);
  if (countColumn + Math.min(text.length, narrowestBeside) <= width) {
    return wrapText(text, { width, first, rest: " ".repeat(countColumn) });
  }
  const below = " ".repeat(indentBelow);
  return [first.trimEnd(), ...wrapText(text, { width, first: below, rest: below })];
}

/** Removed pods come first, because requests to them fail. */
function verdict({ left, joined }: ShadowSummary): string {
  if (left.late > 0) {
    const longest = durationText(left.longestMs);
    return `${counted(left.late, "removed pod")} stayed in the slices for up to ${longest}`;
  }
  if (joined.late > 0) {
    const longest = durationText(joined.longestMs);
    return `${counted(joined.late, "ready pod")} could have served up to ${longest} sooner`;
  }
  return `the slices were never behind the pods for more than ${durationText(worthMentionMs)}`;
}

/** Without anything to observe there is no result, which differs from no lag. */
export function nothingSeenLines(
  { columns: width }: Pick<Terminal, "columns">,
  { problem = "", notes }: Readiness,
): readonly string[] {
  const lines = [
    ...wrapText(`No result: ${problem}.`, { width }),
    ...notes.flatMap((note) => wrapText(visible(note), { width, first: "  · ", rest: "    " })),
  ];
  return lines.map((line) => `${line}\n`);
}

function countLines(
  label: string,
  standingLabel: string,
  { pods, standing, late, longestMs, totalMs }: ShadowCount,
  width: number,
): readonly string[] {
  if (pods === 0) return labelled(label, "0", width);
  const rows: readonly (readonly [label: string, text: string])[] = [
    [label, `${pods}`],
    [`  longer than ${durationText(worthMentionMs)}`, `${late}`],
    ["  longest", durationText(longestMs)],
    ["  total", durationText(totalMs)],
    [`  ${standingLabel}`, `${standing}`],
  ];
  return rows.flatMap(([name, text]) => labelled(name, text, width));
}

function probeLines(probes: ShadowProbes, width: number): readonly string[] {
  const { leftSilent, leftAnswered, joinedAnswered, joinedSilent, notAsked } = probes;
  const left = `${leftSilent} did not answer, ${leftAnswered} answered`;
  const joined = `${joinedAnswered} answered, ${joinedSilent} did not answer`;
  return [
    ...labelled("probed removed endpoints", left, width),
    ...labelled("probed ready endpoints", joined, width),
    ...(notAsked === 0 ? [] : labelled("not probed, too many at once", `${notAsked}`, width)),
  ];
}

/**
 * A row for each endpoint with the report of every source, and below it the reason. Rows where
 * Lockstep overrides the slices are coloured.
 */
const glyphs: Readonly<Record<ReportedEndpoint["state"], string>> = {
  active: "●",
  draining: "◐",
  held: "◇",
  suspect: "!",
  out: "○",
};

/** On a narrow terminal the later columns go into the sentence below. */
const columns: readonly Column[] = [
  { title: "state", cell: ({ state }) => `${glyphs[state]} ${state}` },
  { title: "endpoint", cell: ({ address, port }) => hostAndPort(address, port) },
  { title: "pod", cell: ({ podName }) => podName ?? "–" },
  { title: "pod state", cell: ({ pod }) => pod },
  { title: "in slices", cell: ({ published }) => published },
  { title: "requests", cell: ({ use }) => (use === undefined ? "–" : String(use.requests)) },
  { title: "failed", cell: ({ use }) => (use === undefined ? "–" : String(use.failures)) },
  { title: "cluster", cell: ({ cluster }) => cluster },
];

const columnsWhenNarrow = 5;

const gap = "  ";

interface Column {
  readonly title: string;
  readonly cell: (endpoint: ReportedEndpoint) => string;
}

export function endpointLines(
  terminal: Pick<Terminal, "colours" | "columns">,
  { problems, endpoints }: PortReport,
): readonly string[] {
  const paint = paintFor(terminal);
  const isOneCluster = new Set(endpoints.map(({ cluster }) => cluster)).size < 2;
  const all = isOneCluster ? columns.slice(0, -1) : columns;
  const isNarrow =
    widthsOf(all, endpoints).reduce((sum, width) => sum + width, 0) > terminal.columns;
  const shown = isNarrow ? columns.slice(0, columnsWhenNarrow) : all;
  const widths = widthsOf(shown, endpoints);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => gap + leftText(cell, (widths[index] ?? 0) - gap.length))
      .join("")
      .trimEnd();
  return [
    ...problems.map((problem) => `${gap}${paint.late("!")} ${problem}`),
    ...(endpoints.length === 0 ? [] : [paint.secondary(line(shown.map(({ title }) => title)))]),
    ...endpoints.flatMap((endpoint) => {
      const indent = gap.repeat(3);
      const below = isNarrow
        ? [...reasons(endpoint), ...notShown(endpoint, isOneCluster)]
        : reasons(endpoint);
      const wrapping = { width: terminal.columns, first: indent, rest: indent };
      return [
        lit(endpoint, paint)(line(shown.map(({ cell }) => cell(endpoint)))),
        ...wrapText(below.join("; "), wrapping).map(paint.secondary),
      ];
    }),
  ];
}

/** Widths including the gap before each column. */
function widthsOf(shown: readonly Column[], endpoints: readonly ReportedEndpoint[]) {
  return shown.map(({ title, cell }) => {
    const cells = endpoints.map((endpoint) => textColumns(cell(endpoint)));
    return gap.length + Math.max(title.length, ...cells);
  });
}

function reasons({ reason, rule, use, priority = 0, weight = 1 }: ReportedEndpoint) {
  return [
    `${reason} (rule: ${rule})`,
    ...(priority === 0 ? [] : [`priority ${priority + 1}`]),
    ...(weight === 1 ? [] : [`weight ${weight}`]),
    ...(use === undefined ? [] : [`last used ${durationText(use.lastUsedMsAgo)} ago`]),
  ];
}

function notShown({ use, cluster }: ReportedEndpoint, isOneCluster: boolean): readonly string[] {
  return [
    ...(use === undefined ? [] : [`${counted(use.requests, "request")}, ${use.failures} failed`]),
    ...(isOneCluster ? [] : [`in ${cluster}`]),
  ];
}

function lit(endpoint: ReportedEndpoint, paint: Paint): (text: string) => string {
  if (endpoint.state === "suspect") return paint.failed;
  return overridesSlices(endpoint) ? paint.late : (text) => text;
}
