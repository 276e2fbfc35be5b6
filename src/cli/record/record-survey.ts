// What a recording will list and watch in one cluster, how much that is, and what a missing permission
// costs whoever asks `lockstep blame` later. The same questions as before an observation.
import type { KubeClient } from "../../kube/client/client.ts";
import { askPermissions, type ClusterPermissions, unasked } from "../../observer/permissions.ts";
import { type ClusterPreview, previewCluster, unpreviewed } from "../../observer/preview.ts";
import { problemText } from "../../observer/problem-text.ts";
import { type PlannedWatch, plannedWatches } from "../../observer/watch-plan.ts";
import { askPublishedForm, type PublishedForm } from "../../sources/published-form.ts";

export interface RecordSurveyOptions {
  readonly cluster: string;
  readonly client: KubeClient;
  readonly form: PublishedForm | "auto";
  /** All when undefined. */
  readonly namespaces: readonly string[] | undefined;
}

/** What blame cannot say without them. */
export const costOfMissing: Readonly<Record<string, string>> = {
  pods: "without them no address can be told",
  services: "without them a 503 without a try cannot be explained",
  nodes: "without them pods of a lost node count as well",
  endpointslices: "without them the late hop cannot be told",
  endpoints: "without them the late hop cannot be told",
};

export class RecordSurvey {
  readonly #options: RecordSurveyOptions;
  #form: Promise<PublishedForm> | undefined;

  constructor(options: RecordSurveyOptions) {
    this.#options = options;
  }

  /** Never rejects. */
  async preview(signal: AbortSignal): Promise<ClusterPreview> {
    const { cluster, client } = this.#options;
    const { plan, problem } = await this.#plan(signal);
    return problem === undefined
      ? previewCluster({ cluster, client, plan }, signal)
      : unpreviewed(cluster, plan, problem);
  }

  /** Never rejects. */
  async permissions(signal: AbortSignal): Promise<ClusterPermissions> {
    const { cluster, client } = this.#options;
    const { plan, problem } = await this.#plan(signal);
    if (problem !== undefined) return unasked(cluster, plan, problem);
    const asked = await askPermissions({ cluster, client, plan }, signal);
    const lost = asked.lost.map((one) => ({
      ...one,
      sentence: `no list and watch of ${one.resource} in ${placeOf(one)}: ${costOfMissing[one.resource]}`,
    }));
    return { ...asked, lost };
  }

  async #plan(
    signal: AbortSignal,
  ): Promise<{ readonly plan: readonly PlannedWatch[]; readonly problem: string | undefined }> {
    const { client, form, namespaces } = this.#options;
    const part = { isBusiness: true, isAccess: false, nodes: true, namespaces };
    try {
      this.#form ??= form === "auto" ? askPublishedForm(client, signal) : Promise.resolve(form);
      return { plan: plannedWatches(part, await this.#form), problem: undefined };
    } catch (error) {
      return { plan: plannedWatches(part, "endpointslices"), problem: problemText(error, signal) };
    }
  }
}

function placeOf({
  cluster,
  namespace,
}: Pick<ClusterPermissions["lost"][number], "cluster" | "namespace">): string {
  return namespace === undefined ? cluster : `namespace ${namespace} of ${cluster}`;
}
