// The requests a Deployment's sync makes. Each PUT carries the version it was decided on, so that a
// decision made from a stale cache is refused.
import { type KubeClient, parseJson, StatusError } from "../../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../../kube/kinds/kind.ts";
import type { Profile } from "../../versions/profile.ts";
import { type EventRecorder, referenceTo } from "../event-recorder.ts";
import {
  numberIn,
  type Revision,
  revised,
  type WholeKind,
  type WholeObject,
  wholeDeployments,
  wholeReplicaSets,
} from "../whole-object.ts";
import {
  limitsOf,
  revisionAnnotation,
  revisionOf,
  sharedAnnotations,
  sizeAnnotations,
} from "./deployment-sets.ts";

export interface DeploymentWritesOptions {
  readonly client: KubeClient;
  readonly profile: Pick<Profile, "events">;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

export class DeploymentWrites {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;
  readonly #options: DeploymentWritesOptions;

  constructor(options: DeploymentWritesOptions) {
    this.#client = options.client;
    this.#signal = options.signal;
    this.#options = options;
  }

  /** True when the number changed; the set's record of the Deployment is renewed in any case. */
  async scale(deployment: WholeObject, set: WholeObject, size: number): Promise<boolean> {
    const wanted = Object.entries(sizeAnnotations(limitsOf(deployment)));
    const isRecorded = wanted.every(([name, value]) => set.annotations[name] === value);
    const before = numberIn(set, "spec", "replicas");
    const isSize = size === before;
    if (isSize && isRecorded) return false;
    await this.#put(wholeReplicaSets, set, {
      annotations: { ...set.annotations, ...Object.fromEntries(wanted) },
      fields: { spec: { ...recordAt(set.raw, "spec"), replicas: size } },
    });
    if (!isSize) this.#tellScaled(deployment, set.metadata.name, before, size);
    return !isSize;
  }

  async createSet(deployment: WholeObject, body: RawRecord): Promise<void> {
    const path = collectionPath(wholeReplicaSets, deployment.metadata.namespace);
    const signal = this.#signal;
    try {
      const request = { verb: "create", method: "POST", path, body, signal } as const;
      const set = wholeReplicaSets.project(parseJson(await this.#client.request(request)));
      const size = numberIn(set, "spec", "replicas");
      if (size > 0) this.#tellScaled(deployment, set.metadata.name, 0, size);
    } catch (error) {
      // Made before, and the cache does not show it yet: its event brings us back.
      if (!(error instanceof StatusError && error.reason === "AlreadyExists")) throw error;
    }
  }

  async deleteSet({ metadata }: WholeObject): Promise<void> {
    const path = objectPath(wholeReplicaSets, metadata);
    const signal = this.#signal;
    await this.#client.request({ verb: "delete", method: "DELETE", path, signal });
  }

  /** Gives the set its number and what it shares with the Deployment; false when it has both. */
  async markSet(deployment: WholeObject, set: WholeObject, revision: number): Promise<boolean> {
    const shared = sharedAnnotations(deployment);
    const isShared = Object.entries(shared).every(
      ([name, value]) => set.annotations[name] === value,
    );
    if (isShared && revisionOf(set) === revision) return false;
    const annotations = { ...set.annotations, ...shared, [revisionAnnotation]: String(revision) };
    await this.#put(wholeReplicaSets, set, { annotations });
    return true;
  }

  /**
   * The Deployment as it is afterwards. Its number is written as part of its status, which leaves
   * the generation alone (sync.go getNewReplicaSet).
   */
  async markDeployment(deployment: WholeObject, revision: number): Promise<WholeObject> {
    if (revisionOf(deployment) === revision) return deployment;
    const annotations = { ...deployment.annotations, [revisionAnnotation]: String(revision) };
    return await this.#put(wholeDeployments, deployment, { annotations }, "status");
  }

  async putStatus(deployment: WholeObject, status: RawRecord): Promise<void> {
    await this.#put(wholeDeployments, deployment, { fields: { status } }, "status");
  }

  /** sync.go scaleReplicaSet. */
  #tellScaled(deployment: WholeObject, set: string, before: number, size: number): void {
    const { events, profile } = this.#options;
    const { workloadVersion, namesOldSize } = profile.events;
    const direction = before < size ? "up" : "down";
    const from = namesOldSize ? ` from ${before}` : "";
    events.tell(referenceTo("Deployment", workloadVersion, deployment), {
      type: "Normal",
      reason: "ScalingReplicaSet",
      message: `Scaled ${direction} replica set ${set}${from} to ${size}`,
    });
  }

  async #put(
    kind: WholeKind,
    object: WholeObject,
    revision: Revision,
    subresource?: string,
  ): Promise<WholeObject> {
    const response = await this.#client.request({
      verb: "update",
      method: "PUT",
      path: objectPath(kind, object.metadata, subresource),
      body: revised(kind, object, revision),
      signal: this.#signal,
    });
    return kind.project(parseJson(response));
  }
}
