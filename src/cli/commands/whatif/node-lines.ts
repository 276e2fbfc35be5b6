// What becomes of nodes, always both sides of the grace period: how often a living one is given up,
// and how long a dead one is believed. Pure.
import { durationText } from "../../../environment/duration-text.ts";
import type { NodePrediction, Spread } from "../../../lab/whatif/node-run.ts";
import type { Settings } from "../../../lab/whatif/question.ts";
import { numberText } from "../../terminal/value-text.ts";
import type { LineOptions } from "./prediction-lines.ts";

export function nodeLines(
  nodes: NodePrediction,
  { graceMs }: Settings,
  { paint }: LineOptions,
): readonly string[] {
  const { flapsPerHour, outages, noticed, left, nodeHours } = nodes;
  const hours = numberText(Number(nodeHours.toPrecision(2)));
  return [
    paint.strong(`Nodes, with a grace period of ${durationText(graceMs)}`),
    `  healthy node marked lost: ${flapsText(flapsPerHour)} (in ${hours} node hours)`,
    ...(outages === undefined ? [] : [`    its endpoints are missing for ${spread(outages)}`]),
    `  dead node marked lost after ${spread(noticed)}`,
    `    its endpoints are removed after ${spread(left)}`,
  ];
}

function flapsText(perHour: number): string {
  if (perHour === 0) return "never";
  return `${numberText(Number(perHour.toPrecision(3)))} times an hour`;
}

function spread(times: Spread | undefined): string {
  if (times === undefined) return "more than the simulated time";
  return `${durationText(times.p50Ms)}, at most ${durationText(times.maxMs)}`;
}
