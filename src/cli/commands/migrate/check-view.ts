// The report of `lockstep migrate check` as text: a table of all Ingresses, the details of those that
// are not the same, the settings of the controller, and a summary.
import { visible } from "../../../decide/routing/shown-text.ts";
import { counted } from "../../../environment/counted.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { CheckedIngress, CheckReport, Verdict } from "../../../migrate/check.ts";
import type { CheckedSetting } from "../../../migrate/controller-settings.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type Column, rowLines, tableWidth } from "../../terminal/table.ts";
import { cutText, wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import { missingCount, verdictCounts } from "./check-json.ts";

export interface CheckView {
  readonly width: number;
  readonly paint: Paint;
  readonly all: boolean;
  /** Details of these only; of all that differ where it is empty. */
  readonly ingress: readonly string[];
}

/** Two screens. --all and --json have the rest. */
const maxRows = 60;
const maxDetails = 30;

const indent = "  ";

const [verdictWidth, ingressWidth] = [9, 33];
const [settingWidth, valueWidth] = [29, 13];

export function checkLines(
  report: CheckReport,
  notes: readonly string[],
  view: CheckView,
): readonly string[] {
  const { ingresses, controller } = report;
  const isAsked = (one: CheckedIngress) => view.ingress.includes(objectKey(one));
  const shown = view.ingress.length === 0 ? ingresses : ingresses.filter(isAsked);
  const isDetailed = (one: CheckedIngress) =>
    view.all || view.ingress.length > 0 || one.findings.length > 0;
  const detailed = shown.filter(isDetailed);
  const details = view.all ? detailed : detailed.slice(0, maxDetails);
  const isWhole = view.ingress.length === 0;
  return [
    ...(isWhole ? tableLines(shown, view) : []),
    ...details.flatMap((one) => ["", ...detailLines(one, view)]),
    ...moreLine(detailed.length - details.length, "with details"),
    ...(isWhole
      ? settingLines(controller.flags.concat(setOf(controller.settings)), report, view)
      : []),
    ...(isWhole ? defaultLines(controller.settings, view) : []),
    ...noteLines(report, notes, view),
    "",
    ...summaryLines(report, view),
  ];
}

const signs: Readonly<Record<Verdict, string>> = { same: "●", differs: "!", refused: "✗" };

function painted(verdict: Verdict, { paint }: CheckView): (text: string) => string {
  if (verdict === "refused") return paint.failed;
  return verdict === "differs" ? paint.late : paint.lockstep;
}

function tableLines(ingresses: readonly CheckedIngress[], view: CheckView): readonly string[] {
  const columns = columnsOf([verdictWidth, ingressWidth], view);
  const why = columns.at(-1)?.width ?? 0;
  const rows = view.all ? ingresses : ingresses.slice(0, maxRows);
  return [
    ...rowLines(["verdict", "Ingress", "why"], columns, indent).map(view.paint.secondary),
    ...rows.flatMap((one) => {
      const text = `${signs[one.verdict]} ${one.verdict}`;
      const sign = { text, paint: painted(one.verdict, view) };
      const cells = [sign, visible(objectKey(one)), cutText(whyText(one), why)];
      return rowLines(cells, columns, indent);
    }),
    ...moreLine(ingresses.length - rows.length, "in the table"),
  ];
}

function moreLine(count: number, where: string): readonly string[] {
  return count > 0 ? [`${indent}${numberText(count)} more ${where}: use --all or --json`] : [];
}

function hostsText({ hosts }: CheckedIngress): string {
  const [first = "(default backend)", ...others] = hosts;
  return others.length === 0 ? visible(first) : `${visible(first)} +${others.length}`;
}

/** The names of what is refused or differs; else the evidence. */
function whyText({ findings, sameAnnotations }: CheckedIngress): string {
  const named = [...new Set(findings.map(({ about }) => visible(about)))];
  if (named.length > 0) return named.join(", ");
  return sameAnnotations.length === 0
    ? "no annotations"
    : counted(sameAnnotations.length, "annotation");
}

const prefix = /^annotation (?:nginx\.ingress\.kubernetes\.io\/)?/;

function detailLines(one: CheckedIngress, view: CheckView): readonly string[] {
  const { findings, sameAnnotations, verdict } = one;
  const title = `${signs[verdict]} ${visible(objectKey(one))}`;
  const facts = [`class ${visible(one.class)}`, hostsText(one), counted(one.paths, "path")].join(
    ", ",
  );
  const line = (kind: string, text: string) =>
    wrapText(text, {
      width: view.width,
      first: `${indent}${kind.padEnd(8)} `,
      rest: " ".repeat(indent.length + 9),
    });
  const names = sameAnnotations.map((name) =>
    visible(name).replace(/^nginx\.ingress\.kubernetes\.io\//, ""),
  );
  return [
    `${painted(verdict, view)(title)}  ${view.paint.secondary(facts)}`,
    ...findings.flatMap(({ kind, message }) => line(kind, visible(message).replace(prefix, ""))),
    ...(names.length === 0 ? [] : line("same", names.join(", "))),
    ...(findings.length + names.length === 0
      ? line("same", "no annotations; hosts and paths alike")
      : []),
  ];
}

/** The last column has the rest of the width. */
function columnsOf(widths: readonly number[], { width }: CheckView): readonly Column[] {
  const columns = widths.map((one): Column => ({ width: one, align: "left" }));
  const rest = width - indent.length - tableWidth([...columns, { width: 0, align: "left" }]);
  return [...columns, { width: rest, align: "left" }];
}

function setOf(settings: readonly CheckedSetting[]): readonly CheckedSetting[] {
  return settings.filter(({ isSet }) => isSet);
}

function settingLines(
  settings: readonly CheckedSetting[],
  { controller }: CheckReport,
  view: CheckView,
): readonly string[] {
  const { names, configMap } = controller;
  const source = [
    ...names,
    ...(configMap === undefined ? [] : [`ConfigMap ${configMap.namespace}/${configMap.name}`]),
  ];
  if (source.length === 0) return [];
  const shown = settings.filter(({ verdict }) => view.all || verdict !== "same");
  const same = settings.length - shown.length;
  return [
    "",
    ...wrapText(`Settings of ${source.map(visible).join(", ")}`, { width: view.width }).map(
      view.paint.strong,
    ),
    ...valueLines(shown, view),
    ...(same > 0
      ? [
          `${indent}● ${counted(same, "other setting")} with the same effect, or with none on answers`,
        ]
      : []),
  ];
}

function defaultLines(settings: readonly CheckedSetting[], view: CheckView): readonly string[] {
  const defaults = settings.filter(({ isSet }) => !isSet);
  if (defaults.length === 0) return [];
  return [
    "",
    view.paint.strong("Defaults that differ, for every Ingress without an annotation for it"),
    ...valueLines(defaults, view),
  ];
}

function valueLines(settings: readonly CheckedSetting[], view: CheckView): readonly string[] {
  if (settings.length === 0) return [];
  const columns = columnsOf([settingWidth, valueWidth], view);
  const head = ["setting", "ingress-nginx", "Lockstep"];
  return [
    ...rowLines(head, columns, indent).map(view.paint.secondary),
    ...settings.flatMap(({ name, value, verdict, lockstep }) => {
      const cell = { text: `${signs[verdict]} ${visible(name)}`, paint: painted(verdict, view) };
      return rowLines([cell, cutText(visible(value), valueWidth), lockstep], columns, indent);
    }),
  ];
}

function noteLines(
  { controller, others, notChecked }: CheckReport,
  notes: readonly string[],
  { width, paint }: CheckView,
): readonly string[] {
  const classes = [...others].map(
    ([name, count]) => `${name === "" ? "none" : visible(name)} (${count})`,
  );
  const sentences = [
    ...notChecked.map((what) => `Not checked: ${what}.`),
    ...(classes.length === 0
      ? []
      : [`Not checked: Ingresses of other classes: ${classes.join(", ")}.`]),
    ...controller.notes.map((note) => `${visible(note)}.`),
    ...notes.map((note) => `Not read: ${note}`),
  ];
  if (sentences.length === 0) return [];
  const lines = sentences.flatMap((text) =>
    wrapText(text, { width, first: indent, rest: indent + indent }),
  );
  return ["", paint.strong("Notes"), ...lines];
}

function summaryLines({ ingresses, controller }: CheckReport, view: CheckView): readonly string[] {
  const { same, differs, refused } = verdictCounts(ingresses);
  const missing = missingCount(ingresses);
  const settings = [...controller.flags, ...setOf(controller.settings)];
  const unlike = settings.filter(({ verdict }) => verdict !== "same").length;
  const parts = [
    `${ingresses.length === 1 ? "1 Ingress" : `${numberText(ingresses.length)} Ingresses`}: ${numberText(same)} same, ${numberText(differs)} differ, ${numberText(refused)} refused`,
    ...(missing === 0 ? [] : [`${counted(missing, "missing object")}`]),
    ...(unlike === 0 ? [] : [`${counted(unlike, "setting")} of the controller not the same`]),
  ];
  return wrapText(`${parts.join("; ")}.`, { width: view.width }).map(view.paint.strong);
}
