// The requests a Deployment's sync makes. Each PUT carries the version it was decided on, so that a
// decision made from a stale cache is refused.
import { type KubeClient, parseJson, StatusError } from "../../../kube/client/client.ts";
import { type RawRecord, recordAt } from "../../../kube/kinds/fields.ts";
import { collectionPath, objectPath } from "../../../kube/kinds/kind.ts";
import {
  numberIn,
  type Revision,
  revised,
  type WholeKind,
  type WholeObject,
  wholeDeployments,
  wholeReplicaSets,
} from "../whole-object.ts";
import { limitsOf, revisionAnnotation, revisionOf, sizeAnnotations } from "./deployment-sets.ts";

export class DeploymentWrites {
  readonly #client: KubeClient;
  readonly #signal: AbortSignal;

  constructor(options: { readonly client: KubeClient; readonly signal: AbortSignal }) {
    this.#client = options.client;
    this.#signal = options.signal;
  }

  /** True when the number changed; the set's record of the Deployment is renewed in any case. */
  async scale(deployment: WholeObject, set: WholeObject, size: number): Promise<boolean> {
    const wanted = Object.entries(sizeAnnotations(limitsOf(deployment)));
    const isRecorded = wanted.every(([name, value]) => set.annotations[name] === value);
    const isSize = size === numberIn(set, "spec", "replicas");
    if (isSize && isRecorded) return false;
    await this.#put(wholeReplicaSets, set, {
      annotations: { ...set.annotations, ...Object.fromEntries(wanted) },
      fields: { spec: { ...recordAt(set.raw, "spec"), replicas: size } },
    });
    return !isSize;
  }

  async createSet(namespace: string, body: RawRecord): Promise<void> {
    const path = collectionPath(wholeReplicaSets, namespace);
    const signal = this.#signal;
    try {
      await this.#client.request({ verb: "create", method: "POST", path, body, signal });
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

  async markSet(set: WholeObject, revision: number): Promise<void> {
    if (revisionOf(set) !== revision) await this.#mark(wholeReplicaSets, set, revision);
  }

  /** The Deployment as it is afterwards. */
  async markDeployment(deployment: WholeObject, revision: number): Promise<WholeObject> {
    return revisionOf(deployment) === revision
      ? deployment
      : await this.#mark(wholeDeployments, deployment, revision);
  }

  async putStatus(deployment: WholeObject, status: RawRecord): Promise<void> {
    await this.#put(wholeDeployments, deployment, { fields: { status } }, "status");
  }

  #mark(kind: WholeKind, object: WholeObject, revision: number): Promise<WholeObject> {
    const annotations = { ...object.annotations, [revisionAnnotation]: String(revision) };
    return this.#put(kind, object, { annotations });
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
