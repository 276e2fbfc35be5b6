// Only for tests: declares one test that runs a simulation from many seeds. A seed that ever failed
// joins the test's regressions and is tried first. LOCKSTEP_SEEDS says how many seeds a test of
// ordinary cost tries, LOCKSTEP_SEED which one alone; a failure prints the command that repeats it.
import { relative } from "node:path";
import { expect, test } from "vitest";

export interface SeedOptions {
  /**
   * How many consecutive seeds a usual run takes; `usualSeeds` unless given. A run whose seeds take
   * long asks for fewer, and LOCKSTEP_SEEDS scales that number as it scales the others.
   */
  readonly seeds?: number;
  /** Seeds that failed once. In a short run they take the place of others, the first ones first. */
  readonly regressions?: readonly number[];
}

export interface Failing {
  readonly seed: number;
  readonly file: string;
  readonly test: string;
}

/** The default of LOCKSTEP_SEEDS; `npm run check` takes a tenth of them. */
const usualSeeds = 50;

/** No test is about how fast this machine is. */
const leastTimeoutMs = 600_000;
const seedTimeoutMs = 10_000;

export function forEachSeed(
  name: string,
  options: SeedOptions,
  run: (seed: number) => Promise<void>,
): void {
  const seeds = chooseSeeds(options, process.env);
  test(name, { timeout: timeoutMs(seeds.length, options.seeds) }, async () => {
    const { testPath = "" } = expect.getState();
    const file = relative(process.cwd(), testPath);
    for (const seed of seeds) {
      try {
        await run(seed);
      } catch (cause) {
        const command = repeatCommand({ seed, file, test: name });
        throw new Error(`seed ${seed} failed; repeat it with: ${command}`, { cause });
      }
    }
  });
}

/**
 * How long a test may take that runs so many: a soak of thousands takes hours on a busy machine. The fewer seeds
 * it usually takes, the longer one may take.
 */
export function timeoutMs(seeds: number, usual = usualSeeds): number {
  return Math.max(leastTimeoutMs, (seeds * seedTimeoutMs * usualSeeds) / usual);
}

/** Whether a run takes its time: `npm test` and a soak, but not `npm run check`. */
export function isThorough(variables: Readonly<Record<string, string | undefined>>): boolean {
  const asked = wholeNumber("LOCKSTEP_SEEDS", variables["LOCKSTEP_SEEDS"]);
  return (asked ?? usualSeeds) > usualSeeds;
}

/** The seeds to run, in order. */
export function chooseSeeds(
  options: SeedOptions,
  variables: Readonly<Record<string, string | undefined>>,
): readonly number[] {
  const only = wholeNumber("LOCKSTEP_SEED", variables["LOCKSTEP_SEED"]);
  if (only !== undefined) return [only];
  const asked = wholeNumber("LOCKSTEP_SEEDS", variables["LOCKSTEP_SEEDS"]);
  const share = (options.seeds ?? usualSeeds) / usualSeeds;
  const count = Math.ceil((asked ?? usualSeeds) * share);
  const consecutive = Array.from({ length: count }, (_, index) => index + 1);
  const all = [...new Set([...(options.regressions ?? []), ...consecutive])];
  return asked !== undefined && asked < usualSeeds ? all.slice(0, count) : all;
}

/** The shell command that runs one seed of one test alone. */
export function repeatCommand({ seed, file, test: name }: Failing): string {
  const own = file.endsWith(".simulation.test.ts") ? "simulation" : "unit";
  const project = file.startsWith("e2e/") ? "e2e" : own;
  const pattern = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&").replaceAll("'", "'\\''");
  return `LOCKSTEP_SEED=${seed} npx vitest run --project ${project} ${file} -t '${pattern}'`;
}

function wholeNumber(name: string, text: string | undefined): number | undefined {
  if (text === undefined || text === "") return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new RangeError(`${name} must be a whole number, not ${text}`);
}
