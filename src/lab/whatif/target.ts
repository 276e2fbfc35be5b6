// Finds the cheapest settings with which no change waits longer than a target. Cheaper means, in this
// order: a lower request limit, fewer workers, the same version. Every try is a run of the same cluster
// with the same seed. The answer is shown by its own run and by the failure of the next cheaper settings.
import { profileNames } from "../versions/profiles.ts";
import type { Laboratory } from "./laboratory.ts";
import type { PublishingPrediction } from "./prediction.ts";
import type { Question, Settings } from "./question.ts";

export interface Try {
  readonly settings: Settings;
  readonly prediction: PublishingPrediction;
  readonly isMet: boolean;
}

export interface TargetAnswer {
  readonly targetMs: number;
  /** In the order in which they were made. */
  readonly tries: readonly Try[];
  /** The cheapest that meets it. */
  readonly found: Try | undefined;
  /** The next cheaper ones, which fail; empty when the present settings meet it. */
  readonly cheaper: readonly Try[];
}

export interface TargetOptions {
  readonly laboratory: Pick<Laboratory, "publishing">;
  readonly question: Question;
  readonly targetMs: number;
  readonly onTry?: (tried: Try) => void;
}

/** The Renard series R10: ten steps to ten times as much. No API server would bear more. */
const qpsRungs = [
  5, 6.3, 8, 10, 12.5, 16, 20, 25, 32, 40, 50, 63, 80, 100, 125, 160, 200, 250, 320, 400, 500, 630,
  800, 1_000, 1_250, 1_600, 2_000, 2_500, 3_200, 4_000, 5_000,
];

const workerRungs = [5, 10, 15, 20, 30, 50, 100];

/** Of the defaults, 30 to 20. */
const burstPerQps = 1.5;

export async function findSettings(options: TargetOptions): Promise<TargetAnswer> {
  const search = new TargetSearch(options);
  return search.run();
}

/** The burst that goes with a limit. */
export function burstFor(qps: number): number {
  return Math.round(qps * burstPerQps);
}

class TargetSearch {
  readonly #options: TargetOptions;
  readonly #tries: Try[] = [];
  /** Values to try, cheapest first; each list starts with the present setting. */
  readonly #qps: readonly number[];
  readonly #workers: readonly number[];

  constructor(options: TargetOptions) {
    this.#options = options;
    const { qps, workers } = options.question.settings;
    this.#qps = [qps, ...qpsRungs.filter((rung) => rung > qps)];
    this.#workers = [workers, ...workerRungs.filter((rung) => rung > workers)];
  }

  async run(): Promise<TargetAnswer> {
    const present = await this.#try(this.#options.question.settings);
    if (present.isMet) return this.#answer(present, []);
    const most = await this.#try(this.#settings(this.#qps.length - 1, this.#workers.length - 1));
    return most.isMet ? await this.#climbDown(most) : await this.#otherVersion(most);
  }

  /** The lowest limit with the most workers first, then the fewest workers for that limit. */
  async #climbDown(most: Try): Promise<TargetAnswer> {
    const mostWorkers = this.#workers.length - 1;
    const byQps = await this.#lowest(most, this.#qps.length - 1, (rung) =>
      this.#settings(rung, mostWorkers),
    );
    const byWorkers = await this.#lowest(byQps.met, mostWorkers, (rung) =>
      this.#settings(byQps.rung, rung),
    );
    const cheaper = [byWorkers.missed, byQps.missed].filter((tried) => tried !== undefined);
    return this.#answer(byWorkers.met, cheaper);
  }

  /** Binary search: the last rung meets the target, and a higher rung is never worse. */
  async #lowest(last: Try, lastRung: number, settingsOf: (rung: number) => Settings) {
    let met = { rung: lastRung, tried: last };
    let missed: { rung: number; tried: Try | undefined } = { rung: -1, tried: undefined };
    while (met.rung - missed.rung > 1) {
      const rung = (met.rung + missed.rung) >> 1;
      const tried = await this.#try(settingsOf(rung));
      if (tried.isMet) met = { rung, tried };
      else missed = { rung, tried };
    }
    return { rung: met.rung, met: met.tried, missed: missed.tried };
  }

  /** No flags help, so newer versions are tried with the present flags. */
  async #otherVersion(most: Try): Promise<TargetAnswer> {
    const { settings } = this.#options.question;
    const newer = profileNames.slice(profileNames.indexOf(settings.version) + 1);
    for (const version of newer) {
      const tried = await this.#try({ ...settings, version });
      if (tried.isMet) return this.#answer(tried, [most]);
    }
    return this.#answer(undefined, [most]);
  }

  #settings(qpsRung: number, workersRung: number): Settings {
    const { settings } = this.#options.question;
    const qps = this.#qps[qpsRung] ?? settings.qps;
    const workers = this.#workers[workersRung] ?? settings.workers;
    const burst = qps === settings.qps ? settings.burst : Math.max(settings.burst, burstFor(qps));
    return { ...settings, qps, burst, workers };
  }

  async #try(settings: Settings): Promise<Try> {
    const { laboratory, question, targetMs, onTry } = this.#options;
    const known = this.#tries.find((tried) => isSame(tried.settings, settings));
    if (known !== undefined) return known;
    const prediction = await laboratory.publishing({ ...question, settings }, targetMs);
    const { isGivenUp, worstWaitMs = Number.POSITIVE_INFINITY, resync } = prediction;
    // A change that comes with a resync and is last in it waits for all of it, timed or not.
    const worstMs = Math.max(worstWaitMs, resync.drainMs ?? Number.POSITIVE_INFINITY);
    const isMet = !isGivenUp && worstMs <= targetMs;
    const tried = { settings, prediction, isMet };
    this.#tries.push(tried);
    onTry?.(tried);
    return tried;
  }

  #answer(found: Try | undefined, cheaper: readonly Try[]): TargetAnswer {
    return { targetMs: this.#options.targetMs, tries: this.#tries, found, cheaper };
  }
}

function isSame(one: Settings, other: Settings): boolean {
  return one.qps === other.qps && one.workers === other.workers && one.version === other.version;
}
