// The figures of Lockstep and its peers: one for each measure and subject, and the table of README.md,
// which has a column for each subject. Pure.
import { type Figure, type Figures, median, notMeasured, percentile, plain } from "./benchmark.ts";
import { machineText, type Section } from "./figures-document.ts";
import type { Cost } from "./peers-cost.ts";
import type {
  BySubject,
  LagResult,
  Lags,
  Loss,
  RolloutLosses,
  RouteTimes,
  SilentResult,
} from "./peers-situations.ts";
import type { Subject } from "./peers-world.ts";

export const partNames = [
  "lag",
  "rollout",
  "silent",
  "late-lag",
  "late-rollout",
  "routes",
  "cost",
  "cost-5000",
] as const;

export type PartName = (typeof partNames)[number];

/** Of the parts that were asked for. */
export interface PeersResults {
  readonly lag: LagResult | undefined;
  readonly rollout: BySubject<RolloutLosses> | undefined;
  readonly silent: BySubject<SilentResult> | undefined;
  readonly lateLag: LagResult | undefined;
  readonly lateRollout: BySubject<RolloutLosses> | undefined;
  readonly routes: BySubject<RouteTimes> | undefined;
  readonly cost: BySubject<Cost> | undefined;
  readonly manyCost: BySubject<Cost> | undefined;
}

/** Those that are there to be measured, by name with their version. */
export type Titles = ReadonlyMap<Subject, string>;

/** A line of the table: its values stand in one cell. */
interface Measure {
  readonly row: string;
  readonly unit: string;
  /** How far two values may be apart to count as equal. */
  readonly tolerance: number;
  readonly values: readonly MeasureValue[];
}

interface MeasureValue {
  /** `leaveP50Ms`: the name of the figure begins with it. */
  readonly id: string;
  /** `p50`; empty for the only one. */
  readonly name: string;
  readonly of: (subject: Subject) => number | undefined;
  readonly note?: (subject: Subject) => string | undefined;
}

/** Between two requests to one pod: 200 a second to four pods. */
const resolutionMs = 20;
/** Of memory and processor time, as a share. */
const costTolerance = 0.1;

const lagNote = "from the watch event to the last (first) request of 200/s that the pod answered";

export function peersFigures(
  results: PeersResults,
  titles: Titles,
  absent: ReadonlyMap<string, string>,
): Figures {
  const figures: Record<string, Figure> = {};
  for (const { row, unit, values } of measuresOf(results)) {
    for (const { id, name, of, note } of values) {
      for (const [subject, column] of titles) {
        const value = of(subject);
        if (value === undefined) continue;
        const place = { row: name === "" ? row : `${row}, ${name}`, column };
        const text = note?.(subject);
        figures[`${id}${capitalized(subject)}`] = { ...plain(value, unit, text), place };
      }
    }
  }
  for (const [title, result] of [
    ["slicesMs", results.lag],
    ["slicesLateMs", results.lateLag],
  ] as const) {
    if (result === undefined) continue;
    const note = "from the deletion of a pod until the EndpointSlices show it, median";
    figures[title] = plain(median(result.publishedMs), "ms", note);
  }
  for (const [peer, problem] of absent) figures[peer] = notMeasured("", problem);
  return figures;
}

/** For README.md. */
export function peersTable(
  results: PeersResults,
  titles: Titles,
  { command, machine }: Omit<Section, "name">,
): string {
  const measures = measuresOf(results);
  const columns = [...titles];
  const lines = measures.map((measure) => {
    const cells = columns.map(([subject]) => cellOf(measure, subject));
    return `| ${[headOf(measure), ...cells].join(" | ")} |`;
  });
  const head = ["", ...columns.map(([, title]) => title)];
  return [
    `| ${head.join(" | ")} |`,
    `| ${head.map(() => "---").join(" | ")} |`,
    ...lines,
    "",
    ...comparisons(measures, titles),
    `${command}, ${machineText(machine)}`,
    "",
  ].join("\n");
}

