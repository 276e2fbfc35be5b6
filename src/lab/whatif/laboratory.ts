// Answers questions. Clusters are created by their own controllers without a limit to speak of, and kept:
// questions that are compared use the same cluster, and creating a large one takes as long as a run.
import { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { ProfileName } from "../versions/profiles.ts";
import { ControlPlaneRun } from "./control-plane-run.ts";
import { type NodePrediction, predictNodes } from "./node-run.ts";
import { populationObjects, postStatuses } from "./population.ts";
import {
  type Prediction,
  type PublishingPrediction,
  predictPublishing,
  withNodes,
} from "./prediction.ts";
import type { RunProgress } from "./publishing-run.ts";
import type { Counts, Question } from "./question.ts";
import { unlimitedFlags } from "./run-flags.ts";
import { StormWatch } from "./storm-watch.ts";

export interface LaboratoryOptions {
  /** Called now and then in real time. */
  readonly onProgress?: (progress: RunProgress) => void | Promise<void>;
  /** Aborts every simulation. */
  readonly signal?: AbortSignal;
  /** Of all nodes of a prediction of nodes. Only tests take fewer than usual. */
  readonly heartbeats?: number;
}

/** Only the newest: a sweep over sizes would fill the memory. */
const clustersMax = 3;

export class Laboratory {
  readonly #options: LaboratoryOptions;
  /** By counts and version, newest last. */
  readonly #clusters: Map<string, MemoryStorage>;

  constructor(options: LaboratoryOptions = {}, clusters = new Map<string, MemoryStorage>()) {
    this.#options = options;
    this.#clusters = clusters;
  }

  async predict(question: Question): Promise<Prediction> {
    return withNodes(await this.publishing(question), await this.nodes(question));
  }

  /** Only what concerns the publishing of endpoints; ends early when the target is out of reach. */
  async publishing(question: Question, targetMs?: number): Promise<PublishingPrediction> {
    const storage = await this.#cluster(question);
    return predictPublishing({
      ...this.#options,
      question,
      storage,
      ...(targetMs === undefined ? {} : { giveUpAfterMs: targetMs }),
    });
  }

  /** Only what concerns nodes. */
  nodes(question: Question): Promise<NodePrediction> {
    return predictNodes({ ...this.#options, question });
  }

  /** The same; the signal aborts its predictions only. Clusters that are made for them are kept. */
  abortedBy(signal: AbortSignal): Laboratory {
    return new Laboratory({ ...this.#options, signal }, this.#clusters);
  }

  async #cluster({ counts, settings, seed }: Question): Promise<MemoryStorage> {
    const { services, headlessShare, pods, nodes } = counts;
    const { version } = settings;
    const key = JSON.stringify([services, headlessShare, pods, nodes, version, seed]);
    const known = this.#clusters.get(key);
    if (known !== undefined) return known;
    const made = await makeCluster({ ...this.#options, counts, version, seed });
    this.#clusters.set(key, made);
    for (const oldest of this.#clusters.keys()) {
      if (this.#clusters.size <= clustersMax) break;
      this.#clusters.delete(oldest);
    }
    return made;
  }
}

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
    const monitor = new StormWatch({
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
