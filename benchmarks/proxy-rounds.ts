// Two proxies under the same load in turns, A B B A A B …, so that other load on the machine
// affects both alike. Neighbouring rounds are compared; the figure is the median of their ratios.
import type { LoadResult } from "./bench-load.ts";
import { median } from "./benchmark.ts";
import { threadMicroseconds } from "./process-cost.ts";
import type { LoadProcess } from "./proxy-load.ts";

/** A proxy, and what asks it. */
export interface Side {
  readonly load: LoadProcess;
  readonly workerPids: readonly number[];
}

export interface Round extends LoadResult {
  readonly requestsPerSecond: number;
  /** Processor time of the proxy's workers for one request. */
  readonly cpuUs: number;
}

export interface Compared {
  readonly lockstep: Round;
  readonly reference: Round;
}

export async function roundsInTurns(
  sides: { readonly lockstep: Side; readonly reference: Side },
  { pairs, roundMs }: { readonly pairs: number; readonly roundMs: number },
): Promise<readonly Compared[]> {
  const compared: Compared[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    if (pair % 2 === 0) {
      const lockstep = await round(sides.lockstep, roundMs);
      compared.push({ lockstep, reference: await round(sides.reference, roundMs) });
    } else {
      const reference = await round(sides.reference, roundMs);
      compared.push({ lockstep: await round(sides.lockstep, roundMs), reference });
    }
  }
  return compared;
}

export async function round({ load, workerPids }: Side, roundMs: number): Promise<Round> {
  const before = cpuOf(workerPids);
  const result = await load.run(roundMs);
  const cpuUs = (cpuOf(workerPids) - before) / result.requests;
  const share = result.errors / Math.max(result.requests, 1);
  if (share > mostErrors) {
    throw new Error(
      `${result.errors} of ${result.requests} requests failed; see nginx's error log`,
    );
  }
  return { ...result, requestsPerSecond: (result.requests * 1000) / result.elapsedMs, cpuUs };
}

/** The median over the pairs. */
export function ratioOf(compared: readonly Compared[], ratio: (pair: Compared) => number): number {
  return median(compared.map(ratio));
}

/** A connection or two may break as a round ends; more is another measurement. */
const mostErrors = 0.001;

function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + threadMicroseconds(pid), 0);
}
