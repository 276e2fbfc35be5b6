// The truth table in the terminal: a row for each endpoint with what every witness says, and under
// it the reason in a sentence. Rows about which the witnesses disagree are lit.
import { overridesSlices } from "../../../decide/truth/truth.ts";
import { durationText } from "../../../environment/duration-text.ts";
import type { Terminal } from "../../../environment/terminal.ts";
import type { PortReport, ReportedEndpoint } from "../../../ingress/service-report.ts";
import { counted } from "../../terminal/counted.ts";
import { type Paint, paintFor } from "../../terminal/paint.ts";
import { leftText, textColumns } from "../../terminal/text-columns.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import { hostAndPort } from "./host-and-port.ts";

const glyphs: Readonly<Record<ReportedEndpoint["state"], string>> = {
  active: "●",
  draining: "◐",
  held: "◇",
  suspect: "!",
  out: "○",
};

/** Of a row; those after the first ones go into the sentence below where the line is too short. */
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

/** Each with the gap before it. */
function widthsOf(shown: readonly Column[], endpoints: readonly ReportedEndpoint[]) {
  return shown.map(({ title, cell }) => {
    const cells = endpoints.map((endpoint) => textColumns(cell(endpoint)));
    return gap.length + Math.max(title.length, ...cells);
  });
}

function reasons({ reason, rule, use, priority = 0, weight = 1 }: ReportedEndpoint) {
  return [
    `${reason} (${rule})`,
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
