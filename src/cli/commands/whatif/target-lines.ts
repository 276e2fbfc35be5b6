// Prints the search of `--target`: every try with its result, the cheapest settings that meet the target
// as flags to copy, and the next cheaper ones that fail. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import type { Question, Settings } from "../../../lab/whatif/question.ts";
import type { TargetAnswer, Try } from "../../../lab/whatif/target.ts";
import { type Column, rowLines } from "../../terminal/table.ts";
import { wrapText } from "../../terminal/text.ts";
import { numberText } from "../../terminal/value-text.ts";
import type { LineOptions } from "./view.ts";
import { argumentsOf, constraintSentence } from "./view.ts";

const columns: readonly Column[] = [
  { width: 8, align: "left" },
  { width: 6, align: "right" },
  { width: 6, align: "right" },
  { width: 7, align: "right" },
  { width: 12, align: "right" },
  { width: 12, align: "right" },
  { width: 8, align: "left" },
  { width: 6, align: "left" },
];

export function targetHead(targetMs: number, { paint }: LineOptions): readonly string[] {
  const head = ["version", "qps", "burst", "workers", "resync time", "longest wait", "limit", ""];
  return [
    paint.strong(`Target: no change waits longer than ${durationText(targetMs)}`),
    paint.secondary("  without a resync, during a restart, or at the end of a resync"),
    "",
    ...rowLines(head, columns, "  ").map(paint.secondary),
  ];
}

export function tryLines(tried: Try, { paint }: LineOptions): readonly string[] {
  const { settings, prediction, isMet } = tried;
  const { resync, worstWaitMs, constraint } = prediction;
  const drainMs = resync.drainMs ?? resync.restartDrainMs;
  const cells = [
    settings.version,
    numberText(settings.qps),
    numberText(settings.burst),
    numberText(settings.workers),
    drainMs === undefined ? "never" : durationText(drainMs),
    longestText(worstWaitMs),
    constraint.name,
    { text: isMet ? "✓ met" : "✗ no", paint: isMet ? paint.lockstep : paint.late },
  ];
  return rowLines(cells, columns, "  ");
}

export function targetLines(
  question: Question,
  answer: TargetAnswer,
  options: LineOptions,
): readonly string[] {
  const { width, paint } = options;
  const { found, cheaper, targetMs } = answer;
  const target = durationText(targetMs);
  const wrapped = (text: string) => wrapText(text, { width, first: "  ", rest: "  " });
  if (found === undefined) {
    return [
      "",
      paint.strong(paint.late(`No setting meets ${target}.`)),
      ...cheaper.flatMap((tried) => wrapped(constraintSentence(tried.prediction))),
    ];
  }
  const isUpgrade = found.settings.version !== question.settings.version;
  const changed = changedArguments(question.settings, found.settings);
  return [
    "",
    paint.strong(headline(answer, { isUpgrade, isChanged: changed.length > 0, target })),
    ...foundLines(found.settings, { isUpgrade, changed, width }),
    ...wrapped(simulatedText(found)),
    ...wrapped(
      `Full prediction: use the same command with ${typedText(found.settings, isUpgrade)}`,
    ).map(paint.secondary),
    ...(cheaper.length > 0 ? [paint.strong("The next cheaper settings do not:")] : []),
    ...cheaper.flatMap((tried) => cheaperLines(question.settings, tried, options)),
  ];
}

/** The flags that differ. */
export function changedArguments(from: Settings, to: Settings): readonly string[] {
  const known = new Set(argumentsOf(from));
  return argumentsOf(to).filter((argument) => !known.has(argument));
}

function foundLines(
  settings: Settings,
  {
    isUpgrade,
    changed,
    width,
  }: { readonly isUpgrade: boolean; readonly changed: readonly string[]; readonly width: number },
): readonly string[] {
  if (!isUpgrade) return changed.map((argument) => `    ${argument}`);
  const flags = argumentsOf(settings).slice(0, searchedFlags).join(" ");
  return [
    `    Kubernetes ${settings.version}, and the flags as they are:`,
    ...wrapText(flags, { width, first: "    ", rest: "    " }),
  ];
}

/** A search changes the first three: limit, burst and workers. */
const searchedFlags = 3;

/** As flags of this command. */
function typedText({ version, qps, burst, workers }: Settings, isUpgrade: boolean): string {
  const typed = `--qps ${qps} --burst ${burst} --workers ${workers}`;
  return `${isUpgrade ? `--kube-version ${version}` : typed} and without --target`;
}

function simulatedText(found: Try): string {
  const { worstWaitMs, resync } = found.prediction;
  const drained = resync.drainMs === undefined ? "" : durationText(resync.drainMs);
  return (
    `Simulated: resync finished in ${drained || "0"}; longest wait of ` +
    `${numberText(changesOf(found))} changes: ${longestText(worstWaitMs)}.`
  );
}

function headline(
  { cheaper }: TargetAnswer,
  {
    isUpgrade,
    isChanged,
    target,
  }: { readonly isUpgrade: boolean; readonly isChanged: boolean; readonly target: string },
): string {
  if (isUpgrade) {
    const binds = cheaper[0]?.prediction.constraint.name ?? "none";
    return `No flags meet ${target} (bottleneck: ${binds}). This does:`;
  }
  return isChanged
    ? `The cheapest settings that meet ${target}:`
    : `The current settings already meet ${target}.`;
}

function cheaperLines(
  from: Settings,
  { settings, prediction }: Try,
  { width }: LineOptions,
): readonly string[] {
  const { resync, worstWaitMs } = prediction;
  const drainMs = resync.drainMs ?? resync.restartDrainMs;
  const changed = changedArguments(from, settings).join(" ");
  const result =
    `Resync finished in: ${drainMs === undefined ? "not finished" : durationText(drainMs)}. ` +
    `Longest wait: ${longestText(worstWaitMs)}. ${constraintSentence(prediction)}`;
  return [
    ...wrapText(changed || "the current settings", { width, first: "    ", rest: "    " }),
    ...wrapText(result, { width, first: "      ", rest: "      " }),
  ];
}

/** A saturated queue has no longest wait. */
function longestText(worstWaitMs: number | undefined): string {
  return worstWaitMs === undefined ? "grows" : durationText(worstWaitMs);
}

function changesOf({ prediction: { waits } }: Try): number {
  const all = [waits.quiet, waits.resync, waits.restart];
  return all.reduce((sum, one) => sum + (one?.changes ?? 0), 0);
}
