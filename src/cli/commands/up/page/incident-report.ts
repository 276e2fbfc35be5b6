// An incident that runs on the page: its phase, steps, requests, finding, charts and measures. Both ways of
// running one, real and simulated, write into it. Bounded.

import type { Clock } from "../../../../environment/clock.ts";
import { durationText } from "../../../../environment/duration-text.ts";
import type { Measure } from "../../../../lab/incidents/incident.ts";
import type { Finding, Incidents, RequestCount, Series } from "../../../../server/api.ts";
import { valueText } from "../../../terminal/value-text.ts";

export type RunningIncident = NonNullable<Incidents["running"]>;
export type Phase = RunningIncident["phase"];
export type ShownMeasure = RunningIncident["measures"][number];

export interface IncidentReportOptions {
  readonly name: string;
  readonly isSimulated: boolean;
  readonly clock: Pick<Clock, "wallMs">;
  /** Pages should read it again. */
  readonly onChange: () => void;
}

/** The page shows the newest. */
const stepsMax = 100;

export class IncidentReport {
  readonly #options: IncidentReportOptions;
  #running: RunningIncident;
  #faultAt: number | undefined;

  constructor(options: IncidentReportOptions) {
    this.#options = options;
    const { name, isSimulated, clock } = options;
    this.#running = {
      name,
      phase: "starting",
      startedAt: clock.wallMs(),
      isSimulated,
      steps: [],
      requests: [],
      finding: null,
      namedAfterMs: null,
      charts: [],
      measures: [],
    };
  }

  get running(): RunningIncident {
    return this.#running;
  }

  get phase(): Phase {
    return this.#running.phase;
  }

  /** It can neither be fixed nor stopped any more. */
  get isOver(): boolean {
    return this.phase === "ended" || this.phase === "failed";
  }

  enter(phase: Phase): void {
    if (phase === "fault") this.#faultAt = this.#options.clock.wallMs();
    this.#set({ phase });
  }

  step(text: string): void {
    const at = this.#options.clock.wallMs();
    this.#set({ steps: [...this.#running.steps, { at, text }].slice(-stepsMax) });
  }

  count(requests: readonly RequestCount[]): void {
    this.#set({ requests: [...requests] });
  }

  chart(charts: readonly Series[]): void {
    this.#set({ charts: [...charts] });
  }

  measure(measures: readonly ShownMeasure[]): void {
    this.#set({ measures: [...measures] });
  }

  /** The first time counts as the moment at which the cause was named. */
  found(finding: Finding): void {
    const { clock } = this.#options;
    const isFirst = this.#running.finding === null;
    // In simulated time the doctor reads the files of the whole run, so there is no such moment.
    const isTimed = isFirst && !this.#running.isSimulated && this.#faultAt !== undefined;
    const namedAfterMs = isTimed
      ? clock.wallMs() - (this.#faultAt ?? 0)
      : this.#running.namedAfterMs;
    this.#set({ finding, namedAfterMs });
    if (!isFirst) return;
    const after = namedAfterMs === null ? "" : ` after ${durationText(namedAfterMs)}`;
    this.step(`the doctor names the cause${after}: ${finding.rule} (${finding.confidence})`);
  }

  #set(change: Partial<RunningIncident>): void {
    this.#running = { ...this.#running, ...change };
    this.#options.onChange();
  }
}

/** As the page shows it. */
export function shownMeasure(
  { text, unit, stock, lockstep, goal, held }: Measure,
  prefix = "",
): ShownMeasure {
  const value = (one: number | undefined) => (one === undefined ? null : valueText(one, unit));
  const shown = { stock: value(stock), lockstep: value(lockstep) };
  return { text: `${prefix}${text}`, ...shown, goal: goal ?? null, held };
}
