// The incidents of the page: starts one at a time, applies its fix when a person asks, and stops it. An
// incident that fails says so, and everything else goes on.
import type { Environment } from "../../../../environment/environment.ts";
import { allIncidents } from "../../../../lab/incidents/all-incidents.ts";
import type { IncidentAction, Incidents, State } from "../../../../server/api.ts";
import { PageProblem } from "../../../../server/page-source.ts";
import { IncidentReport } from "./incident-report.ts";

/** The input of one run of an incident. */
export interface IncidentRun {
  readonly name: string;
  readonly report: IncidentReport;
  /** Resolves when the person asks for the fix; stays pending otherwise. */
  readonly fixWanted: Promise<void>;
  readonly signal: AbortSignal;
}

export interface IncidentServiceOptions extends Pick<Environment, "clock" | "log"> {
  /** Runs in the real clusters; the others run in simulated time. */
  readonly isLive: (name: string) => boolean;
  /** Why an incident cannot start now, a sentence; undefined when it can. */
  readonly refusal: (name: string) => string | undefined;
  /** Resolves when it is fixed; rejects when it is stopped or fails. */
  readonly run: (run: IncidentRun) => Promise<void>;
  readonly onChange: () => void;
}

interface Current {
  readonly report: IncidentReport;
  readonly stopping: AbortController;
  readonly wantFix: () => void;
  /** Never rejects. */
  readonly over: Promise<void>;
}

export class IncidentService {
  readonly #options: IncidentServiceOptions;
  #current: Current | undefined;

  constructor(options: IncidentServiceOptions) {
    this.#options = options;
  }

  incidents(): Incidents {
    return {
      incidents: allIncidents.map(({ name, summary, cause, fix }) => ({
        name,
        summary,
        cause,
        fix,
        isSimulated: !this.#options.isLive(name),
      })),
      running: this.#current?.report.running ?? null,
    };
  }

  /** Null unless one is running. */
  state(): State["incident"] {
    const report = this.#current?.report;
    if (report === undefined || report.isOver) return null;
    return { name: report.running.name, phase: report.phase };
  }

  /** Throws a `PageProblem` if it cannot. */
  act({ action, name }: IncidentAction): void {
    if (!allIncidents.some((one) => one.name === name)) {
      const names = allIncidents.map((one) => one.name).join(", ");
      throw new PageProblem(404, `There is no such incident. The incidents are ${names}.`);
    }
    if (action === "start") this.#start(name);
    else if (action === "fix") this.#fix(name);
    else this.#stop(name);
  }

  /** Stops the running incident. Idempotent. */
  async stop(): Promise<void> {
    this.#current?.stopping.abort(new Error("the page is closing"));
    await this.#current?.over;
  }

  #start(name: string): void {
    const { clock, isLive, refusal, onChange } = this.#options;
    const current = this.#current?.report;
    if (current !== undefined && !current.isOver) {
      throw new PageProblem(409, `${current.running.name} is running. Stop it first.`);
    }
    const why = refusal(name);
    if (why !== undefined) throw new PageProblem(409, why);
    const report = new IncidentReport({ name, isSimulated: !isLive(name), clock, onChange });
    const stopping = new AbortController();
    let wantFix = (): void => undefined;
    const fixWanted = new Promise<void>((resolve) => {
      wantFix = resolve;
    });
    const over = this.#run({ name, report, fixWanted, signal: stopping.signal });
    this.#current = { report, stopping, wantFix, over };
    onChange();
  }

  #fix(name: string): void {
    const { report, wantFix } = this.#running(name);
    if (report.running.finding === null) {
      throw new PageProblem(409, "No cause is named yet, so there is no fix to apply.");
    }
    wantFix();
  }

  /** One that is over, or another one, is left as it is. */
  #stop(name: string): void {
    const current = this.#current;
    if (current === undefined || current.report.isOver) return;
    if (current.report.running.name !== name) return;
    current.stopping.abort(new Error("the incident was stopped"));
    if (current.report.phase === "fixed") current.report.enter("ended");
  }

  #running(name: string): Current {
    const current = this.#current;
    if (current === undefined || current.report.isOver || current.report.running.name !== name) {
      throw new PageProblem(409, `${name} is not running. Start it first.`);
    }
    return current;
  }

  async #run(run: IncidentRun): Promise<void> {
    const { report, signal } = run;
    try {
      await this.#options.run(run);
    } catch (error) {
      if (signal.aborted) {
        report.step("it was stopped");
        report.enter("ended");
        return;
      }
      const message = error instanceof Error ? error.message : String(error);
      this.#options.log.warn("an incident failed", { incident: run.name, error });
      report.step(`it failed: ${message}`);
      report.enter("failed");
    }
  }
}
