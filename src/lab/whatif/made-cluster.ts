// Makes the cluster that is asked about: its objects are stored, its own controllers publish
// everything without a limit to speak of, and what they leave behind is what every run starts from.

import { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { ProfileName } from "../versions/profiles.ts";
import { ControlPlaneRun } from "./control-plane-run.ts";
import { populationObjects, postStatuses } from "./population.ts";
import type { RunProgress } from "./publishing-run.ts";
import type { Counts } from "./question.ts";
import { QueueMonitor } from "./queue-monitor.ts";
import { unlimitedFlags } from "./run-flags.ts";

export interface MadeClusterOptions {
  readonly counts: Counts;
  readonly version: ProfileName;
  readonly seed: number;
  readonly onProgress?: (progress: RunProgress) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

const lookMs = 100;

/** At some thousand writes a second the largest cluster is published in less. */
const madeWithinMs = 600_000;

const progressEveryEvents = 2_000;

export function makeCluster(options: MadeClusterOptions): Promise<MemoryStorage> {
  const { counts, version, seed, onProgress, signal } = options;
  const step = "making the cluster";
  const progress = onProgress && {
    onProgress: ({ nowMs }: { readonly nowMs: number }) => onProgress({ step, virtualMs: nowMs }),
  };
  const simulated = { seed, progressEveryEvents, ...progress, ...(signal && { signal }) };
  return simulate(simulated, async (simulation) => {
    const storage = new MemoryStorage({ clock: simulation.host("apiserver").clock });
    const flags = unlimitedFlags(version);
    const objects = populationObjects(counts);
    const plane = new ControlPlaneRun({ simulation, storage, version, flags, objects });
    await plane.startServer();
    await postStatuses(storage, counts, simulation.host("apiserver").timers);
    plane.startManager();
    const monitor = new QueueMonitor({
      instruments: plane.instruments,
      services: counts.services,
      sleep: (ms) => simulation.sleep(ms),
      gapMs: lookMs,
    });
    const isMade = () => monitor.storms.length > 0 && !monitor.isStorm;
    const inTime = await monitor.until(isMade, madeWithinMs);
    await plane.stop();
    if (!inTime) throw new Error("the cluster was not published in time");
    return storage;
  });
}