function headOf({ row, unit, values }: Measure): string {
  const names = values.map(({ name }) => name).filter((name) => name !== "");
  const measured = names.length === 0 ? "" : `: ${names.join(" / ")}`;
  return `${row}${unit === "" ? "" : `, ${unit}`}${measured}`;
}

function cellOf({ values }: Measure, subject: Subject): string {
  return values.map(({ of }) => shown(of(subject))).join(" / ");
}

function shown(value: number | undefined): string {
  if (value === undefined) return "–";
  if (value === Number.POSITIVE_INFINITY) return "never";
  // Of a count every digit; three of what is measured.
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(3));
  const text = Math.abs(rounded).toLocaleString("en");
  return rounded < 0 ? `−${text}` : text;
}

/** Where a peer is equal to Lockstep, and where it is ahead of it. */
function comparisons(measures: readonly Measure[], titles: Titles): readonly string[] {
  const peers = [...titles].filter(([subject]) => subject !== "lockstep");
  return peers.flatMap(([subject, title]) => {
    const rowsWith = (wanted: Comparison) =>
      measures.filter((measure) => comparisonOf(measure, subject) === wanted).map(({ row }) => row);
    const says = (wanted: Comparison, words: string) => {
      const rows = rowsWith(wanted);
      return rows.length === 0 ? [] : [`${title} ${words} in: ${rows.join("; ")}.`];
    };
    const lines = [...says("equal", "equals Lockstep"), ...says("ahead", "is ahead of Lockstep")];
    return lines.flatMap((line) => [line, ""]);
  });
}

type Comparison = "ahead" | "equal" | "behind" | "mixed";

/** Less is better in every measure. */
function comparisonOf({ values, tolerance }: Measure, peer: Subject): Comparison | undefined {
  const differences = values.map(({ of }) => {
    const [own = Number.NaN, other = Number.NaN] = [of("lockstep"), of(peer)];
    const allowed = tolerance < 1 ? own * tolerance : tolerance;
    if (own === other || Math.abs(own - other) <= allowed) return 0;
    return Math.sign(other - own);
  });
  if (differences.some(Number.isNaN)) return undefined;
  if (differences.every((one) => one === 0)) return "equal";
  if (differences.every((one) => one <= 0)) return "ahead";
  if (differences.every((one) => one >= 0)) return "behind";
  return "mixed";
}

/** Exactly equal counts are equal, which are whole numbers. */
const counted = 0;

function measuresOf(results: PeersResults): readonly Measure[] {
  const { lag, rollout, silent, lateLag, lateRollout, routes, cost, manyCost } = results;
  return [
    ...(lag === undefined ? [] : lagMeasures(lag.lags, "", "")),
    ...(lateLag === undefined ? [] : lagMeasures(lateLag.lags, "Late", ", slices 30 s late")),
    ...(rollout === undefined ? [] : lossMeasures(rollout, "", "")),
    ...(lateRollout === undefined ? [] : lossMeasures(lateRollout, "Late", ", slices 30 s late")),
    ...(silent === undefined ? [] : silentMeasures(silent)),
    ...(routes === undefined ? [] : routeMeasures(routes)),
    ...(cost === undefined ? [] : costMeasures(cost, "1,000")),
    ...(manyCost === undefined ? [] : costMeasures(manyCost, "5,000")),
  ];
}

function lagMeasures(lags: BySubject<Lags>, after: string, words: string): readonly Measure[] {
  return [
    timeMeasure(`leave${after}`, `removal of a pod${words}`, (one) => lags[one]?.leaveMs, lagNote),
    timeMeasure(`join${after}`, `addition of a pod${words}`, (one) => lags[one]?.joinMs, lagNote),
  ];
}

function timeMeasure(
  id: string,
  row: string,
  timesOf: (subject: Subject) => readonly number[] | undefined,
  note: string,
): Measure {
  const value = (name: string, share: number): MeasureValue => ({
    id: `${id}${capitalized(name)}Ms`,
    name,
    of: (subject) => {
      const times = timesOf(subject);
      return times === undefined ? undefined : percentile(times, share);
    },
    note: (subject) => `${note}, ${timesOf(subject)?.length ?? 0} changes`,
  });
  const values = [value("p50", 0.5), value("p95", 0.95), value("max", 1)];
  return { row, unit: "ms", tolerance: resolutionMs, values };
}

