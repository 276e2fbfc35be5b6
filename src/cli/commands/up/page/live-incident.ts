// The incident `throttled-controller` in the running clusters: the controller manager is restarted with
// the default limits, the shop is released under traffic, the doctor names the cause from live evidence,
// and the fix is a restart with the flags that its finding names. Afterwards the flags are as before, or
// those of the fix.
import type { Finding } from "../../../../doctor/finding.ts";
import type { WallMs } from "../../../../environment/clock.ts";
import { durationText } from "../../../../environment/duration-text.ts";
import type { Environment } from "../../../../environment/environment.ts";
import type { Terminal } from "../../../../environment/terminal.ts";
import type { RequestCount, Series } from "../../../../server/api.ts";
import { pageFinding } from "../../../../server/page-doctor.ts";
import type { SeriesValue } from "../../../../server/page-source.ts";
import { flagsOf, type Release, release } from "../release.ts";
import type { TrafficCount, TrafficWindow } from "../traffic-count.ts";
import { Narrator, type StoryListener } from "../view.ts";
import { busyCluster, throttledFlags, verbosity, type World } from "../world.ts";
import type { IncidentReport, ShownMeasure } from "./incident-report.ts";
import { lostRequests } from "./lost-requests.ts";
import { untilWanted } from "./simulated-incident.ts";

export interface LiveIncidentOptions {
  readonly environment: Environment;
  /** Nothing is printed there: `lockstep up` prints every change itself. */
  readonly terminal: Terminal;
  readonly world: World;
  /** Undefined without proxies. */
  readonly traffic: TrafficCount | undefined;
  /** The charts of the control plane now. */
  readonly series: () => readonly SeriesValue[];
  readonly report: IncidentReport;
  /** Called with the doctor's finding, and with undefined when its cause is gone. */
  readonly onFinding: (finding: Finding | undefined) => void;
  /** Resolves when the person asks for the fix. */
  readonly fixWanted: Promise<void>;
  readonly signal: AbortSignal;
}

/** As often as the charts of the control plane get a value. */
const pointEveryMs = 2_000;

/** Ten minutes; an incident takes two. */
const pointsMax = 300;

export async function runLiveIncident(options: LiveIncidentOptions): Promise<void> {
  const { environment, world, report, signal } = options;
  const { controlPlane } = world.cluster(busyCluster);
  const before = controlPlane.flags;
  const charts = new IncidentCharts(options);
  const following = charts.follow();
  let isFixed = false;
  try {
    report.step(`the controller manager of ${busyCluster} restarts with its default rate limit`);
    await controlPlane.restart(throttledFlags);
    report.enter("fault");
    const window = options.traffic?.window();
    const throttled = await releaseUntilNamed(options, window);
    const { finding } = throttled;
    report.enter("examining");
    if (finding === undefined) throw new Error("the doctor named no cause");
    await untilWanted(options.fixWanted, signal);
    report.enter("fixing");
    const { change } = finding.fix;
    report.step(`the fix: the controller manager restarts with ${change}`);
    await controlPlane.restart({ ...flagsOf(change), ...verbosity });
    isFixed = true;
    const fixed = await releaseShop(options, window, {
      name: `fixed-${environment.clock.wallMs()}`,
    });
    report.measure(measuresOf(throttled, fixed));
    report.enter("fixed");
  } finally {
    charts.stop();
    await following;
    if (!isFixed && !world.isStopping) await controlPlane.restart(before);
    options.onFinding(undefined);
  }
}

/** Ends early when the person asks for the fix. */
async function releaseUntilNamed(
  options: LiveIncidentOptions,
  window: TrafficWindow | undefined,
): Promise<Release> {
  const { environment, report, fixWanted } = options;
  const { clock } = environment;
  const asked = { isAsked: false };
  void fixWanted.then(() => {
    asked.isAsked = true;
  });
  let since: WallMs | undefined;
  return await releaseShop(options, window, {
    name: `incident-${clock.wallMs()}`,
    onFinding: (finding) => {
      since ??= clock.wallMs();
      report.found(pageFinding(finding, { cluster: busyCluster, since }));
      options.onFinding(finding);
    },
    isEnough: () => asked.isAsked,
  });
}

