// The effect of a fix, as a simulation predicts it for the sizes and flags that were found. The simulation
// is handed in: this folder knows no lab. Where a size is unknown, the reason is stated instead.
import type { Cause } from "./cause.ts";
import type { Diagnosis } from "./diagnose.ts";
import type { Evidence } from "./evidence/evidence.ts";
import type { Finding } from "./finding.ts";

/** The settings that a simulation compares with those that were found. */
export interface FixedSettings {
  /** `1.17.13`. */
  readonly version?: string;
  readonly qps?: number;
  readonly burst?: number;
  /** As a flag has it: `70s`. */
  readonly grace?: string;
}

/** The simulation for a cause: how changes are published, or how nodes are marked as lost. */
export type FixTrial =
  | {
      readonly concerns: "publishing";
      readonly fixed: FixedSettings;
      /** Services of which the cause knows that they are headless; otherwise they are counted. */
      readonly headless?: number;
    }
  | {
      readonly concerns: "nodes";
      readonly fixed: FixedSettings;
      /** Between two heartbeats of a late node; undefined when that is unknown. */
      readonly gap: HeartbeatGap | undefined;
    };

export interface HeartbeatGap {
  readonly minMs: number;
  readonly maxMs: number;
}

export interface ClusterSizes {
  /** With a selector: no controller publishes endpoints of the others. */
  readonly services: number;
  readonly headless: number;
  /** Undefined when no list of them was given. */
  readonly pods: number | undefined;
  readonly nodes: number | undefined;
}

interface AskedOfAll {
  /** `1.17.3`, or `1.17`. */
  readonly version: string;
  /** Flags that were found, by name; the others have their default. */
  readonly flags: ReadonlyMap<string, string>;
  readonly fixed: FixedSettings;
}

/** A complete question for the simulation. */
export type FixQuestion = AskedOfAll &
  (
    | { readonly concerns: "publishing"; readonly sizes: ClusterSizes }
    | { readonly concerns: "nodes"; readonly gap: HeartbeatGap }
  );

/** A sentence: why there is no effect. */
export interface NotPredicted {
  readonly notPredicted: string;
}

export type FixForecast = { readonly effect: string } | NotPredicted;

export interface ForecastOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (step: string, detail: string) => void;
}

/** It takes a bounded time, and rejects only when the signal aborts. */
export type PredictFix = (question: FixQuestion, options: ForecastOptions) => Promise<FixForecast>;

export interface EffectOptions extends ForecastOptions {
  readonly causes: readonly Cause[];
  readonly predict: PredictFix;
}

/** Each takes seconds; the worst are first. */
const predictionsMax = 3;

/** A smaller list is a part of the cluster, and a smaller cluster has no backlog. */
const servicesMin = 10;

/** The diagnosis with the effect of the fixes that can be simulated. Rejects when the signal aborts. */
export async function withEffects(
  diagnosis: Diagnosis,
  evidence: Evidence,
  options: EffectOptions,
): Promise<Diagnosis> {
  const findings: Finding[] = [];
  let predicted = 0;
  for (const finding of diagnosis.findings) {
    const cause = options.causes.find(({ name }) => name === finding.rule);
    const trial = cause?.trial?.(evidence);
    if (trial === undefined || predicted >= predictionsMax) {
      findings.push(finding);
      continue;
    }
    const question = questionOf(trial, evidence);
    const isComplete = !("notPredicted" in question);
    if (isComplete) predicted += 1;
    const forecast = isComplete ? await options.predict(question, options) : question;
    findings.push({ ...finding, fix: { ...finding.fix, ...forecast } });
  }
  return { ...diagnosis, findings };
}

function questionOf(trial: FixTrial, evidence: Evidence): FixQuestion | NotPredicted {
  const { settings } = evidence;
  const version = settings.version?.value;
  if (version === undefined) return unknown("the version is unknown", "kubectl version");
  const flags = new Map([...settings.flags].map(([name, { value }]) => [name, value]));
  const { fixed } = trial;
  if (trial.concerns === "nodes") {
    const { gap } = trial;
    return gap === undefined
      ? unknown("the times between heartbeats are unknown", "lockstep doctor --context … --for 5m")
      : { concerns: "nodes", version, flags, fixed, gap };
  }
  const sizes = sizesOf(trial, evidence);
  return sizes === undefined
    ? unknown("the number of services is unknown", "kubectl get services -A -o yaml")
    : { concerns: "publishing", version, flags, fixed, sizes };
}

function unknown(why: string, command: string): NotPredicted {
  return { notPredicted: `${why}; the output of "${command}" has it.` };
}

/** Of the largest list; undefined when there is none. */
function sizesOf(
  trial: Extract<FixTrial, { readonly concerns: "publishing" }>,
  { objects, signs }: Evidence,
): ClusterSizes | undefined {
  const selected = [...objects.services.values()].filter(
    ({ selector }) => Object.keys(selector).length > 0,
  );
  const written = signs.get("endpoints-written")?.subjects.size ?? 0;
  const services = Math.max(selected.length, written, objects.endpoints.size);
  if (services < servicesMin) return undefined;
  const counted = selected.filter(({ isHeadless }) => isHeadless).length;
  const headless = Math.min(services, Math.max(counted, trial.headless ?? 0));
  const of = (size: number): number | undefined => (size === 0 ? undefined : size);
  return { services, headless, pods: of(objects.pods.size), nodes: of(objects.nodes.size) };
}
