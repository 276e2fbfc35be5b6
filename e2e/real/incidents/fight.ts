// Experiment: several API servers that each believe to be the only one keep the `kubernetes`
// Endpoints. How often does the object change, and how many servers does it name?
import { type Endpoints, endpointsKind } from "../../../src/kube/kinds/endpoints.ts";
import { follow, type Trial } from "./trial.ts";

export interface FightFigures {
  readonly changesPerMinute: number;
  /** The most that were ever named at once; all of them were serving. */
  readonly mostNamed: number;
  /** How many were named at some time. */
  readonly everNamed: number;
}

/** As many servers beat every ten seconds, so the first beats are waited for. */
const settleMs = 15_000;

export async function measureFight(trial: Trial, windowMs: number): Promise<FightFigures> {
  const { timers } = trial;
  let seen: string[][] = [];
  const watch = await follow(trial, endpointsKind, "default", ({ object }) => {
    if (object.metadata.name === "kubernetes") seen.push(addressesOf(object));
  });
  await timers.sleep(settleMs);
  seen = [];
  await timers.sleep(windowMs);
  const window = seen;
  await watch.stop();
  return {
    changesPerMinute: window.length / (windowMs / 60_000),
    mostNamed: Math.max(0, ...window.map((addresses) => addresses.length)),
    everNamed: new Set(window.flat()).size,
  };
}

function addressesOf({ subsets }: Endpoints): string[] {
  return subsets.flatMap(({ addresses }) => addresses.map(({ ip }) => ip));
}