async function releaseShop(
  { environment, terminal, world, traffic, report, signal }: LiveIncidentOptions,
  window: TrafficWindow | undefined,
  plan: {
    readonly name: string;
    readonly onFinding?: (finding: Finding) => void;
    readonly isEnough?: () => boolean;
  },
): Promise<Release> {
  const listener = new ReleaseListener(report, window);
  const narrator = new Narrator({ terminal, quiet: true, listener });
  const options = { environment, world, traffic: traffic?.window(), narrator, signal };
  const result = await release(options, { ...plan, examine: plan.onFinding !== undefined });
  listener.count();
  const { publishedMs, stockMs, lockstepMs } = result;
  report.step(
    "median time until a removed pod left: " +
      `the Endpoints ${lagText(publishedMs)}, stock (model) ${lagText(stockMs)}, ` +
      `Lockstep ${lagText(lockstepMs)}`,
  );
  return result;
}

class ReleaseListener implements StoryListener {
  readonly #report: IncidentReport;
  readonly #window: TrafficWindow | undefined;

  constructor(report: IncidentReport, window: TrafficWindow | undefined) {
    this.#report = report;
    this.#window = window;
  }

  act(): void {
    // A release has no parts.
  }

  step(text: string): void {
    this.#report.step(text);
  }

  counters(): void {
    this.count();
  }

  count(): void {
    const window = this.#window;
    if (window === undefined) return;
    const sides = ["stock", "lockstep"] as const;
    const counts = sides.map((side): RequestCount => {
      const { requests, lost } = window.lost(side);
      return { side, requests, lost, sentToDead: null };
    });
    this.#report.count(counts);
  }
}

/** The control plane and the lost requests during the incident, as the page draws them. */
class IncidentCharts {
  readonly #options: LiveIncidentOptions;
  readonly #stopping = new AbortController();
  readonly #charts = new Map<string, Series>();

  constructor(options: LiveIncidentOptions) {
    this.#options = options;
  }

  /** Resolves after `stop`. */
  async follow(): Promise<void> {
    const { environment, series, report } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const at = environment.clock.wallMs();
      for (const { value, ...about } of [...series(), ...lostRequests(report.running.requests)]) {
        const points = this.#charts.get(about.id)?.points ?? [];
        const all: Series["points"] = [...points, [at, value]];
        this.#charts.set(about.id, { ...about, points: all.slice(-pointsMax) });
      }
      report.chart([...this.#charts.values()]);
      await environment.timers.sleep(pointEveryMs, signal).catch((error: unknown) => {
        if (!signal.aborted) throw error;
      });
    }
  }

  stop(): void {
    this.#stopping.abort(new Error("the incident is over"));
  }
}

function measuresOf(throttled: Release, fixed: Release): readonly ShownMeasure[] {
  return [...rowsOf(throttled, ""), ...rowsOf(fixed, "with the fix: ")];
}

function rowsOf(
  { publishedMs, stockMs, lockstepMs, stock, lockstep }: Release,
  prefix: string,
): readonly ShownMeasure[] {
  const none = { goal: null, held: true };
  const published = lagText(publishedMs);
  const rows: ShownMeasure[] = [
    {
      text: `${prefix}median time until a removed pod left the Endpoints`,
      stock: published,
      lockstep: null,
      ...none,
    },
  ];
  if (stock === undefined || lockstep === undefined) return rows;
  const share = (count: number, requests: number) => `${count} of ${requests}`;
  return [
    ...rows,
    {
      text: `${prefix}median time until the proxies stopped using it`,
      stock: lagText(stockMs),
      lockstep: lagText(lockstepMs),
      ...none,
    },
    {
      text: `${prefix}requests to dead pods`,
      stock: share(stock.sentToDead, stock.requests),
      lockstep: share(lockstep.sentToDead, lockstep.requests),
      ...none,
    },
    {
      text: `${prefix}requests lost`,
      stock: share(stock.lost, stock.requests),
      lockstep: share(lockstep.lost, lockstep.requests),
      goal: "none",
      held: lockstep.lost === 0,
    },
  ];
}

function lagText(ms: number | undefined): string {
  return ms === undefined ? "not yet" : durationText(ms);
}
