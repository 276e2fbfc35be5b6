// The output of `lockstep migrate compare`: the requests whose answers differ, a summary, and the names
// of what was left out. docs/migrate.md lists the fields of the JSON.
import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../../environment/counted.ts";
import type { ComparedRequest, ComparedVerdict } from "../../../migrate/compare/comparison.ts";
import type { Paint } from "../../terminal/paint.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";

interface CompareView {
  readonly width: number;
  readonly paint: Paint;
}

/** Two screens; --json has the rest. */
const maxShown = 40;

/** Longer values are cut: a policy may have thousands of characters. */
const maxValue = 200;

const formatVersion = 1;

export function compareJson(
  compared: readonly ComparedRequest[],
  notes: readonly string[],
  { old, new: now }: { readonly old: string; readonly new: string },
): object {
  const summary = {
    requests: compared.length,
    same: countOf(compared, "same"),
    differ: countOf(compared, "differs"),
    changeByThemselves: countOf(compared, "changes by itself"),
  };
  const noise = Object.fromEntries(noiseCounts(compared));
  return {
    version: formatVersion,
    old,
    new: now,
    summary,
    requests: compared,
    leftOut: noise,
    notes,
  };
}

export function compareLines(
  compared: readonly ComparedRequest[],
  notes: readonly string[],
  view: CompareView,
): readonly string[] {
  const { width, paint } = view;
  const different = compared.filter(({ verdict }) => verdict === "differs");
  const changing = compared.filter(({ verdict }) => verdict === "changes by itself");
  const shown = [...different, ...changing].slice(0, maxShown);
  const hidden = different.length + changing.length - shown.length;
  const summary =
    `${counted(compared.length, "request")}: ${numberText(countOf(compared, "same"))} same, ` +
    `${numberText(different.length)} differ, ${numberText(changing.length)} change by themselves.`;
  const noise = [...noiseCounts(compared)].map(([name, count]) => `${name} (${count})`);
  return [
    ...shown.flatMap((one) => requestLines(one, view)),
    ...(hidden > 0 ? [`${numberText(hidden)} more: use --json`, ""] : []),
    ...wrapText(summary, { width }).map(paint.strong),
    ...(noise.length === 0
      ? []
      : wrapText(`Left out: ${noise.map(visible).join(", ")}.`, { width, rest: "  " })),
    ...notes.flatMap((note) => wrapText(`${visible(note)}.`, { width, rest: "  " })),
  ];
}

function requestLines(
  { method, host, target, verdict, differences, noise }: ComparedRequest,
  { width, paint }: CompareView,
): readonly string[] {
  const name = visible(`${method} ${host}${target}`);
  if (verdict === "changes by itself") {
    const what = noise.filter((one) => one.endsWith("by itself")).join(", ");
    return [
      ...wrapText(`? ${name}`, { width, rest: "  " }),
      ...wrapText(visible(what), { width, first: "  ", rest: "    " }),
      "",
    ];
  }
  return [
    ...wrapText(`! ${name}`, { width, rest: "  " }).map(paint.late),
    ...differences.flatMap(({ what, old, new: now }) => [
      `  ${visible(what)}`,
      ...wrapText(cut(old), { width, first: "    old  ", rest: "         " }),
      ...wrapText(cut(now), { width, first: "    new  ", rest: "         " }),
    ]),
    "",
  ];
}

function cut(value: string): string {
  const shown = visible(value);
  return shown.length > maxValue ? `${shown.slice(0, maxValue)}…` : shown;
}

function countOf(compared: readonly ComparedRequest[], wanted: ComparedVerdict): number {
  return compared.filter(({ verdict }) => verdict === wanted).length;
}

/** By name of what was left out, in how many answers it differed. */
function noiseCounts(compared: readonly ComparedRequest[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of compared.flatMap(({ noise }) => noise)) {
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