function lossMeasures(
  losses: BySubject<RolloutLosses>,
  after: string,
  words: string,
): readonly Measure[] {
  const value = (name: string, id: string, lossIn: (one: RolloutLosses) => Loss): MeasureValue => ({
    id: `failed${id}${after}`,
    name,
    of: (subject) => {
      const own = losses[subject];
      return own === undefined ? undefined : lossIn(own).failed;
    },
    note: (subject) => {
      const own = losses[subject];
      return own === undefined ? undefined : lossText(lossIn(own));
    },
  });
  return [
    {
      row: `failed in rolling restarts${words}`,
      unit: "requests",
      tolerance: counted,
      values: [
        value("GET", "Get", ({ get }) => get),
        value("POST", "Post", ({ post }) => post),
        value("of 3 s", "Long", ({ long }) => long),
      ],
    },
  ];
}

/** `of 3548, 502: 4` */
function lossText({ sent, failedBy }: Loss): string {
  const reasons = Object.entries(failedBy).map(([how, count]) => `${how}: ${count}`);
  return [`of ${sent}`, ...reasons].join(", ");
}

function silentMeasures(silent: BySubject<SilentResult>): readonly Measure[] {
  const value = (
    id: string,
    name: string,
    read: (one: SilentResult) => number,
    text?: (one: SilentResult) => string,
  ): MeasureValue => ({
    id,
    name,
    of: (subject) => {
      const own = silent[subject];
      return own === undefined ? undefined : read(own);
    },
    note: (subject) => {
      const own = silent[subject];
      return own === undefined ? undefined : text?.(own);
    },
  });
  return [
    {
      row: "pods fall silent",
      unit: "requests",
      tolerance: counted,
      values: [
        value(
          "silentFailed",
          "GET failed",
          ({ get }) => get.failed,
          ({ get }) => lossText(get),
        ),
        value(
          "silentSlow",
          "GET slower than 1 s",
          ({ slow }) => slow,
          ({ get }) => `of ${get.sent}`,
        ),
        value(
          "silentPost",
          "POST failed",
          ({ post }) => post.failed,
          ({ post }) => lossText(post),
        ),
      ],
    },
    {
      row: "last failed or slow request after the silence began",
      unit: "ms",
      tolerance: resolutionMs,
      values: [value("silentNoticedMs", "", ({ noticedMs }) => noticedMs)],
    },
    timeMeasure(
      "back",
      "silent pod used again",
      (subject) => silent[subject]?.backMs,
      "from the end of the silence to the first request that the pod answered",
    ),
  ];
}

function routeMeasures(routes: BySubject<RouteTimes>): readonly Measure[] {
  const note = "from the answer of the API server to a request answered by it";
  return [
    timeMeasure("routeNew", "new route", (one) => routes[one]?.newMs, note),
    timeMeasure("routeChanged", "changed route", (one) => routes[one]?.changedMs, note),
  ];
}

function costMeasures(cost: BySubject<Cost>, routes: string): readonly Measure[] {
  const id = routes.replace(",", "");
  const note = () => "all processes, four pods a route, 2 endpoint changes/s, no requests";
  const megabytes = (subject: Subject) => cost[subject]?.megabytes;
  const percent = (subject: Subject) => cost[subject]?.processorPercent;
  return [
    {
      row: `memory at ${routes} routes`,
      unit: "MB",
      tolerance: costTolerance,
      values: [{ id: `megabytes${id}`, name: "", of: megabytes, note }],
    },
    {
      row: `processor at ${routes} routes`,
      unit: "% of a core",
      tolerance: costTolerance,
      values: [{ id: `processorPercent${id}`, name: "", of: percent, note }],
    },
  ];
}

function capitalized(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
