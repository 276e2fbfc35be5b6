// Where questions are answered: keeps the clusters it has made, because questions that are compared
// are asked of the same cluster, and making a large one takes as long as asking.
import type { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import { makeCluster } from "./made-cluster.ts";
import { type NodePrediction, predictNodes } from "./node-run.ts";
import {
  type Prediction,
  type PublishingPrediction,
  predictPublishing,
  withNodes,
} from "./prediction.ts";
import type { RunProgress } from "./publishing-run.ts";
import type { Question } from "./question.ts";

export interface LaboratoryOptions {
  /** Called now and then in real time. */
  readonly onProgress?: (progress: RunProgress) => void | Promise<void>;
  /** Ends at once whatever is being simulated. */
  readonly signal?: AbortSignal;
}

/** The newest few: a sweep over sizes would fill the memory. */
const clustersMax = 3;

export class Laboratory {
  readonly #options: LaboratoryOptions;
  /** By counts and version, newest last. */
  readonly #clusters = new Map<string, MemoryStorage>();

  constructor(options: LaboratoryOptions = {}) {
    this.#options = options;
  }

  async predict(question: Question): Promise<Prediction> {
    const publishing = await this.publishing(question);
    return withNodes(publishing, await this.nodes(question));
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
