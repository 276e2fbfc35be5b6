// One run of a control plane in virtual time: a start, quiet times, and resyncs. Pod changes at random
// moments of each are timed until they are published. The idle hours between two resyncs are not
// simulated; they are counted afterwards.
import type { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import { added, emptyInterval, type IntervalCounters } from "../probe/interval-counters.ts";
import type { ByVerb } from "../probe/request-counters.ts";
import type { Probe } from "./pod-changes.ts";
import { PublishingPlan, quietLoadMs, quietProbes, settleMs } from "./publishing-plan.ts";
import { PublishingWorld } from "./publishing-world.ts";
import type { Question } from "./question.ts";
import { type DepthPoint, fillingOf, type Storm, waitGrowth } from "./storm-watch.ts";

export interface PublishingRunOptions {
  readonly question: Question;
  /** The cluster, as it stands; the run works on a copy. */
  readonly storage: MemoryStorage;
  /** Called now and then in real time. */
  readonly onProgress?: (progress: RunProgress) => void | Promise<void>;
  readonly signal?: AbortSignal;
  /** A search gives up after the start when a change waited longer than this. */
  readonly giveUpAfterMs?: number;
}

export interface RunProgress {
  readonly step: string;
  readonly virtualMs: number;
}

export interface PublishingResult {
  /** From the start until every key was synced once; undefined when that never happened. */
  readonly startDrainMs: number | undefined;
  /** Resyncs, or the rounds of a version that syncs all services periodically. */
  readonly storms: readonly Storm[];
  /** Timed changes at a start, in quiet times and during a storm. */
  readonly probes: Readonly<Record<"start" | "quiet" | "storm", readonly Probe[]>>;
  /** Keys in the queues over the time of the run. */
  readonly depths: readonly DepthPoint[];
  readonly quiet: IntervalCounters;
  readonly storm: IntervalCounters;
  readonly peak: ByVerb;
  /** The run used the real period, so its quiet times have their real length. */
  readonly isWhole: boolean;
  /** The queue is never empty, so there are no quiet times. */
  readonly isSaturated: boolean;
  /** Seconds by which the wait grows every second, when the queue was still filling at the end. */
  readonly waitGrowth: number | undefined;
  /** The run ended early because the target was already missed. */
  readonly isGivenUp: boolean;
}

/** Between two looks at the queue in quiet times. */
const quietLookMs = 250;

/** Frequent looks start so long before a resync is due; it may come so late. */
const resyncEarlyMs = 20;
const resyncLateMs = 60_000;

/** Changes in a saturated queue have this long to be published. */
const drainLookMs = 2_000;
const drainWithinMs = 24 * 3_600_000;

const progressEveryEvents = 2_000;

export async function runPublishing(options: PublishingRunOptions): Promise<PublishingResult> {
  const { question, onProgress, signal } = options;
  const said = { step: "" };
  const progress = onProgress && {
    onProgress: ({ nowMs }: { readonly nowMs: number }) =>
      onProgress({ ...said, virtualMs: nowMs }),
  };
  let plan = new PublishingPlan(question);
  for (;;) {
    const { seed } = question;
    const simulated = { seed, progressEveryEvents, ...progress, ...(signal && { signal }) };
    const result = await simulate(simulated, (simulation) =>
      new PublishingRun(simulation, options, plan, said).play(),
    );
    if (result !== "too early") return result;
    plan = plan.withLaterResync();
  }
}

/** The result of the start. */
interface Start {
  readonly drainMs: number | undefined;
  readonly probes: number;
  readonly isGivenUp: boolean;
}

/** The result of a saturated queue has no drain. */
const noDrain = { startDrainMs: undefined, storms: [], isSaturated: true } as const;

class PublishingRun {
  readonly #simulation: Simulation;
  readonly #options: PublishingRunOptions;
  readonly #plan: PublishingPlan;
  readonly #said: { step: string };
  readonly #world: PublishingWorld;
  #startMs = 0;
  /** Timed changes between the start and this one are not counted. */
  #firstProbe = 0;

  constructor(
    simulation: Simulation,
    options: PublishingRunOptions,
    plan: PublishingPlan,
    said: { step: string },
  ) {
    this.#simulation = simulation;
    this.#options = options;
    this.#plan = plan;
    this.#said = said;
    this.#world = new PublishingWorld({ ...options, simulation, plan });
  }

  /** `too early` when the resync came before the end of the start. */
  async play(): Promise<PublishingResult | "too early"> {
    this.#said.step = "starting the controllers";
    await this.#world.start();
    this.#startMs = this.#simulation.now();
    try {
      return await this.#measure();
    } finally {
      await this.#world.stop();
    }
  }

  async #measure(): Promise<PublishingResult | "too early"> {
    const { monitor } = this.#world;
    const { periodMs } = this.#plan;
    const start = await this.#timeStart();
    if (monitor.storms.length > 1 && periodMs === undefined) return "too early";
    // The start is all that a run which is given up can be judged by.
    if (start.isGivenUp) return this.#result(start);
    await monitor.forget();
    if (periodMs === undefined && this.#plan.churnWindowMs > 0) {
      const saturated = await this.#timeChurn(start);
      if (saturated !== undefined) return saturated;
    }
    this.#world.startChurn();
    if (start.drainMs === undefined || periodMs !== undefined) {
      await this.#timeRounds();
      return this.#result(start);
    }
    this.#said.step = "timing changes in quiet times";
    await this.#timeQuiet();
    this.#said.step = "timing changes during a resync";
    await this.#timeResyncs(start.drainMs);
    return this.#result(start);
  }

  async #timeStart(): Promise<Start> {
    const { monitor, changes } = this.#world;
    const { expectedMs, probesPerStorm } = this.#plan;
    this.#world.probeDuring(expectedMs, probesPerStorm);
    const hasStarted = () => monitor.storms.length > 0 && !monitor.isStorm;
    const isDrained = await monitor.until(hasStarted, this.#plan.limitMs(expectedMs));
    this.#world.callOffProbes();
    const nowMs = this.#simulation.now();
    const { giveUpAfterMs = Number.POSITIVE_INFINITY } = this.#options;
    return {
      drainMs: isDrained ? nowMs - this.#startMs : undefined,
      probes: changes.probes.length,
      isGivenUp: closed(changes.probes, nowMs).some(({ waitMs = 0 }) => waitMs > giveUpAfterMs),
    };
  }

  /** Churn until it is clear whether the queue keeps up; undefined when it does. */
  async #timeChurn(start: Start): Promise<PublishingResult | undefined> {
    this.#said.step = "timing changes of the churn";
    const { monitor, changes } = this.#world;
    const { churnWindowMs, quietWindowMs } = this.#plan;
    monitor.gapMs = quietLookMs;
    this.#world.startChurn();
    this.#world.probeDuring(churnWindowMs, this.#plan.churnProbes(churnWindowMs));
    const filling = fillingOf(await monitor.backlogs(churnWindowMs));
    this.#world.callOffProbes();
    if (filling.is === "empty") {
      await monitor.until(() => changes.open === 0, settleMs);
      this.#firstProbe = changes.probes.length;
      await monitor.forget();
      return undefined;
    }
    // A short queue that no longer grows may seem to grow by chance, so the plan decides.
    if (filling.is === "growing" && !this.#plan.isLevelSeen) {
      const stretches = await monitor.stretches();
      // A key waits only for keys before it, so churn can stop without changing the wait.
      this.#world.stopChurn();
      monitor.gapMs = drainLookMs;
      await monitor.until(() => changes.open === 0, drainWithinMs);
      const growth = waitGrowth(changes.probes.filter(({ atMs }) => atMs > filling.sinceMs));
      const result = { ...(await this.#result(start)), ...stretches, waitGrowth: growth };
      const probes = { start: [], quiet: [], storm: [] };
      return { ...withoutQuiet(result), ...noDrain, probes };
    }
    // The queue has its final length, so waits no longer depend on the time.
    await monitor.forget();
    this.#firstProbe = changes.probes.length;
    const windowMs = Math.max(quietWindowMs, churnWindowMs / 2);
    this.#world.probeDuring(windowMs, this.#plan.churnProbes(windowMs));
    await monitor.until(() => false, windowMs);
    await monitor.until(() => changes.open === 0, drainWithinMs);
    const result = withoutQuiet(await this.#result(start));
    return { ...result, ...noDrain, probes: { ...result.probes, start: [] } };
  }

  async #timeQuiet(): Promise<void> {
    const { monitor } = this.#world;
    const { quietWindowMs } = this.#plan;
    monitor.gapMs = quietLookMs;
    this.#world.probeDuring(quietWindowMs, quietProbes);
    await monitor.until(() => false, quietWindowMs + settleMs);
    // The load of quiet times is measured without timed changes.
    await monitor.forget();
    await monitor.until(() => false, quietLoadMs);
  }

  async #timeResyncs(startDrainMs: number): Promise<void> {
    const { monitor, changes } = this.#world;
    const { storms, probesPerStorm } = this.#plan;
    const limitMs = this.#plan.limitMs(startDrainMs);
    for (let storm = 0; storm < storms; storm += 1) {
      await this.#untilResync(startDrainMs);
      this.#world.probeDuring(startDrainMs, probesPerStorm);
      const isOver = await monitor.until(() => !monitor.isStorm, limitMs);
      this.#world.callOffProbes();
      await monitor.until(() => changes.open === 0, limitMs);
      if (!isOver) return;
    }
  }

  /** The next one is due a period after the last one or after the start. */
  async #untilResync(startDrainMs: number): Promise<void> {
    const { monitor } = this.#world;
    const { storms } = monitor;
    const seen = storms.length;
    const last = seen > 1 ? storms.at(-1) : undefined;
    const dueMs = (last?.startMs ?? this.#startMs) + this.#plan.resyncMs;
    const gapMs = this.#plan.lookGapMs(startDrainMs);
    monitor.gapMs = quietLookMs;
    await monitor.until(() => false, dueMs - this.#simulation.now() - gapMs - resyncEarlyMs);
    await monitor.expectStorm();
    monitor.gapMs = gapMs;
    await monitor.until(() => storms.length > seen, resyncLateMs);
  }

  async #timeRounds(): Promise<void> {
    this.#said.step = "timing changes over many rounds";
    const { monitor, changes } = this.#world;
    const windowMs = this.#plan.roundsWindowMs();
    this.#world.probeDuring(windowMs, this.#plan.roundsProbes());
    await monitor.until(() => false, windowMs);
    await monitor.until(() => changes.open === 0, windowMs);
    // The current round may take until the next one.
    await monitor.until(() => !monitor.isStorm, this.#plan.periodMs ?? 0);
  }

  async #result(start: Start): Promise<PublishingResult> {
    const { monitor, changes } = this.#world;
    const storms = start.drainMs === undefined ? monitor.storms : monitor.storms.slice(1);
    const all = closed(changes.probes, this.#simulation.now());
    const later = all.slice(Math.max(start.probes, this.#firstProbe));
    const isInStorm = ({ atMs }: Probe) =>
      storms.some(
        ({ startMs, endMs = Number.POSITIVE_INFINITY }) => atMs >= startMs && atMs <= endMs,
      );
    return {
      startDrainMs: start.drainMs,
      storms,
      probes: {
        start: all.slice(0, start.probes),
        quiet: later.filter((probe) => !isInStorm(probe)),
        storm: later.filter(isInStorm),
      },
      depths: monitor.depths,
      ...(await monitor.stretches()),
      peak: monitor.peak,
      isWhole: this.#plan.periodMs !== undefined,
      isSaturated: storms.some(({ endMs, isOvertaken }) => endMs === undefined || isOvertaken),
      waitGrowth: undefined,
      isGivenUp: start.isGivenUp,
    };
  }
}

/** A saturated queue has no quiet times: their measurements count as storm. */
function withoutQuiet(result: PublishingResult): PublishingResult {
  const { quiet, storm, probes } = result;
  return {
    ...result,
    isSaturated: true,
    quiet: emptyInterval,
    storm: added(quiet, storm),
    probes: { ...probes, quiet: [], storm: [...probes.quiet, ...probes.storm] },
  };
}

/** A change that is not published yet has waited at least this long. */
function closed(probes: readonly Probe[], nowMs: number): readonly Probe[] {
  return probes.map((probe) => ({ ...probe, waitMs: probe.waitMs ?? nowMs - probe.atMs }));
}
