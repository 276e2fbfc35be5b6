// All numbers of a question, with their bounds: one table for the command line, for sweeps and for error
// messages. Also finds values that contradict each other.
//
// A new number is a field in question.ts and a row here. The compiler then asks for its flag of the
// controllers (run-flags.ts) and for its help (command.ts of `lockstep whatif`).
import { goDuration, parseGoDuration } from "../../environment/go-duration.ts";
import { controllerFlags } from "../controllers/flags.ts";
import { profileNamed, profileNames } from "../versions/profiles.ts";
import { beatsPerSecond } from "./node-beats.ts";
import type { Counts, FlagSettings, Question } from "./question.ts";

export interface Input {
  /** As it is typed: `--grace-period`, `--sweep grace-period=20s..2m`. */
  readonly key: InputKey;
  readonly unit: "count" | "share" | "per second" | "duration";
  readonly from: number;
  readonly to: number;
  /** The part of a prediction that it changes. */
  readonly concerns: "publishing" | "nodes";
  readonly with: (question: Question, value: number) => Question;
  readonly of: (question: Question) => number | undefined;
}

export type InputKey =
  | "services"
  | "headless-share"
  | "pods"
  | "nodes"
  | "churn"
  | "write-capacity"
  | "write-latency"
  | "qps"
  | "burst"
  | "workers"
  | "resync"
  | "batch-period"
  | "grace-period";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** A smaller cluster is published within the first burst with any settings. */
const servicesMin = 10;

/** Above these bounds a run takes many minutes, or the value is a typing error. */
export const inputs: readonly Input[] = [
  count("services", servicesMin, 30_000, "services"),
  { ...count("headless-share", 0, 1, "headlessShare"), unit: "share" },
  count("pods", 1, 100_000, "pods"),
  { ...count("nodes", 1, 5_000, "nodes"), concerns: "publishing" },
  { ...count("churn", 0, 200, "changesPerSecond"), unit: "per second" },
  { ...count("write-capacity", 1, 100_000, "writesPerSecond"), unit: "per second" },
  { ...count("write-latency", 0, 10_000, "writeLatencyMs"), unit: "duration" },
  { ...setting("qps", 1, 10_000, "qps"), unit: "per second" },
  setting("burst", 1, 20_000, "burst"),
  setting("workers", 1, 1_000, "workers"),
  { ...setting("resync", minuteMs, 1_000 * hourMs, "resyncMs"), unit: "duration" },
  { ...setting("batch-period", 0, minuteMs, "batchMs"), unit: "duration" },
  { ...setting("grace-period", 1_000, hourMs, "graceMs"), unit: "duration", concerns: "nodes" },
];

export function inputNamed(key: string): Input | undefined {
  return inputs.find((input) => input.key === key);
}

/** The value, or the allowed range. */
export function readInput(
  input: Input,
  text: string,
): { readonly value: number } | { readonly refusal: string } {
  const value = parse(input, text.trim());
  const isWhole = input.unit !== "count" || Number.isInteger(value);
  if (value !== undefined && isWhole && value >= input.from && value <= input.to) return { value };
  const whole = input.unit === "count" ? "a whole number " : "";
  const form = input.unit === "per second" ? `, such as ${exampleRates(input)}` : "";
  return { refusal: `It must be ${whole}${rangeText(input)}${form}.` };
}

/** The forms of a rate, each with a value that is within the bounds. */
function exampleRates({ from }: Input): string {
  return from <= 0.5 ? "20, 0.5/s or 30/min" : "20, 20/s or 600/min";
}

/** `from 1 to 1,000`, `from 1s to 1h`. */
export function rangeText(input: Input): string {
  return `from ${inputText(input, input.from)} to ${inputText(input, input.to)}`;
}

/** As it can be typed. */
export function inputText({ unit }: Pick<Input, "unit">, value: number): string {
  return unit === "duration" ? shortDuration(value) : value.toLocaleString("en-US");
}

/** `12h` where Go prints `12h0m0s`. */
export function shortDuration(ms: number): string {
  return goDuration(ms)
    .replace(/(?<=[hm])0s$/, "")
    .replace(/(?<=h)0m$/, "");
}

function parse({ unit }: Input, text: string): number | undefined {
  if (unit === "duration") return parseGoDuration(text);
  const rate = unit === "per second" ? /^(.+)\/(s|min)$/.exec(text) : null;
  const typed = rate?.[1] ?? text;
  const number = /^\d{1,3}(,\d{3})+$/.test(typed) ? typed.replaceAll(",", "") : typed;
  if (!/^\d*\.?\d+$/.test(number)) return undefined;
  return Number(number) / (rate?.[2] === "min" ? 60 : 1);
}

function count(key: InputKey, from: number, to: number, field: keyof Counts): Input {
  return {
    key,
    unit: "count",
    from,
    to,
    concerns: "publishing",
    with: (question, value) => ({ ...question, counts: { ...question.counts, [field]: value } }),
    of: ({ counts }) => counts[field],
  };
}

function setting(key: InputKey, from: number, to: number, field: keyof FlagSettings): Input {
  return {
    key,
    unit: "count",
    from,
    to,
    concerns: "publishing",
    with: (question, value) => ({
      ...question,
      settings: { ...question.settings, [field]: value },
    }),
    of: ({ settings }) => settings[field],
  };
}

/** One sentence each; empty when the question is valid. */
export function contradictionsOf({ counts, settings }: Question): readonly string[] {
  const { version, graceMs, batchMs, heartbeat } = settings;
  const profile = profileNamed(version);
  const monitorMs = controllerFlags(profile)["node-monitor-period"];
  const found: string[] = [];
  if (graceMs <= monitorMs) {
    found.push(
      `The grace period of ${shortDuration(graceMs)} must be above --node-monitor-period, ` +
        `${shortDuration(monitorMs)}.`,
    );
  }
  if (batchMs > 0 && profile.flags.lacks.includes("endpoint-updates-batch-period")) {
    found.push(
      `Kubernetes ${version} has no --endpoint-updates-batch-period: a batch period needs ` +
        `${versionsWith("endpoint-updates-batch-period")}.`,
    );
  }
  if (heartbeat.by === "lease" && !profile.nodes.leases) {
    found.push(
      `Kubelets of ${version} have no Leases: use --heartbeat status:… or a version that has ` +
        `them (${profileNames.filter((name) => profileNamed(name).nodes.leases).join(", ")}).`,
    );
  }
  const beats = beatsPerSecond(counts, settings);
  const { writesPerSecond = Number.POSITIVE_INFINITY } = counts;
  if (beats + counts.changesPerSecond >= writesPerSecond) {
    found.push(
      `Heartbeats and changes of pods alone are ${Math.ceil(beats + counts.changesPerSecond)} ` +
        `writes a second: --write-capacity must be at least ` +
        `${Math.floor(beats + counts.changesPerSecond) + 1}, or there is no steady state.`,
    );
  }
  const churnMax = Math.min(counts.pods, counts.services);
  if (counts.changesPerSecond > churnMax) {
    found.push(
      `${counts.changesPerSecond} changes a second are more than one a second of each pod or ` +
        `service: --churn may be at most ${churnMax} here.`,
    );
  }
  return found;
}

function versionsWith(flag: "endpoint-updates-batch-period"): string {
  const known = profileNames.filter((name) => !profileNamed(name).flags.lacks.includes(flag));
  return known.join(" or ");
}
