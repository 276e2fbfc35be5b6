// What was asked: the cluster in words and the settings as the flags of kube-controller-manager,
// with the values that were taken because nothing else was said. Pure.

import { durationText } from "../../../environment/duration-text.ts";
import { shortDuration } from "../../../lab/whatif/inputs.ts";
import type { Counts, Heartbeat, Question, Settings } from "../../../lab/whatif/question.ts";
import { settingFlags } from "../../../lab/whatif/run-flags.ts";
import { numberText } from "../../terminal/value-text.ts";
import { wrapText } from "../../terminal/wrapped-text.ts";
import type { LineOptions } from "./prediction-lines.ts";

const indent = "  ";

export function questionLines(
  { counts, settings }: Question,
  { width, paint, fitted }: LineOptions,
): readonly string[] {
  const wrapped = (text: string) => wrapText(text, { width, first: indent, rest: indent });
  return [
    paint.strong("The cluster"),
    ...wrapped(clusterText(counts)),
    ...(fitted === undefined ? [] : wrapped(`fitted: ${fitted}`).map(paint.secondary)),
    paint.strong(`The settings: Kubernetes ${settings.version}`),
    ...wrapped(argumentsOf(settings).join(" ")),
    ...wrapped(heartbeatText(settings.heartbeat)),
  ];
}

/** The flags to copy. */
export function argumentsOf(settings: Settings): readonly string[] {
  return Object.entries(settingFlags(settings)).map(([name, value]) =>
    name.endsWith("-period") ? `--${name}=${shortDuration(Number(value))}` : `--${name}=${value}`,
  );
}

function clusterText(counts: Counts): string {
  const { services, headlessShare, pods, nodes, changesPerSecond, writesPerSecond } = counts;
  const headless = numberText(Math.round(services * headlessShare));
  const churn =
    changesPerSecond === 0
      ? "no pod changes except the measured ones"
      : `${numberText(changesPerSecond)} pod changes a second`;
  const capacity =
    writesPerSecond === undefined
      ? "API server without a write limit"
      : `API server with ${numberText(writesPerSecond)} writes a second`;
  return (
    `${numberText(services)} services (${headless} headless), ${numberText(pods)} pods, ` +
    `${numberText(nodes)} nodes; ${churn}; ${capacity}, ` +
    `${durationText(counts.writeLatencyMs)} per write when idle`
  );
}

function heartbeatText({ by, minMs, maxMs }: Heartbeat): string {
  const what = by === "lease" ? "renew their Lease" : "post their status";
  const gap =
    minMs === maxMs
      ? `every ${durationText(minMs)}`
      : `every ${durationText(minMs)} to ${durationText(maxMs)}`;
  return `kubelets ${what} ${gap}`;
}
